"""What commands on recordings share: the arm, and how it explains the torque, in every form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.table import Table

from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.explanation import Explanation
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.payload import Payload
from featherstone_ros.model import Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.parameter_files import controller_parameters
from featherstone_ros.tools import panels
from featherstone_ros.tools.style import new_table, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Heading: TypeAlias = tuple[str, str]  # and its style
Curve: TypeAlias = tuple[str, str, Floats]  # name, colour, and the torque (N, n)

PLAIN_HEAD = 1.0  # [inch] height above all panels without a subtitle
TITLE = 13  # [point], less where it is too long
LETTER = 0.62  # of its size, the width of one of its letters


def load_arm(
    urdf: str | Path, joints: Sequence[str], known: Path | None, gravity: Sequence[float]
) -> Arm:
    """Return the arm of a description and a parameter file of the controller.

    ``known``: parameter file with friction, armature, offset, payload and gravity of the
    controller; what it lacks is taken from the URDF. None: links only. ``gravity``: in the base
    link's frame, where the file says none [m/s^2].
    """
    if known is None:
        return Arm.without_drives(Model.from_file(urdf, joints=joints, gravity=gravity))
    arm = ControlledArm.from_robot(str(urdf), joints, known)
    has_gravity = "gravity" in controller_parameters(known)
    model = arm.model if has_gravity else arm.model.with_gravity(gravity)
    return Arm(model, arm.drives)


def scores(explanation: Explanation | None) -> dict[str, Any]:
    """Return the RMS of the unexplained torque and R^2, joint by joint."""
    if explanation is None:
        return {"rms": None, "r2": None}
    return {"rms": explanation.rms, "r2": explanation.r2}


def score_table(
    joints: Sequence[str], explanations: Sequence[tuple[Heading, Explanation]], unit: str
) -> Table:
    """Return a table of the same, a column for each explanation."""
    title = f"Torque left unexplained, RMS [{unit}] / R²"
    table = new_table(title, "joint", figures=[heading for heading, _ in explanations])
    for j, joint in enumerate(joints):
        cells = [f"{_short(e.rms[j])} / {r2_text(e.r2[j])}" for _, e in explanations]
        table.add_row(joint, *cells)
    return table


def _short(value: float) -> str:
    decimals = 3 if value < 1 else 2 if value < 10 else 1
    return f"{value:.{decimals}f}"


def r2_text(value: float) -> str:
    """Write R^2 as in the literature; a dash where there is none."""
    return "–" if np.isnan(value) else f"{value:.3f}"


def load_text(load: Payload) -> str:
    """Say what is missing from the model."""
    x, y, z = load.com
    return (
        f"This looks like an unmodelled {load.mass:.2g} kg at {x:.2f} {y:.2f} {z:.2f} m of "
        f"{load.link}: it explains {load.explained:.0%} of the rest. A tool or gripper that the "
        "URDF lacks? `featherstone-ros payload` tells more."
    )


@dataclass(frozen=True)
class Beside:
    """A panel beside all others."""

    heading: str  # above it
    height: float  # least of it [inch]
    margin: float  # to the right of it [inch]
    draw: Callable[[Axes], None]  # draws it


def draw(
    path: Path,
    title: str,
    motion: SmoothMotion,
    joints: Sequence[str],
    curves: Sequence[Curve],
    score: Callable[[int], str],
    *,
    below: str = "",
    friction: tuple[str, Floats, Drives | None] | None = None,
    beside: Beside | None = None,
) -> None:
    """Write a picture of the torque of joints over time, each with what models say.

    ``score``: returns how well they explain a joint, in a few letters. ``friction``: heading,
    torque (N, n) that the links leave, and the drives that explain it, for panels over velocity.
    """
    n, further = len(joints), [part for part in (friction, beside) if part]
    head, line = (panels.HEAD, panels.LEGEND) if below else (PLAIN_HEAD, panels.SUBTITLE)
    rows = max(panels.ROW * n, beside.height if beside else 0.0)
    width, height = 11.0 + 1.5 * len(further), rows + head + panels.FOOT
    size = min(TITLE, 72 * (width - 2 * panels.MARGIN) / (LETTER * len(title)))
    columns = {"ncols": 1 + len(further), "width_ratios": (2.4, *[1] * len(further))}
    margin = beside.margin if beside else 0.15
    with picture(path) as pyplot:
        figure = pyplot.figure(figsize=(width, height), dpi=110, facecolor="white")
        grid = figure.add_gridspec(
            n, **columns, wspace=0.15, hspace=0.42, left=0.65 / width, right=1 - margin / width,
            top=1 - head / height, bottom=panels.FOOT / height,
        )  # fmt: skip
        panels.write_title(figure, title, below, size)
        panels.write_legend(figure, [(name, colour) for name, colour, _ in curves], line)
        for j, joint in enumerate(joints):
            axes = [figure.add_subplot(grid[j, k]) for k in range(2 if friction else 1)]
            torques = [(torque[:, j], colour) for _, colour, torque in curves]
            panels.draw_over_time(axes[0], motion.time, torques, joint, score(j))
            axes[0].tick_params(labelbottom=j == n - 1)
            if friction:
                heading, left, drives = friction
                law = None if drives is None else _law(drives, j)
                panels.draw_over_velocity(axes[1], motion.velocity[:, j], left[:, j], law)
                if not j:
                    panels.write_heading(figure, axes[1], heading, line)
        for axis, text in zip(axes, ("time [s]", "velocity [rad/s, m/s]"), strict=False):
            axis.set_xlabel(text)
        if beside:
            panel = figure.add_subplot(grid[:, -1])
            beside.draw(panel)
            panels.write_heading(figure, panel, beside.heading, line)


def _law(drives: Drives, joint: int) -> Callable[[Floats], Floats]:
    drive = drives.of_joints(joint)
    return lambda velocity: drive.friction_torque(velocity) + drive.offset
