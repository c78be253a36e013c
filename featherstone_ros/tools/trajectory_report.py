"""A trajectory that was checked: as a table, in a few lines, and as a picture of every joint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility import JUMP, round_up
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
from featherstone_ros.tools.trajectory_check import FileCheck, largest_gap
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def notes(checked: FileCheck) -> Iterable[str]:
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
