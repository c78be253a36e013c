"""The nodes' times as a picture: histograms of reaction and jitter, ratios, closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.tools.bench.nodes.conditions import OWN_WAIT_SET
from featherstone_ros.tools.bench.nodes.distribution import Distribution
from featherstone_ros.tools.bench.nodes.loop import Loop, slowest_reaction
from featherstone_ros.tools.bench.report import BenchReport, machine
from featherstone_ros.tools.bench.results import Result
from featherstone_ros.tools.bench.sections import NODES
from featherstone_ros.tools.bench.words import duration, rounded
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, PANELS_STYLE, RED, YELLOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS = (BLUE, YELLOW, "#7a9a3a", RED)
_FLOORS = {"echo": GREY, "sleeping loop": GREY, "floor": INK}
_BUSY = "busy interpreter"
_SHORTEST = -6  # power of ten of the shortest time shown [s]
_HEADINGS = {
    "reaction": "From joint state to command, there and back",
    "jitter": "|Time between publications - period|, 1 kHz",
}


def draw(report: BenchReport, path: Path) -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    schedulings = list(dict.fromkeys(d.scheduling for d in report.distributions))
    with pyplot.rc_context(PANELS_STYLE):
        canvas = pyplot.figure(figsize=(13, 15), dpi=130, facecolor="white")
        grid = canvas.add_gridspec(
            4, 2, hspace=0.34, wspace=0.12, left=0.05, right=0.985, top=0.92, bottom=0.035,
            height_ratios=(1, 1, 1, 1.3),
        )  # fmt: skip
        _title(canvas)
        for column, scheduling in enumerate(schedulings[:2]):
            for row, what in enumerate(("reaction", "jitter")):
                axes = canvas.add_subplot(grid[row, column])
                axes.set_title(f"{_HEADINGS[what]}, {scheduling}")
                _histograms(axes, report.distributions, what, scheduling)
        _loops(canvas.add_subplot(grid[2, 0]), report.loops)
        axes = canvas.add_subplot(grid[2, 1])
        axes.set_title(f"{_HEADINGS['reaction']}, {_BUSY}")
        _histograms(axes, report.distributions, f"reaction, {_BUSY}", *schedulings[-1:])
        last = grid[3, :].subgridspec(1, 2, width_ratios=(0.62, 1), wspace=0)
        _ratios(canvas.add_subplot(last[1]), report.of(NODES))
        canvas.savefig(path)
        pyplot.close(canvas)


def _title(canvas: Figure) -> None:
    here = machine()
    canvas.text(
        0.02, 0.977, "How fast and how regular the nodes are, against floors of the same run",
        fontsize=17, fontweight="bold", color=INK, va="center",
    )  # fmt: skip
    canvas.text(
        0.02, 0.952,
        f"7 joints, real processes over DDS, by turns, on {here['processor']}, {here['cores']} "
        f"cores under a load of {here['load']:.1f}. Lines: p50 (solid) and p99 (dotted).",
        fontsize=10, color=GREY, va="center",
    )  # fmt: skip


def _histograms(
    axes: Axes, distributions: Sequence[Distribution], what: str, scheduling: str = ""
) -> None:
    """An outline per node, its share of all times in each bin."""
    found = [d for d in distributions if (d.what, d.scheduling) == (what, scheduling)]
    if not found:
        return _nothing(axes)
    colours = iter(_OURS)
    for it in found:
        colour = _FLOORS.get(it.who) or next(colours)
        _histogram(axes, it, colour, f"{it.who}: {_percentiles(it)}")
    return _time_axis(axes)


def _histogram(axes: Axes, it: Distribution, colour: str, label: str) -> None:
    share = np.array(it.counts) / sum(it.counts)
    axes.stairs(share, it.edges, color=colour, fill=True, alpha=0.25)
    axes.stairs(share, it.edges, color=colour, lw=1.1, label=label)
    axes.axvline(it.p50, color=colour, lw=1)
    axes.axvline(it.p99, color=colour, lw=1, ls=":")


def _time_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    first, last = np.floor(np.log10(axes.dataLim.x0)), np.ceil(np.log10(axes.dataLim.x1))
    first = max(first, _SHORTEST)
    axes.set_xlim(10**first, 10**last)
    decades = range(int(first), int(last) + 1)
    axes.set_xticks([10.0**k for k in decades], [_power(k) for k in decades])
    axes.minorticks_off()
    axes.set_yticks([])
    axes.grid(axis="x", color=FAINT, lw=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, loc="upper right", fontsize=8)


def _power(exponent: int) -> str:
    """Return a power of ten of seconds."""
    return f"{10 ** (exponent % 3)} {('µs', 'ms', 's')[exponent // 3 + 2]}"


def _loops(axes: Axes, loops: Sequence[Loop]) -> None:
    """An outline per plan, of its worst arm."""
    axes.set_title("Closed loops: from a state's publication to its command's (worst arm)")
    if not any(loop.reaction for loop in loops):
        return _nothing(axes)
    for title, colour in zip(dict.fromkeys(loop.title for loop in loops), _OURS, strict=False):
        arms = [loop for loop in loops if loop.title == title]
        if slowest := slowest_reaction(arms):
            name = f"{title}, {arms[0].joints} joints, {arms[0].rate:g} Hz"
            _histogram(axes, slowest, colour, f"{name}: {_percentiles(slowest)}")
    return _time_axis(axes)


def _ratios(axes: Axes, results: Sequence[Result]) -> None:
    """A bar per figure that has a target."""
    axes.set_title("Ratios that have a target (black, at most)")
    judged = [r for r in results if r.target]
    if not judged:
        return _nothing(axes)
    for k, r in enumerate(judged):
        axes.barh(-k, r.ratio, 0.7, color=BLUE if r.is_met else RED)
        axes.plot([r.bound] * 2, (-k - 0.42, 0.42 - k), color="black", lw=1.8)
        axes.annotate(
            rounded(r.ratio), (max(r.ratio, r.bound), -k),
            (4, 0), textcoords="offset points", va="center", fontsize=7.5, color=GREY,
        )  # fmt: skip
    labels = [f"{_short(r.remark)}: {r.algorithm}, to {r.peer}" for r in judged]
    axes.set_yticks([-k for k in range(len(judged))], labels, fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, None)
    axes.grid(axis="x", color=FAINT, lw=0.6)
    axes.set_axisbelow(True)
    return None


def _short(remark: str) -> str:
    """Return whose and how scheduled; the table has what disturbed."""
    left_out = ("answers", "given up", OWN_WAIT_SET)
    return ", ".join(
        part for part in remark.split(", ") if not any(word in part for word in left_out)
    )


def _percentiles(it: Distribution) -> str:
    return f"{duration(it.p50)}, {duration(it.p99)}, longest {duration(it.longest)}"


def _nothing(axes: Axes) -> None:
    axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=GREY)
