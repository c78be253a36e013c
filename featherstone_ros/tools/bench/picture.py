"""The result as a picture: ratios and their targets, growth, all robots, instruction sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featherstone_ros.tools.bench.instruction_sets import NAMES, in_use
from featherstone_ros.tools.bench.report import BenchReport, machine
from featherstone_ros.tools.bench.results import Result
from featherstone_ros.tools.bench.words import rounded
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, PANELS_STYLE, RED, YELLOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {True: BLUE, False: RED, None: "#9fb4c6"}  # a target met, missed, not set
_ALGORITHMS = {"rnea": BLUE, "aba": YELLOW, "crba": "#7a9a3a"}
_RACES = {
    "single": "one call, against Pinocchio's",
    "batch": "a state in a batch, against Pinocchio's call",
    "further": "matrices and derivatives, against Pinocchio's",
    "simulation": "a step, against MuJoCo's",
}


def draw(report: BenchReport, path: Path) -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(PANELS_STYLE):
        canvas = pyplot.figure(figsize=(13, 10), dpi=130, facecolor="white")
        grid = canvas.add_gridspec(
            1, 2, width_ratios=(1, 1.05), wspace=0.14,
            left=0.15, right=0.985, top=0.885, bottom=0.05,
        )  # fmt: skip
        left = grid[0].subgridspec(2, 1, height_ratios=(6, 1), hspace=0.16)
        right = grid[1].subgridspec(3, 1, height_ratios=(1, 1, 1.7), hspace=0.38)
        _title(canvas, report)
        _ratios(canvas.add_subplot(left[0]), report)
        _threads(canvas.add_subplot(left[1]), report.of("threads"))
        _robots(canvas.add_subplot(right[0]), report.of("robots"))
        _growth(canvas.add_subplot(right[1]), report.of("growth"))
        _instruction_sets(canvas.add_subplot(right[2]), report)
        canvas.savefig(path)
        pyplot.close(canvas)


def _title(canvas: Figure, report: BenchReport) -> None:
    canvas.text(
        0.02, 0.965, "How long a call takes, as a share of the peer's in the same run",
        fontsize=17, fontweight="bold", color=INK, va="center",
    )  # fmt: skip
    versions = machine()["versions"]
    peers = [
        f"{name} {versions[package]}"
        for package, name in {"pin": "Pinocchio", "mujoco": "MuJoCo"}.items()
        if versions[package]
    ]
    canvas.text(
        0.02, 0.928,
        f"From Python, on {machine()['processor']}, {in_use()} ({NAMES.get(in_use(), '')}); peers: "
        f"{' and '.join(peers) or 'none'}. Medians of interleaved runs.",
        fontsize=10, color=GREY, va="center",
    )  # fmt: skip


def _ratios(axes: Axes, report: BenchReport) -> None:
    """A bar per race, a mark per target, on a logarithmic axis on which the peer is 1."""
    axes.set_title("Ratio to the peer (black: the target, at most)")
    y, labels = 0.0, {}
    for section, heading in _RACES.items():
        results = report.of(section)
        if not results:
            continue
        axes.text(0.0083, -y, heading, color=GREY, style="italic", va="center")
        y += 1
        for before, r in zip([None, *results], results, strict=False):
            y += 0.35 if before and before.robot != r.robot else 0
            _bar(axes, -y, r)
            labels[-y] = f"{r.robot}  {r.algorithm}"
            y += 1
        y += 0.5
    axes.set_yticks(list(labels), list(labels.values()), fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-y + 0.6, 0.8)
    axes.set_xscale("log")
    axes.set_xlim(0.008, 1.3)
    marks = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
    axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axes.minorticks_off()
    axes.grid(axis="x", color=FAINT, lw=0.6)
    axes.set_axisbelow(True)


def _bar(axes: Axes, y: float, result: Result) -> None:
    axes.barh(y, result.ratio, 0.74, color=_colour(result))
    bound = result.bound if result.target else 0.0
    if bound:
        axes.plot((bound, bound), (y - 0.42, y + 0.42), color="black", lw=1.8)
    axes.annotate(
        rounded(result.ratio), (max(result.ratio, bound), y),
        (4, 0), textcoords="offset points", va="center", fontsize=7.5, color=GREY,
    )  # fmt: skip


def _colour(result: Result) -> str:
    return _COLOURS[result.is_met]


def _threads(axes: Axes, results: Sequence[Result]) -> None:
    """A point per race: throughput of two threads over that of one."""
    axes.set_title("Two threads: throughput of one, times (black: at least)")
    if not results:
        return _nothing(axes)
    names = [f"{r.robot}  {r.algorithm.partition(',')[0]}" for r in results]
    rows = {name: -k for k, name in enumerate(dict.fromkeys(names))}
    for name, r in zip(names, results, strict=True):
        axes.plot(r.ratio, rows[name], "o", ms=5, color=_colour(r))
    axes.axvline(results[0].bound, color="black", lw=1.8)
    axes.set_yticks(list(rows.values()), list(rows), fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.set_xlim(0, 2.1)
    axes.grid(axis="x", color=FAINT, lw=0.6)


def _robots(axes: Axes, results: Sequence[Result]) -> None:
    """Ratios of all robots, sorted, a line per algorithm."""
    axes.set_title("Every robot of example-robot-data, from its best to its worst")
    if not results:
        return _nothing(axes)
    for algorithm, colour in _ALGORITHMS.items():
        ratios = sorted(r.ratio for r in results if r.algorithm == algorithm)
        axes.plot(range(1, len(ratios) + 1), ratios, ".-", ms=4, lw=0.8, color=colour)
        axes.plot([], [], lw=2, color=colour, label=algorithm)
    axes.axhline(results[0].bound, color="black", lw=1.2)
    axes.set_ylim(0, None)
    axes.set_xlabel("robots")
    axes.set_ylabel("ratio to Pinocchio")
    axes.legend(frameon=False, ncols=3, loc="lower right")


def _growth(axes: Axes, results: Sequence[Result]) -> None:
    """Time of an added link over the length of the chain."""
    axes.set_title("Growth: time of an added link in a chain (band: the target)")
    if not results:
        return _nothing(axes)
    for algorithm in dict.fromkeys(r.algorithm for r in results):
        rows = [r for r in results if r.algorithm == algorithm]
        links, times = [r.n for r in rows], 1e9 * rows[0].ours * np.array([r.ratio for r in rows])
        band, colour = times[0] * rows[0].bound, _ALGORITHMS[algorithm]
        axes.fill_between(links, times[0] - band, times[0] + band, color=colour, alpha=0.13, lw=0)
        axes.plot(links, times, "o-", ms=4, lw=1.2, color=colour, label=algorithm)
    axes.set_xscale("log")
    axes.set_ylim(0, None)
    axes.set_xticks(links, [str(n) for n in links])
    axes.minorticks_off()
    axes.set_xlabel("links")
    axes.set_ylabel("ns")
    axes.legend(frameon=False, ncols=2, loc="lower right")


def _instruction_sets(axes: Axes, report: BenchReport) -> None:
    """Ratios and targets on each instruction set, as a table."""
    axes.set_axis_off()
    axes.set_title("By instruction set: ratio to Pinocchio (target)")
    columns = report.instruction_sets
    rows = [r for section in ("single", "batch") for r in report.of(section)]
    if not rows:
        _nothing(axes)
        return
    heights = iter(np.linspace(0.97, 0.0, len(rows) + 2))
    _row(axes, next(heights), "", list(columns), [INK] * len(columns))
    _row(axes, next(heights), "", [_kind(*item) for item in columns.items()], [GREY] * len(columns))
    for row in rows:
        found = [report.counterpart(row, name) for name in columns]
        cells = [f"{rounded(r.ratio)}  ({r.bound:.3g})" if r else "–" for r in found]
        kind = "one call" if row.section == "single" else "batch"
        colours = [_colour(r) if r else GREY for r in found]
        _row(axes, next(heights), f"{row.robot} {row.algorithm}, {kind}", cells, colours)


def _kind(instruction_set: str, state: str) -> str:
    return NAMES.get(instruction_set, "") if state == "raced" else "not here"


def _row(axes: Axes, y: float, head: str, cells: Sequence[str], colours: Sequence[str]) -> None:
    style: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "fontsize": 8.5}
    axes.text(0.0, y, head, color=INK, **style)
    for k, (cell, colour) in enumerate(zip(cells, colours, strict=True)):
        x = 0.36 + 0.64 * (k + 0.5) / len(cells)
        axes.text(x, y, cell, ha="center", color=colour, **style)


def _nothing(axes: Axes) -> None:
    axes.text(0.5, 0.5, "not raced", transform=axes.transAxes, ha="center", color=GREY)
