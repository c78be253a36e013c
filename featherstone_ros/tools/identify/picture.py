"""An identification as a picture: torque held out, friction over speed, parameters with bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.identification.explanation import Explanation
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.session import Identification
from featherstone_ros.tools import panels
from featherstone_ros.tools.recorded_arm import r2_text
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, YELLOW, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 14.0  # [inch]
HEAD = 1.0  # [inch] height above all panels
SMALL = 8  # [point] of a parameter's name
LETTER = 0.068  # [inch] of such a name
LINE = 0.155  # [inch] height of a parameter's row
FAR = 3.0  # [times 30 %] where bars are cut off
CURVES = (("measured", panels.MEASURED), ("URDF with friction", YELLOW), ("identified", BLUE))


def draw(
    found: Identification,
    motion: SmoothMotion,
    held_out: Explanation,
    before: Explanation,
    path: Path,
) -> None:
    """Write the picture.

    Args:
        found: The identification.
        motion: The held-out motion of the judged joints.
        held_out: Its explanation by the identified model.
        before: Its explanation by the description with friction.
        path: The file.
    """
    n = len(found.joint_names)
    height = max(panels.ROW * max(n, 4), LINE * _links(found).sum()) + HEAD + panels.FOOT
    margin = LETTER * max(map(len, _names(found)), default=0) + 0.2
    with picture(path) as pyplot:
        figure = pyplot.figure(figsize=(WIDTH, height), dpi=100, facecolor="white")
        grid = figure.add_gridspec(
            n, 3, width_ratios=(2.2, 1, 1), wspace=0.16, hspace=0.42, left=0.05,
            right=1 - margin / WIDTH, top=1 - HEAD / height, bottom=panels.FOOT / height,
        )  # fmt: skip
        panels.write_title(figure, f"{found.model.name}: torque that was not fitted [N m, N]")
        panels.write_legend(figure, CURVES, panels.SUBTITLE)
        for j in range(n):
            over_time = figure.add_subplot(grid[j, 0])
            over_speed = figure.add_subplot(grid[j, 1])
            efforts = (motion.effort, before.effort, held_out.effort)
            curves = [(e[:, j], c) for e, (_, c) in zip(efforts, CURVES, strict=True)]
            score = f"R²  {r2_text(before.r2[j])}  →  {r2_text(held_out.r2[j])}"
            panels.draw_over_time(over_time, motion.time, curves, found.joint_names[j], score)
            _draw_friction(over_speed, found, motion, held_out, j)
            if j == 0:
                panels.write_heading(
                    figure, over_speed, "Friction [N m, N] over velocity", panels.SUBTITLE
                )
            if j < n - 1:
                over_time.tick_params(labelbottom=False)
        over_time.set_xlabel("time [s]")
        over_speed.set_xlabel("velocity [rad/s, m/s]")
        parameters = figure.add_subplot(grid[:, 2])
        _draw_parameters(parameters, found)
        panels.write_heading(
            figure, parameters, "Base parameters: data ± 2 σ; written: |", panels.SUBTITLE
        )


def _draw_friction(
    axes: Axes, found: Identification, motion: SmoothMotion, held_out: Explanation, j: int
) -> None:
    """Draw what the identified links and the drives' inertia leave unexplained."""
    drive, velocity = found.arm.drives.of_joint(found.judged[j]), motion.velocity[:, j]
    own = drive.friction_torque(velocity, motion.sliding[:, j]) + drive.offset
    left = motion.effort[:, j] - held_out.effort[:, j] + own
    panels.draw_over_velocity(
        axes, velocity, left, lambda v: drive.friction_torque(v) + drive.offset
    )


def _links(found: Identification) -> NDArray[np.bool_]:
    """Return which parameters are those of links, and have a scale."""
    e = found.estimate
    return np.isfinite(e.urdf) & np.isfinite(e.scale) & (e.scale > 0)


def _names(found: Identification) -> list[str]:
    names = zip(found.estimate.names, _links(found), strict=True)
    return [name.split(" ")[0] for name, is_links in names if is_links]


def _draw_parameters(axes: Axes, found: Identification) -> None:
    """Draw the links' base parameters minus the URDF's, in units of its assumed error."""
    e = found.estimate
    links = _links(found)
    rows = np.arange(links.sum())
    value = ((e.value - e.urdf) / e.scale)[links]
    bars = np.minimum(2 * (e.deviation / e.scale)[links], 3 * FAR)
    fitted = ((e.fitted - e.urdf) / e.scale)[links]
    colours = [BLUE if known else FAINT for known in e.identified[links]]
    axes.hlines(rows, value - bars, value + bars, color=colours, lw=1.6)
    axes.scatter(value, rows, s=9, color=[BLUE if k else GREY for k in e.identified[links]])
    axes.plot(fitted, rows, "|", color=INK, ms=6)
    axes.axvline(0, color=GREY, lw=0.7)
    axes.set_yticks(rows, _names(found), fontsize=SMALL, color=INK)
    axes.yaxis.tick_right()
    axes.set_xlim(-FAR, FAR)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("off the URDF, in units of 30 %")
    axes.spines["left"].set_visible(False)
