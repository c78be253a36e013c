"""The demo's arm in motion as a GIF: without its model and with it, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.tools import panels
from featherstone_ros.tools.demo.measure import LAWS, Run
from featherstone_ros.tools.demo.picture import LAW_COLOURS
from featherstone_ros.tools.demo.report import DemoReport
from featherstone_ros.tools.style import FAINT, finish, pyplot_in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

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
        frames = []
        for k in range(len(time)):
            for arm in arms:
                arm.show(k)
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

    def show(self, k: int) -> None:
        """Draw the k-th instant."""
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

    figure.canvas.draw()
    return Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")  # type: ignore


def _save(frames: list[Image], path: Path) -> None:
    """Write frames with one palette, so that only what has moved is stored of each."""
    from PIL.Image import Dither

    palette = frames[-1].quantize(_PALETTE)
    first, *others = [frame.quantize(palette=palette, dither=Dither.NONE) for frame in frames]
    first.save(path, save_all=True, append_images=others, duration=_FRAME, loop=0, optimize=True)
