"""The result as a table and a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

import numpy as np
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from featherstone_ros.control.feasibility.excesses import JUMP
from featherstone_ros.tools.style import new_table, number, short_names
from featherstone_ros.tools.trajectory_check import FileCheck, largest_gap
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

BAD = "bold red"


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
    if arm.model.locked:
        where = ", ".join(f"{joint} {number(at)}" for joint, at in arm.model.locked.items())
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
