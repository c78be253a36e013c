"""The result as a picture: the arm, errors per joint, and what happened over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.tools import panels
from featherstone_ros.tools.demo.measure import LAWS
from featherstone_ros.tools.demo.report import DemoReport
from featherstone_ros.tools.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    RED,
    YELLOW,
    milli,
    picture,
    short_names,
    thin,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

LAW_COLOURS = {"none": RED, "gravity": YELLOW, "full": BLUE}
_TOP = {"left": 0.01, "right": 0.988, "top": 0.845, "bottom": 0.515}
_ROWS = {"left": 0.068, "right": 0.988, "top": 0.435, "bottom": 0.06}


def draw(report: DemoReport, path: Path) -> None:
    """Write the picture: the arm, error per joint, then positions, errors and torques over time."""
    speed = 100 * report.velocity_share.min()
    title = "a disturbed run, not to be compared"
    if report.is_fair:
        title = f"{report.improvement:.0f} times more accurate with its model"
    names = short_names(report.robot.model.joint_names)
    with picture(path, 200) as pyplot:
        figure = pyplot.figure(figsize=(12, 8.4), dpi=140, facecolor="white")
        top = figure.add_gridspec(1, 2, width_ratios=(1, 2.3), wspace=0.16, **_TOP)
        rows = figure.add_gridspec(3, len(names), hspace=0.14, wspace=0.1, **_ROWS)
        panels.write_title(
            figure,
            f"{report.robot.name}: {title}",
            f"One fast motion of all joints, up to {speed:.0f} % of every speed limit, driven "
            "three times with the same gains.\nController and digital twin are two processes that "
            f"talk over ROS 2, {report.rate:.0f} commands per second; {report.knowledge}.",
        )
        _, positions, _, _ = report.motion.samples(0.05)
        lines = panels.seen_from(panels.segments(report.robot.model, positions))
        arm = figure.add_subplot(top[0])
        panels.draw_arm(arm, lines)
        x, y = lines[:, -1, 1].T  # the path of its tip
        arm.plot(x, y, color=RED, lw=1, alpha=0.8, zorder=12)
        bars = figure.add_subplot(top[1])
        errors = [(LAWS[run.law], 1e3 * run.rms, LAW_COLOURS[run.law]) for run in report.runs]
        panels.draw_errors(bars, names, errors, lambda error: milli(error / 1e3))
        bars.set_ylabel(f"RMS tracking error [{report.unit}]")
        _time_rows(figure, rows, report)


def _time_rows(figure: Figure, grid: GridSpec, report: DemoReport) -> None:
    """Draw per joint: desired and actual position; error of each law; torque / its limit."""
    from matplotlib.ticker import MaxNLocator

    scales, names = (
        (_position_scale(report), _error_scale(report)),
        short_names(report.robot.model.joint_names),
    )
    columns = [
        [figure.add_subplot(grid[row, j]) for row in range(3)] for j in range(report.robot.model.n)
    ]
    for j, column in enumerate(columns):
        _draw_position(column[0], report, j, scales[0])
        _draw_error(column[1], report, j, scales[1])
        _draw_torque(column[2], report, j)
        for axes in column:
            axes.set_xlim(0, report.motion.duration)
            axes.tick_params(
                labelsize=8, labelbottom=axes is column[2], labelleft=j == 0, length=2.5
            )
            axes.minorticks_off()
            axes.xaxis.set_major_locator(MaxNLocator(2, integer=True, prune="upper"))
        column[0].set_title(names[j], fontsize=9.5, color=INK, pad=3)
    labels = ("position\nfrom start [rad]", f"|error| [{report.unit}]", "torque\n[% of limit]")
    for axes, label in zip(columns[0], labels, strict=True):
        axes.set_ylabel(label, fontsize=8.5)
    figure.align_ylabels(columns[0])
    figure.text(0.53, 0.013, "time [s]", ha="center", fontsize=9, color=INK)


def _position_scale(report: DemoReport) -> tuple[float, float]:
    _, desired, _, _ = report.motion.samples(0.02)
    swing = 1.15 * np.abs(desired - report.motion.centre).max()
    return -swing, swing


def _error_scale(report: DemoReport) -> tuple[float, float]:
    high = max(1e3 * run.peak.max() for run in report.runs) * 1.6
    return max(1e3 * report.runs[-1].rms.min() / 3, high / 1e6), high


def _draw_position(axes: Axes, report: DemoReport, j: int, limits: tuple[float, float]) -> None:
    time, desired, _, _ = report.motion.samples(0.02)
    start = report.motion.centre[j]
    axes.plot(time, desired[:, j] - start, color=INK, lw=3.5, alpha=0.22)
    for run in (report.runs[0], report.runs[-1]):
        axes.plot(
            thin(run.time), thin(run.position[:, j] - start), color=LAW_COLOURS[run.law], lw=0.9
        )
    axes.set_ylim(limits)
    if j == 0:
        axes.text(0.02, 0.03, "grey: desired", transform=axes.transAxes, fontsize=7, color=GREY)


def _draw_error(axes: Axes, report: DemoReport, j: int, limits: tuple[float, float]) -> None:
    for run in report.runs:
        time, envelope = _envelope(run.time, 1e3 * np.abs(run.error[:, j]))
        axes.plot(time, envelope, color=LAW_COLOURS[run.law], lw=1.0)
    axes.set_yscale("log")
    axes.set_ylim(limits)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(axis="y", color=FAINT, linewidth=0.5)


def _draw_torque(axes: Axes, report: DemoReport, j: int) -> None:
    run = report.runs[-1]
    share = 100 * run.effort[:, j] / report.robot.model.effort_limit[j]
    axes.axhspan(-100, 100, color=FAINT, alpha=0.4, lw=0)
    axes.plot(thin(run.time), thin(share), color=LAW_COLOURS[run.law], lw=0.9)
    axes.set_ylim(-112, 112)
    axes.set_yticks((-100, 0, 100))


def _envelope(time: Floats, values: Floats, bins: int = 150) -> tuple[Floats, Floats]:
    """Return time and largest value of each of ``bins`` stretches, without zero crossings."""
    edges = np.linspace(0, len(values), min(bins, len(values)) + 1).astype(int)[:-1]
    return time[edges], np.maximum.reduceat(values, edges)
