"""A trajectory from a file or a topic, checked for an arm; as a table, lines, and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.feasibility import JUMP, Demand, Feasibility, check, round_up
from featherstone_ros.control.goal_tolerances import with_others
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.control.trajectory import Motion, Trajectory, TrajectoryError
from featherstone_ros.tools.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    RED,
    YELLOW,
    new_table,
    number,
    picture,
    short_names,
    thin,
)
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class FileCheck:
    """What the command reports on."""

    unchecked: UncheckedTrajectory  # the trajectory as it was read
    arm: ControlledArm  # the arm that is to follow it
    verdict: Feasibility  # whether it can
    filled: UncheckedTrajectory  # the trajectory with the model's effort
    refusal: str = ""  # why a controller refuses it whatever the arm can do; empty if it does not

    @property
    def is_at_once(self) -> bool:
        """Whether the arm is to jump: to the only point, in no time."""
        return len(self.unchecked.points) == 1 and self.unchecked.points[0].time == 0.0

    @property
    def fits(self) -> bool:
        """Whether the arm can follow."""
        return self.verdict.fits and not self.is_at_once and not self.refusal

    def advice(self) -> str:
        """Return one line of advice where it does not fit."""
        if self.refusal and self.verdict.fits and not self.is_at_once:
            return "the controller would refuse it"
        if not self.is_at_once:
            return self.verdict.advice()
        besides = "" if self.verdict.fits else f"; besides, {self.verdict.advice()}"
        return f"give the point a time_from_start{besides}"


def check_file(
    unchecked: UncheckedTrajectory, arm: ControlledArm, controller: ControlledArm | None = None
) -> FileCheck:
    """Check a trajectory from its first point on: how the arm gets there is not known.

    ``unchecked``: the trajectory. Its own effort fields are ignored: they do not change the torque
    that the motion needs. ``controller``: the arm with all joints of its controller; None: that
    one.
    """
    limits, trajectory = arm.limits, trajectory_of(unchecked, arm)
    motion = started(trajectory)
    begin, end = trajectory.times[0], motion.end
    velocity = trajectory.state(0).velocity
    verdict = check(Dynamics(arm.model), arm.drives, limits, motion, begin, end, velocity)
    with_effort = filled(unchecked, trajectory, verdict.demand, arm)
    return FileCheck(unchecked, arm, verdict, with_effort, refusal(unchecked, controller or arm))


def refusal(unchecked: UncheckedTrajectory, controller: ControlledArm) -> str:
    """Return why a controller refuses a trajectory wherever its arm is; empty if it takes it."""
    names, points = list(unchecked.names), list(unchecked.points)
    space = without_limits(controller.limits)
    try:
        if controller.values["allow_partial_joints_goal"]:
            names, points = with_others(names, points, space.names, np.zeros(len(space.names)))
        Trajectory(names, points, space, *controller.of_trajectories).check_accelerations()
    except TrajectoryError as error:
        return str(error)
    return ""


def trajectory_of(unchecked: UncheckedTrajectory, arm: ControlledArm) -> Trajectory:
    """Return a trajectory for an arm whose limits are not checked at points, but all along."""
    space = without_limits(arm.limits)
    return Trajectory(unchecked.names, unchecked.points, space, *arm.of_trajectories)


def without_limits(space: JointSpace) -> JointSpace:
    """Return the same joints with no limits of position and effort."""
    unlimited = np.full(len(space.names), np.inf)
    return replace(space, lower=-unlimited, upper=unlimited, effort=unlimited)


def started(trajectory: Trajectory) -> Motion:
    """Return the motion of an arm that is at the first point at that point's time."""
    return trajectory.motion(trajectory.times[0], trajectory.state(0), ControllerSettings.stop_time)


# The model's torque in a trajectory's effort fields. joint_trajectory_controller adds them to its
# command on an effort interface. Between two points it interpolates them linearly, which says how
# dense the points should be: see ``largest_gap``. Our own controller adds them to the model's
# torque and has no use for them.


def filled(
    unchecked: UncheckedTrajectory, trajectory: Trajectory, asked: Demand, arm: ControlledArm
) -> UncheckedTrajectory:
    """Return the trajectory with the torque at every point as its effort.

    Where the acceleration jumps at a point, the effort is the mean of both sides. The last point
    gets the gravity torque alone, since the controller holds it.

    ``asked``: the torque along it; its time is the trajectory's.
    """
    times = np.array(trajectory.times)
    before = np.searchsorted(asked.time, times, side="left")
    after = np.searchsorted(asked.time, times, side="right") - 1
    torque = (asked.torque[before] + asked.torque[after]) / 2.0
    torque[-1] = Dynamics(arm.model).gravity(asked.position[after[-1]])
    points = [
        replace(point, effort=tuple(row.tolist()))
        for point, row in zip(unchecked.points, torque, strict=True)
    ]
    return UncheckedTrajectory(unchecked.names, tuple(points))


