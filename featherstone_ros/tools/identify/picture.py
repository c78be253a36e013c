"""An identification as a picture: torque held out, friction over speed, parameters with bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.identification.explanation import Explanation
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.session import Identification
from featherstone_ros.model.friction import friction_torque
from featherstone_ros.tools.evaluate.report import r2_text
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, YELLOW, finish, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 14.0  # [inch]
ROW, TITLE, FOOT = 1.25, 1.0, 0.5  # [inch] heights: of a joint, above and below all
MEASURED = "#a9b0b8", 3.0  # colour, and width of a line: it lies behind the others
SMALL = 8  # [point] of a parameter's name
LETTER = 0.068  # [inch] of such a name
LINE = 0.155  # [inch] height of a parameter's row
POINTS = 2000  # drawn of each curve
FAR = 3.0  # [times 30 %] where bars are cut off


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
    height = max(ROW * max(n, 4), LINE * _links(found).sum()) + TITLE + FOOT
    margin = LETTER * max(map(len, _names(found)), default=0) + 0.2
    with picture(path) as pyplot:
        figure = pyplot.figure(figsize=(WIDTH, height), dpi=100, facecolor="white")
        grid = figure.add_gridspec(
            n, 3, width_ratios=(2.2, 1, 1), wspace=0.16, hspace=0.42, left=0.05,
            right=1 - margin / WIDTH, top=1 - TITLE / height, bottom=FOOT / height,
        )  # fmt: skip
        for j in range(n):
            over_time = figure.add_subplot(grid[j, 0])
            over_speed = figure.add_subplot(grid[j, 1])
            _draw_torque(over_time, found, motion, held_out, before, j)
            _draw_friction(over_speed, found, motion, held_out, j)
            if j == 0:
                _head(over_speed, "Friction [N m, N] over velocity", height)
            if j < n - 1:
                over_time.tick_params(labelbottom=False)
        over_time.set_xlabel("time [s]")
        over_speed.set_xlabel("velocity [rad/s, m/s]")
        parameters = figure.add_subplot(grid[:, 2])
        _draw_parameters(parameters, found)
        _head(parameters, "Base parameters: data ± 2 σ; written: |", height)
        _title(figure, found, height)


def _title(figure: Figure, found: Identification, height: float) -> None:
    from matplotlib.lines import Line2D

    figure.text(
        0.012, 1 - 0.28 / height, f"{found.model.name}: torque that was not fitted [N m, N]",
        fontsize=15, fontweight="bold", color=INK, va="center",
    )  # fmt: skip
    lines = [
        Line2D([], [], color=colour, lw=width, label=name)
        for name, colour, width in (
            ("measured", *MEASURED), ("URDF with friction", YELLOW, 1.6), ("identified", BLUE, 1.6)
        )
    ]  # fmt: skip
    figure.legend(
        handles=lines, ncols=3, frameon=False, fontsize=10, loc="center left", borderaxespad=0,
        bbox_to_anchor=(0.05, 1 - 0.62 / height), labelcolor=INK,
    )  # fmt: skip


def _head(axes: Axes, text: str, height: float) -> None:
    """Write what a column of panels shows above it, on the legend's line."""
    axes.figure.text(
        axes.get_position().x0, 1 - 0.62 / height, text, color=INK, fontsize=10, va="center"
    )


def _draw_torque(
    axes: Axes,
    found: Identification,
    motion: SmoothMotion,
    held_out: Explanation,
    before: Explanation,
    j: int,
) -> None:
    thin = slice(None, None, max(1, len(motion.time) // POINTS))
    breaks = np.abs(np.diff(motion.time, prepend=motion.time[0])) > 0.5
    time = np.where(breaks, np.nan, motion.time)[thin]
    axes.plot(time, motion.effort[thin, j], color=MEASURED[0], lw=MEASURED[1])
    axes.plot(time, before.effort[thin, j], color=YELLOW, lw=1.1)
    axes.plot(time, held_out.effort[thin, j], color=BLUE, lw=1.1)
    axes.set_title(found.joint_names[j], loc="left", fontsize=9.5, color=INK, pad=2)
    scores = f"R²  {r2_text(before.r2[j])}  →  {r2_text(held_out.r2[j])}"
    axes.set_title(scores, loc="right", fontsize=8.5, color=GREY, pad=2)
    finish(axes)


def _draw_friction(
    axes: Axes, found: Identification, motion: SmoothMotion, held_out: Explanation, j: int
) -> None:
    friction, k = found.friction, found.judged[j]
    velocity = motion.velocity[:, j]
    own = (
        friction.viscous[k] * velocity
        + friction.coulomb[k] * motion.sliding[:, j]
        + friction.armature[k] * motion.acceleration[:, j]
        + friction.offset[k]
    )
    left = motion.effort[:, j] - held_out.effort[:, j] + own
    left -= friction.armature[k] * motion.acceleration[:, j]
    thin = slice(None, None, max(1, len(velocity) // POINTS))
    axes.plot(velocity[thin], left[thin], ".", color=MEASURED[0], ms=3.0, mew=0)
    v = np.linspace(velocity.min(), velocity.max(), 400)
    curve = friction_torque(v, friction.viscous[k], friction.coulomb[k], found.sliding_speed)
    axes.plot(v, curve + friction.offset[k], color=BLUE, lw=1.6)
    finish(axes)


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
