"""Parts that pictures of several commands have: titles, panels of joints, bars, the arm itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURED = "#a9b0b8"  # lies behind the curves of models
MARGIN = 0.2  # [inch] to the left of titles
SUBTITLE, LEGEND = 0.62, 0.95  # [inch] from the top
ROW, HEAD, FOOT = 1.25, 1.25, 0.5  # [inch] heights: of a joint, above and below all
POINTS = 2000  # drawn of each curve
BREAK = 0.5  # [s] without samples at which a curve is interrupted
MANY = 9  # joints whose figures fit above their bars
WIDTH = 84  # letters of joints' names that fit side by side


def write_title(figure: Figure, title: str, below: str = "", size: float = 16) -> None:
    """Write a title at the top left of a picture, and in smaller letters what is below it."""
    width, height = figure.get_size_inches()
    figure.text(
        MARGIN / width, 1 - 0.33 / height, title, fontsize=size, fontweight="bold", color=INK,
        va="center",
    )  # fmt: skip
    figure.text(
        MARGIN / width, 1 - (SUBTITLE - 0.08) / height, below, fontsize=10, color=GREY, va="top",
        linespacing=1.4,
    )  # fmt: skip


def write_legend(figure: Figure, curves: Iterable[tuple[str, str]], top: float = LEGEND) -> None:
    """Name the curves of all panels by their colours in a line, ``top`` [inch] below the top."""
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    lines = [
        Line2D([], [], color=colour, lw=3.0 if colour == MEASURED else 1.6, label=name)
        for name, colour in curves
    ]
    figure.legend(
        handles=lines, ncols=len(lines), frameon=False, fontsize=10, loc="center left",
        borderaxespad=0, bbox_to_anchor=(MARGIN / width, 1 - top / height), labelcolor=INK,
    )  # fmt: skip


def write_heading(figure: Figure, axes: Axes, text: str, top: float = LEGEND) -> None:
    """Write what the column of a panel has above it, beside the legend."""
    x, y = axes.get_position().x0, 1 - top / figure.get_figheight()
    figure.text(x, y, text, color=GREY, fontsize=10, va="center")


def draw_over_time(
    axes: Axes, time: Floats, curves: Iterable[tuple[Floats, str]], joint: str, score: str
) -> None:
    """Draw what was measured of a joint and what models say, interrupted where samples are missing.

    ``time`` (N,) [s]. ``curves``: values (N,) and colour of each, the measured one first.
    ``score``: how well the models explain it, in a few letters.
    """
    some = slice(None, None, max(1, len(time) // POINTS))
    has_gap = np.abs(np.diff(time, prepend=time[0])) > BREAK
    time = np.where(has_gap, np.nan, time)[some]
    for values, colour in curves:
        axes.plot(time, values[some], color=colour, lw=3.0 if colour == MEASURED else 1.1)
    axes.set_title(joint, loc="left", fontsize=9.5, color=INK, pad=2)
    axes.set_title(score, loc="right", fontsize=8.5, color=GREY, pad=2)
    axes.set_xlim(np.nanmin(time), np.nanmax(time))
    finish(axes)


def draw_over_velocity(
    axes: Axes, velocity: Floats, torque: Floats, friction: Callable[[Floats], Floats] | None
) -> None:
    """Draw torque samples (N,) over velocity (N,), and the friction of a model if there is one."""
    some = slice(None, None, max(1, len(velocity) // POINTS))
    axes.plot(velocity[some], torque[some], ".", color=MEASURED, ms=3.0, mew=0)
    if friction is not None:
        v = np.linspace(velocity.min(), velocity.max(), 400)
        axes.plot(v, friction(v), color=BLUE, lw=1.6)
    finish(axes)


def draw_errors(
    axes: Axes, names: Sequence[str], errors: Sequence[tuple[str, Floats, str]], digits: Any
) -> None:
    """Draw errors as bars on a logarithmic axis.

    ``errors``: label, values (n,) and colour of each set of bars; NaN: no bar.
    """
    n, width = len(names), 0.84 / len(errors)
    every = np.array([values for _, values, _ in errors])
    floor = 10.0 ** np.floor(np.log10(np.nanmin(every) * 0.7))
    for k, (label, values, colour) in enumerate(errors):
        x = np.arange(n) + (k - (len(errors) - 1) / 2) * width
        axes.bar(x, values - floor, width * 0.93, bottom=floor, color=colour, label=label)
        for xi, h in zip(x, values, strict=True):
            if n <= MANY and not np.isnan(h):
                axes.text(xi, h * 1.08, digits(h), ha="center", va="bottom", fontsize=8, color=INK)
    axes.set_yscale("log")
    axes.set_ylim(floor, 5 * np.nanmax(every))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.legend(
        ncols=len(errors), frameon=False, loc="lower right", bbox_to_anchor=(1, 1),
        borderaxespad=0, fontsize=9,
    )  # fmt: skip
    name_joints(axes, names)


def name_joints(axes: Axes, names: Sequence[str]) -> None:
    """Write joints' names below their bars, upright where they are too long."""
    n = len(names)
    upright: dict[str, Any] = {"rotation": 90, "fontsize": max(3.5, 8 - n / 20)}
    axes.set_xlim(-0.6, n - 0.4)
    axes.set_xticks(range(n), names, color=INK, **(upright if are_too_long(names) else {}))
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def are_too_long(names: Sequence[str]) -> bool:
    """Tell whether names cannot stand side by side."""
    return len(names) * (1 + max(map(len, names))) > WIDTH