def largest_gap(unchecked: UncheckedTrajectory, asked: Demand) -> Floats:
    """Return how far the efforts, interpolated linearly, are from the torque (n,) [N m] or [N].

    ``asked``: the torque along it, joints in the same order.
    """
    times = [point.time for point in unchecked.points]
    effort = np.array([point.effort for point in unchecked.points])
    line = [np.interp(asked.time, times, column) for column in effort.T]
    return np.abs(np.transpose(line) - asked.torque).max(axis=0)


BAD = "bold red"
ROWS = ("position\n[% of range]", "speed\n[% of limit]", "torque\n[% of limit]")


def shown(checked: FileCheck) -> Iterator[RenderableType]:
    """Yield everything about a trajectory."""
    unchecked, verdict, arm = checked.unchecked, checked.verdict, checked.arm
    yield table(checked)
    for excess in verdict.excesses:
        what = "too sudden" if excess.quantity == JUMP else "too much"
        yield f"[{BAD}]{what}:[/] {escape(str(excess))}"
    if checked.refusal:
        yield f"[{BAD}]refused:[/] {escape(checked.refusal)}"
    if checked.is_at_once:
        yield f"[{BAD}]too sudden:[/] its only point is to be reached at time 0"
    if checked.fits and len(unchecked.points) == 1:
        yield "[bold]The arm can stand there;[/] the way to the only point is not checked."
    elif checked.fits:
        yield "[bold]It fits.[/]"
    else:
        yield f"[bold]It does not fit:[/] {escape(checked.advice())}"
    for note in notes(checked):
        yield f"[dim]{escape(note)}"
    if joints := arm.model.locked_joints:
        places = zip(joints, arm.model.locked_positions, strict=True)
        where = ", ".join(f"{joint} {number(at)}" for joint, at in places)
        yield f"[dim]Not in the trajectory, taken to stand at: {escape(where)}"


def notes(checked: FileCheck) -> Iterator[str]:
    """Yield remarks on what the figures include."""
    if len(checked.unchecked.points) > 1:
        yield interpolation(checked.unchecked)
    if checked.unchecked.has_effort:
        yield "The trajectory's own effort fields are ignored: these torques are the model's."
    drives = checked.arm.drives
    if not (drives.viscous.any() or drives.coulomb.any() or drives.armature.any()):
        where = "give --parameters, or <dynamics> in the URDF"
        if checked.arm.files:
            files = ", ".join(map(str, checked.arm.files))
            where = f"{files} and the URDF have none of these joints"
        yield f"Without drive friction and armature: {where}"


def interpolation(unchecked: UncheckedTrajectory) -> str:
    """Say in words how the controller interpolates the points."""
    kinds = [
        min(bool(len(point.velocities)) + bool(len(point.accelerations)) for point in pair)
        for pair in zip(unchecked.points, unchecked.points[1:], strict=False)
    ]
    names = ("straight lines", "cubics", "quintics")
    used = [names[kind] for kind in sorted(set(kinds))]
    why = ("positions only", "velocities", "velocities and accelerations")
    if len(used) == 1:
        return f"Interpolated by {used[0]}: the points have {why[kinds[0]]}."
    return f"Interpolated by {' and '.join(used)}, by the fields that two points share."


def table(checked: FileCheck) -> Table:
    """Return extremes, limits and root mean squares of every joint."""
    verdict = checked.verdict
    asked, limits = verdict.demand, verdict.limits
    points, duration = len(checked.unchecked.points), asked.time[-1] - asked.time[0]
    title = f"{checked.arm.model.name}: {points} point{'s' * (points != 1)}, {duration:.3f} s"
    if not verdict.fits and verdict.slow_down < inf:
        title += f" ({duration * verdict.slow_down:.3f} s would fit)"
    headings = ("from", "to", "peak speed", "peak torque", "RMS", "standing")
    result = new_table(title, "joint", figures=headings)
    bad = {(excess.joint, excess.quantity) for excess in verdict.excesses}
    low, high = asked.position.min(axis=0), asked.position.max(axis=0)
    speed, torque = np.abs(asked.velocity).max(axis=0), np.abs(asked.torque).max(axis=0)
    rms, standing = asked.rms(), np.abs(asked.standing).max(axis=0)
    low, high, standing = (np.round(values, 9) + 0.0 for values in (low, high, standing))
    for j, (name, short) in enumerate(zip(limits.names, short_names(limits.names), strict=True)):
        style = {quantity: BAD for joint, quantity in bad if joint == name}
        result.add_row(
            short,
            Text(number(low[j]), style.get("position", "")),
            Text(number(high[j]), style.get("position", "")),
            Text(f"{number(speed[j])} of {number(limits.velocity[j])}", style.get("velocity", "")),
            Text(f"{number(torque[j])} of {number(limits.effort[j])}", style.get("torque", "")),
            number(rms[j]),
            number(standing[j]),
        )
    return result


