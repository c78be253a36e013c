"""The Monte Carlo study as a picture."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from featherstone_ros.arrays import Floats
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, RED, YELLOW, picture

if TYPE_CHECKING:
    from monte_carlo import StudyResult

_COLOURS = (RED, YELLOW, BLUE)  # of the laws


def draw(report: StudyResult, laws: tuple[str, ...], path: Path) -> None:
    """Write the picture: errors, what they come from, how the payload's mass tells, torques.

    ``laws``: their names, in the order of the report's arrays.
    """
    with picture(path) as pyplot:
        figure = pyplot.figure(figsize=(11.5, 7.8), dpi=100)
        axes = figure.subplots(2, 2)
        figure.subplots_adjust(0.05, 0.065, 0.99, 0.845, wspace=0.26, hspace=0.28)
        _title(figure, report, laws)
        _errors(axes[0, 0], report)
        _budget(axes[0, 1], report)
        _masses(axes[1, 0], report)
        _torques(axes[1, 1], report)


def _title(figure: Figure, report: StudyResult, laws: tuple[str, ...]) -> None:
    study = report.study
    figure.text(
        0.008, 0.963,
        f"{Path(study.robot).stem}: {np.median(report.gain):.1f} times more accurate than "
        f"{laws[1]}, with payload and friction uncertain",
        va="center", fontsize=14, fontweight="bold", color=INK,
    )  # fmt: skip
    figure.text(
        0.008, 0.918,
        f"{len(report.tracking.mass)} arms, each on {study.motions} fast motions of "
        f"{report.duration:g} s. Standard deviations from what the\ncontroller believes: "
        f"payload ({study.payload:g} kg) {100 * study.mass_spread:.0f} %, its centre "
        f"{1e3 * study.centre_spread:.0f} mm, joint friction {100 * study.friction_spread:.0f} %.",
        color=GREY, va="center", linespacing=1.4,
    )  # fmt: skip
    bars = [Patch(color=colour) for colour in _COLOURS]
    figure.legend(bars, laws, ncols=3, frameon=False, loc="center right",
                  bbox_to_anchor=(0.995, 0.918), fontsize=10)  # fmt: skip


def _errors(axes: Axes, report: StudyResult) -> None:
    """Distribution of each joint's error over the runs."""
    _bands(axes, report, 1e3 * report.tracking.rms)
    _logarithmic(axes)
    axes.set_title(f"RMS tracking error [{report.unit}]: median, 50 % and 90 % of the runs")


def _torques(axes: Axes, report: StudyResult) -> None:
    """Distribution of the largest torque asked for."""
    _bands(axes, report, 100 * report.tracking.effort)
    axes.axhline(100, color=INK, lw=1)
    axes.set_ylim(0)
    axes.set_title("largest torque asked for [% of the limit]")


def _bands(axes: Axes, report: StudyResult, values: Floats) -> None:
    """Draw bars from 5 to 95 % and from 25 to 75 %, and the median, of (samples, laws, ...)."""
    low, lower, middle, upper, high = np.quantile(
        values, (0.05, 0.25, 0.5, 0.75, 0.95), axis=(0, 2)
    )
    joints = np.arange(len(report.joints))
    for law, colour in enumerate(_COLOURS):
        x = joints + 0.25 * (law - 1)
        axes.vlines(x, low[law], high[law], color=colour, lw=1.6)
        axes.vlines(x, lower[law], upper[law], color=colour, lw=7)
        axes.plot(x, middle[law], "_", color=INK, ms=8, mew=1.2)
    axes.set_xticks(joints, _short_lines(report.joints), color=INK)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)


def _budget(axes: Axes, report: StudyResult) -> None:
    """Shares of each cause in the mean square error of each joint."""
    causes, shares = list(report.budget), 100 * np.array(list(report.budget.values()))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=110, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        colour = "white" if share > 60 else INK
        axes.text(column, row, f"{share:.0f}", ha="center", va="center", color=colour)
    axes.set_xticks(range(len(report.joints)), _short_lines(report.joints), color=INK)
    axes.set_yticks(range(len(causes)), causes, color=INK)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("where the error with feedforward comes from [% of its square]")


def _masses(axes: Axes, report: StudyResult) -> None:
    """Error of all joints together over the real mass, a dot for each sample."""
    error = 1e3 * np.sqrt(np.mean(report.total**2, axis=-1))
    for law, colour in enumerate(_COLOURS):
        axes.plot(report.tracking.mass, error[:, law], ".", color=colour, ms=5, alpha=0.8)
    axes.axvline(report.study.payload, color=GREY, lw=0.8, ls="--")
    _logarithmic(axes)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel("real mass of the payload [kg] (dashed: believed)")
    axes.set_title(f"RMS error of all joints together [{report.unit}], a dot for each arm")


def _short_lines(names: list[str]) -> list[str]:
    return [fill(name, 10) for name in names]


def _logarithmic(axes: Axes) -> None:
    """Scale the values by decades, ticks at 1, 2 and 5, written as plain numbers."""
    axes.set_yscale("log", subs=())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