def draw_arm(axes: Axes, lines: Floats, moments: int = 7) -> None:
    """Draw an arm at several instants, the earliest faintest.

    ``lines`` (K, S, 2, 2) as ``seen_from`` returns the arm's ``segments``.
    """
    from matplotlib.colors import to_rgb

    chosen = np.unique(np.linspace(0, len(lines) - 1, moments).astype(int))
    for k, strength in zip(chosen, np.linspace(0.12, 1.0, len(chosen)), strict=True):
        # Mixed with white: transparent lines would darken where they cross.
        colour = tuple(1 - strength * (1 - channel) for channel in to_rgb(BLUE))
        for x, y in lines[k].transpose(0, 2, 1):
            axes.plot(x, y, color=colour, lw=5, solid_capstyle="round", zorder=10 * strength)
    x, y = lines[-1].reshape(-1, 2).T
    axes.plot(x, y, "o", ms=4.5, mfc="white", mec=BLUE, zorder=11)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()


def segments(model: Model, positions: Floats) -> Floats:
    """Return straight lines that represent an arm.

    ``positions`` (K, n) joint positions [rad or m]. Returns (K, S, 2, 3) ends of S lines in the
    base frame [m]: from each body's origin to that of the body it is jointed to (or the base), and
    from each body's origin to its other links.
    """
    dynamics, tree = Dynamics(model), model.tree
    poses = {
        name: dynamics.link_pose(np.asarray(positions, float), name)[:, :3, 3]
        for name in tree.link_names
    }
    owner = dict(zip(tree.link_names, tree.link_body, strict=True))
    lines = [(tree.body_names[p + 1], tree.body_names[i + 1]) for i, p in enumerate(tree.parent)]
    lines += [(tree.body_names[body + 1], link) for link, body in owner.items() if body >= 0]
    return np.array([(poses[a], poses[b]) for a, b in lines]).transpose(2, 0, 1, 3)


def seen_from(points: Floats, azimuth: float = -60.0, elevation: float = 18.0) -> Floats:
    """Return the parallel projection of (..., 3) points to (..., 2): right and up for an observer.

    ``points`` [m], z up. ``azimuth``: of the observer about z from the x axis [deg]. ``elevation``:
    of the observer above the horizon [deg].
    """
    a, e = np.radians(azimuth), np.radians(elevation)
    right = (-np.sin(a), np.cos(a), 0.0)
    up = (-np.cos(a) * np.sin(e), -np.sin(a) * np.sin(e), np.cos(e))
    return points @ np.array([right, up]).T
