"""An identification as a picture: torque held out, friction over speed, parameters with bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.identification.explanation import Explanation
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.session import Identification
from featherstone_ros.model.friction import friction_torque
from featherstone_ros.tools.evaluate.report import r2_text
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, PICTURE_STYLE, YELLOW, shrink

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW, TITLE, FOOT = 1.25, 1.0, 0.5  # [inch] heights: of a joint, above and below all
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
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    n = len(found.joint_names)
    height = ROW * max(n, 4) + TITLE + FOOT
    with pyplot.rc_context(PICTURE_STYLE):
        figure = pyplot.figure(figsize=(14, height), dpi=100, facecolor="white")
        grid = figure.add_gridspec(
            n, 3, width_ratios=(2.2, 1, 1), wspace=0.16, hspace=0.35, left=0.05, right=0.925,
            top=1 - TITLE / height, bottom=FOOT / height,
        )  # fmt: skip
        for j in range(n):
            over_time = figure.add_subplot(grid[j, 0])
            over_speed = figure.add_subplot(grid[j, 1])
            _draw_torque(over_time, found, motion, held_out, before, j)
            _draw_friction(over_speed, found, motion, held_out, j)
        over_time.set_xlabel("time [s]")
        over_speed.set_xlabel("velocity [rad/s, m/s]")
        _draw_parameters(figure.add_subplot(grid[:, 2]), found)
        _title(figure, found, height)
        figure.savefig(path)
        pyplot.close(figure)
    shrink(path, colours=64)


def _title(figure: Figure, found: Identification, height: float) -> None:
    figure.text(
        0.012, 1 - 0.28 / height, f"{found.model.name}: torque that was not fitted [N m, N]",
        fontsize=15, fontweight="bold", color=INK, va="center",
    )  # fmt: skip
    x, y = 0.05, 1 - 0.62 / height
    for text, colour in (
        ("measured", INK), ("URDF with friction", YELLOW), ("identified", BLUE)
    ):  # fmt: skip
        figure.text(x, y, text, color=colour, fontsize=10, fontweight="bold", va="center")
        x += 0.007 * len(text) + 0.012
    figure.text(0.49, y, "measured minus identified links", color=GREY, fontsize=10, va="center")
    figure.text(
        0.715, y, "base parameters: data ± 2 σ, and written", color=GREY,
        fontsize=10, va="center",
    )  # fmt: skip


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
    axes.plot(time, motion.effort[thin, j], color=INK, lw=2.6, alpha=0.35)
    axes.plot(time, before.effort[thin, j], color=YELLOW, lw=1.1)
    axes.plot(time, held_out.effort[thin, j], color=BLUE, lw=1.1)
    axes.set_title(found.joint_names[j], loc="left", fontsize=9.5, color=INK, pad=2)
    scores = f"R²  {r2_text(before.r2[j])}  →  {r2_text(held_out.r2[j])}"
    axes.set_title(scores, loc="right", fontsize=8.5, color=GREY, pad=2)
    _finish(axes)


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
    axes.plot(velocity[thin], left[thin], ".", color=GREY, ms=2.2, alpha=0.6, mew=0)
    v = np.linspace(velocity.min(), velocity.max(), 400)
    curve = friction_torque(v, friction.viscous[k], friction.coulomb[k], found.sliding_speed)
    axes.plot(v, curve + friction.offset[k], color=BLUE, lw=1.6)
    _finish(axes)


def _draw_parameters(axes: Axes, found: Identification) -> None:
    """Draw the links' base parameters minus the URDF's, in units of its assumed error."""
    e = found.estimate
    links = np.isfinite(e.urdf) & np.isfinite(e.scale) & (e.scale > 0)
    rows = np.arange(links.sum())
    value = ((e.value - e.urdf) / e.scale)[links]
    bars = np.minimum(2 * (e.deviation / e.scale)[links], 3 * FAR)
    fitted = ((e.fitted - e.urdf) / e.scale)[links]
    colours = [BLUE if known else FAINT for known in e.identified[links]]
    axes.hlines(rows, value - bars, value + bars, color=colours, lw=1.6)
    axes.scatter(value, rows, s=9, color=[BLUE if k else GREY for k in e.identified[links]])
    axes.plot(fitted, rows, "|", color=INK, ms=6)
    axes.axvline(0, color=GREY, lw=0.7)
    names = [name.split(" ")[0] for name, link in zip(e.names, links, strict=True) if link]
    axes.set_yticks(rows, names, fontsize=6)
    axes.yaxis.tick_right()
    axes.set_xlim(-FAR, FAR)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("off the URDF, in units of 30 %")
    axes.spines["left"].set_visible(False)


def _finish(axes: Axes) -> None:
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, length=2.5)
    axes.locator_params(axis="y", nbins=4)