def gap(checked: FileCheck) -> str:
    """Return one line about the efforts that were filled in."""
    limits, asked = checked.verdict.limits, checked.verdict.demand
    off = largest_gap(checked.filled, asked)
    peak = np.abs(asked.torque).max(axis=0)
    j = int(np.argmax(off / np.maximum(np.where(limits.effort < inf, limits.effort, peak), 1e-9)))
    return (
        f"between the points, where joint_trajectory_controller interpolates linearly, at most "
        f"{off[j]:.3g} {limits.unit(j, 'torque')} off (joint {limits.names[j]!r})"
    )


def draw(checked: FileCheck, path: Path) -> None:
    """Write the picture; the file's ending says which format."""
    n, limits = checked.arm.model.n, checked.verdict.limits
    with picture(path) as pyplot:
        figure, grid = pyplot.subplots(
            3,
            n,
            sharex=True,
            sharey="row",
            squeeze=False,
            figsize=(max(1.7 * n, 7.0), 5.2),
            dpi=130,
        )
        for column, j, name in zip(grid.T, range(n), short_names(limits.names), strict=True):
            _column(column, checked, j)
            column[0].set_title(name, fontsize=9, color=INK)
        for axes in grid[:, 0]:
            low, high = axes.get_ylim()
            axes.set_ylim(min(low, -112.0), max(high, 112.0))
        for axes, label in zip(grid[:, 0], ROWS, strict=True):
            axes.set_ylabel(label)
        _legend(figure, grid[2, 0], checked)
        figure.supxlabel("time [s]", fontsize=9, color=INK, y=0.01)
        figure.tight_layout(rect=(0, -0.02, 1, 0.93), w_pad=0.4, h_pad=0.6)
        figure.align_ylabels(grid[:, 0])


def _legend(figure: Figure, axes: Axes, checked: FileCheck) -> None:
    title = "it fits" if checked.fits else "it does not fit"
    if checked.fits and len(checked.unchecked.points) == 1:
        title = "it can stand there"
    figure.text(
        0.015, 0.965, f"{checked.arm.model.name}: {title}",
        fontsize=13, fontweight="bold", color=INK, va="center",
    )  # fmt: skip
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="center right", bbox_to_anchor=(0.99, 0.965), ncols=4,
                  frameon=False, fontsize=9)  # fmt: skip
    verdict = checked.verdict
    if not checked.fits and (verdict.jumps or checked.is_at_once or verdict.slow_down == inf):
        figure.text(0.015, 0.925, checked.advice(), fontsize=8, color=GREY, va="center")


def _column(column: Sequence[Axes], checked: FileCheck, j: int) -> None:
    verdict = checked.verdict
    limits, factor = verdict.limits, verdict.slow_down
    versions = [(verdict.demand, BLUE, "as it is", 1.1)]
    if 1.0 < factor < inf:
        label = f"{round_up(factor):.3g} times slower"
        versions.append((verdict.demand.slowed(factor), YELLOW, label, 0.9))
    asked = verdict.demand
    top = [
        _range(limits.lower[j], limits.upper[j], asked.position[:, j]),
        (0.0, _scale(limits.velocity[j], asked.velocity[:, j])),
        (0.0, _scale(limits.effort[j], asked.torque[:, j])),
    ]
    bounded = (
        np.isfinite(limits.upper[j] - limits.lower[j]),
        np.isfinite(limits.velocity[j]),
        np.isfinite(limits.effort[j]),
    )
    for axes, has_limit in zip(column, bounded, strict=True):
        if has_limit:
            axes.axhspan(-100, 100, color=FAINT, alpha=0.45, lw=0)
        axes.axhline(0, color=FAINT, lw=0.7)
    for version, colour, label, width in reversed(versions):
        time = thin(version.time)
        for axes, (middle, scale), values in zip(
            column, top, (version.position, version.velocity, version.torque), strict=True
        ):
            share = 100.0 * (thin(values[:, j]) - middle) / scale
            axes.plot(time, share, color=colour, lw=width, label=label)
            if version is asked:
                over = np.where(np.abs(share) > 100.0, share, np.nan)
                axes.plot(time, over, color=RED, lw=2.2, label="too much")
    standing = 100.0 * thin(asked.standing[:, j]) / top[2][1]
    column[2].plot(thin(asked.time), standing, color=GREY, lw=0.8, ls="--", label="standing")
    for axes in column:
        axes.tick_params(labelsize=8, length=2.5)


def _range(lower: float, upper: float, values: Floats) -> tuple[float, float]:
    """Return what stands for 0 and 100 %: the limits, or the extremes where there are none."""
    if not np.isfinite(upper - lower):
        lower, upper = values.min(), values.max()
    return (lower + upper) / 2.0, (upper - lower) / 2.0 or 1.0


def _scale(limit: float, values: Floats) -> float:
    """Return what stands for 100 %: the limit, or the peak where there is none."""
    scale = limit if np.isfinite(limit) else np.abs(values).max()
    return float(scale) or 1.0
