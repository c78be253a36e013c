"""The result as a picture, and the arm in motion as a GIF: without its model and with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.tools import panels
from featherstone_ros.tools.demo.report import LAWS, DemoReport, Run
from featherstone_ros.tools.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    RED,
    YELLOW,
    finish,
    milli,
    picture,
    pyplot_in_style,
    short_names,
    thin,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec
    from PIL.Image import Image

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


_FRAME = 80  # [ms]
_MAX_FRAMES = 150  # a longer motion is shown faster
_PALETTE = 32
_BELOW = "Grey: the desired motion. Below: how far the end effector is from it."
_GRID = {"height_ratios": (2.6, 1), "left": 0.09, "right": 0.97, "bottom": 0.1, "top": 0.8}


def animate(report: DemoReport, path: Path) -> None:
    """Write the animation: the arm where it is, where it should be, and the distance between."""
    duration = report.motion.duration
    time = np.linspace(0, duration, min(round(1e3 * duration / _FRAME) + 1, _MAX_FRAMES))
    with pyplot_in_style() as pyplot:
        figure = pyplot.figure(figsize=(6.4, 5.4), dpi=100, facecolor="white")
        title = f"{report.robot.name}: the same gains, without and with its model"
        panels.write_title(figure, title, _BELOW, size=14)
        grid = figure.add_gridspec(2, 2, **_GRID)
        below = figure.add_subplot(grid[1, :])
        arms = [
            _Arm(figure.add_subplot(grid[0, column]), below, report, run, time)
            for column, run in enumerate((report.runs[0], report.runs[-1]))
        ]
        _name_axes(below, duration)
        figure.canvas.draw()  # all that stays
        background = figure.canvas.copy_from_bbox(figure.bbox)
        frames = []
        for k in range(len(time)):
            figure.canvas.restore_region(background)
            for arm in arms:
                arm.show(k)
                for artist in arm.moving:
                    figure.draw_artist(artist)
            frames.append(_image(figure))
        pyplot.close(figure)
    _save(frames, path)


class _Arm:
    """One run: its arm over a grey one that is where it should be, and its curve of errors."""

    def __init__(self, axes: Axes, below: Axes, report: DemoReport, run: Run, time: Floats) -> None:
        from matplotlib.collections import LineCollection

        model, colour = report.robot.model, LAW_COLOURS[run.law]
        desired, _, _ = report.motion.at(time)
        actual = np.column_stack([np.interp(time, run.time, q) for q in run.position.T])
        self._lines = [panels.segments(model, positions) for positions in (desired, actual)]
        ends = [lines[:, -1, 1] for lines in self._lines]
        self._time, self._error = time, 1e3 * np.linalg.norm(ends[1] - ends[0], axis=1)
        self._drawn = [
            LineCollection([], colors=shade, linewidths=width, capstyle="round")
            for shade, width in ((FAINT, 10), (colour, 3.5))
        ]
        for drawn in self._drawn:
            axes.add_collection(drawn)
        axes.update_datalim(panels.seen_from(self._lines[0]).reshape(-1, 2))
        axes.autoscale_view()
        axes.set_aspect("equal")
        axes.set_axis_off()
        self._heading = axes.set_title("", color=colour, fontsize=12.5, fontweight="bold")
        self._label = LAWS[run.law]
        (self._curve,) = below.plot([], [], color=colour, lw=1.8)
        below.update_datalim(np.column_stack((time, self._error)))
        below.autoscale_view()
        self.moving = (*self._drawn, self._heading, self._curve)
        for artist in self.moving:
            artist.set_animated(True)

    def show(self, k: int) -> None:
        """Move to the k-th instant."""
        for drawn, lines in zip(self._drawn, self._lines, strict=True):
            drawn.set_segments([*panels.seen_from(lines[k])])
        self._heading.set_text(f"{self._label}: {self._error[k]:.1f} mm")
        self._curve.set_data(self._time[: k + 1], self._error[: k + 1])


def _name_axes(below: Axes, duration: float) -> None:
    finish(below)
    below.set_xlim(0, duration)
    below.set_ylim(bottom=0)
    below.set_xlabel("time [s]")
    below.set_ylabel("error [mm]")


def _image(figure: Figure) -> Image:
    """Return what is drawn now."""
    from PIL import Image  # comes with matplotlib

    return Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")  # type: ignore


def _save(frames: list[Image], path: Path) -> None:
    """Write frames with one palette, so that only what has moved is stored of each."""
    from PIL.Image import Dither

    palette = frames[-1].quantize(_PALETTE)
    first, *others = [frame.quantize(palette=palette, dither=Dither.NONE) for frame in frames]
    first.save(path, save_all=True, append_images=others, duration=_FRAME, loop=0, optimize=True)
