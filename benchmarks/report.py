"""What was timed, as tables and a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.cases import OURS, SECTIONS
from featherstone_ros.tools.style import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    PANELS_STYLE,
    YELLOW,
    new_table,
    picture,
)

_WORST = 10  # rows of the table of all robots
_COLOURS = (BLUE, YELLOW, GREEN, GREY)


@dataclass(frozen=True)
class Row:
    """One case."""

    section: str  # key of ``SECTIONS``
    robot: str
    method: str
    instruction_set: str  # what our core was compiled for
    ours: float  # our median time per unit [s]
    peer: str  # whose time theirs is; empty for none
    theirs: float  # [s]; NaN for none
    ratio: float  # median of the ratios of neighbouring turns, ours over theirs; NaN for none


def rows(timings: Iterable[dict[str, Any]]) -> list[Row]:
    """Return what pytest-benchmark has written of each turn, by case."""
    turns: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for timing in timings:
        of = timing["extra_info"]
        case = tuple(of[name] for name in ("section", "robot", "method", "instruction_set"))
        time = timing["stats"]["median"] / of["units"]
        turns.setdefault(case, {}).setdefault(of["contender"], []).append(time)
    found = []
    for (section, robot, method, instruction_set), times in turns.items():
        ours = times[OURS]
        peer = next((name for name in times if name != OURS), "")
        theirs = times.get(peer, [np.nan] * len(ours))
        mine, its, ratio = (float(np.median(x)) for x in (ours, theirs, np.divide(ours, theirs)))
        found.append(Row(section, robot, method, instruction_set, mine, peer, its, ratio))
    return found


def show(console: Console, found: Sequence[Row], default: str, what: str = "time") -> None:
    """Print a table for each section: times, or instructions, and their ratio to the peer's.

    ``found``: of all instruction sets, of which ``default`` is used if nothing is set.
    """
    for section, note in SECTIONS.items():
        here = [row for row in found if row.section == section]
        for name in dict.fromkeys(row.instruction_set for row in here):
            title = section if name == default else f"{section}, {name}"
            of_set = [row for row in here if row.instruction_set == name]
            console.print(_table(title, of_set, duration if what == "time" else "{:,.0f}".format))
            if section == "robots":
                console.print(f"The {_WORST} worst of {len({row.robot for row in here})}.")
        if here:
            peers = " or ".join(sorted({row.peer for row in here} - {""}))
            share = f" Bold: our {what} over that of {peers}." if peers else ""
            console.print(f"[dim]{note}{share}\n")


def _table(title: str, found: Sequence[Row], written: Callable[[float], str]) -> Table:
    """Methods down and robots across, or the worst robots down and methods across."""
    down, across = ("robot", "method") if found[0].section == "robots" else ("method", "robot")
    heads = list(dict.fromkeys(getattr(row, across) for row in found))
    if down == "robot":
        found = sorted(found, key=lambda row: -row.ratio)
    cells = {
        (getattr(row, down), getattr(row, across)): f"{written(row.ours)}{shown_ratio(row.ratio)}"
        for row in found
    }
    table = new_table(title, down)
    for head in heads:
        table.add_column(escape(head), justify="right")
    for name in list(dict.fromkeys(name for name, _ in cells))[
        : _WORST if down == "robot" else None
    ]:
        table.add_row(escape(name), *(cells.get((name, head), "") for head in heads))
    return table


def shown_ratio(ratio: float) -> str:
    """A ratio beside a time; nothing if there is none."""
    if np.isnan(ratio):
        return ""
    return " [bold]" + (f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}").removeprefix("0")


def duration(seconds: float) -> str:
    """A time with three significant digits."""
    for unit, scale in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * scale < 999.5:
            return f"{seconds * scale:#.3g} {unit}".replace(". ", " ")
    return f"{seconds:.3g} s"


def draw(found: Sequence[Row], subtitle: str, path: Path) -> None:
    """Write the picture: ratios of all methods, of all robots, and how time grows."""
    with picture(path, style=PANELS_STYLE) as pyplot:
        canvas = pyplot.figure(figsize=(13, 8.5), dpi=110, facecolor="white")
        grid = canvas.add_gridspec(
            2, 2, width_ratios=(1.1, 1), wspace=0.13, hspace=0.3,
            left=0.16, right=0.985, top=0.87, bottom=0.08,
        )  # fmt: skip
        title = "How long a call takes, as a share of the peer's in the same run"
        canvas.text(0.02, 0.957, title, fontsize=17, fontweight="bold", color=INK, va="center")
        canvas.text(0.02, 0.917, subtitle, fontsize=10, color=GREY, va="center")
        _ratios(canvas.add_subplot(grid[:, 0]), found)
        _robots(canvas.add_subplot(grid[0, 1]), [row for row in found if row.section == "robots"])
        _chains(canvas.add_subplot(grid[1, 1]), [row for row in found if row.section == "chain"])


def _ratios(axes: Any, found: Sequence[Row]) -> None:
    """A line per method, a point per robot; the peer is 1."""
    axes.set_title("Ratio to the peer: Pinocchio, of steps MuJoCo")
    shown = [
        row
        for row in found
        if row.section in ("single", "batch", "simulation") and not np.isnan(row.ratio)
    ]
    labels = {
        (row.section, row.method): f"{row.method}, batch" if row.section == "batch" else row.method
        for row in shown
    }
    for y, label in enumerate(labels):
        ratios = [row.ratio for row in shown if (row.section, row.method) == label]
        axes.plot((min(ratios), max(ratios)), (y, y), color=FAINT, lw=3, zorder=0)
    for robot, colour in zip(dict.fromkeys(row.robot for row in shown), _COLOURS, strict=False):
        points = [
            (row.ratio, list(labels).index((row.section, row.method)))
            for row in shown
            if row.robot == robot
        ]
        axes.plot(*zip(*points, strict=True), "o", ms=5, color=colour, label=robot)
    axes.axvline(1, color=INK, lw=1)
    axes.set_yticks(range(len(labels)), list(labels.values()))
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color=FAINT, lw=0.6)
    if shown:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(-0.2, -0.03), ncols=4)


def _robots(axes: Any, found: Sequence[Row]) -> None:
    """Ratios of all robots, sorted, a line per method."""
    axes.set_title("Every robot of example-robot-data, from its best to its worst")
    for method, colour in zip(dict.fromkeys(row.method for row in found), _COLOURS, strict=False):
        ratios = sorted(row.ratio for row in found if row.method == method)
        axes.plot(range(1, len(ratios) + 1), ratios, ".-", ms=4, lw=0.8, color=colour, label=method)
    axes.set_ylim(0, 1)
    axes.set_xlabel("robots")
    if found:
        axes.legend(frameon=False, ncols=3)


def _chains(axes: Any, found: Sequence[Row]) -> None:
    """Time over the length of the chain."""
    axes.set_title("One call for a chain: ours (line), Pinocchio's (dotted)")
    for method, colour in zip(dict.fromkeys(row.method for row in found), _COLOURS, strict=False):
        chains = [row for row in found if row.method == method]
        links = [int(row.robot.split()[0]) for row in chains]
        style = {"ms": 4, "lw": 1.2, "color": colour}
        axes.plot(links, [1e6 * row.ours for row in chains], "o-", label=method, **style)
        axes.plot(links, [1e6 * row.theirs for row in chains], "o:", **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("links")
    axes.set_ylabel("µs")
    if found:
        axes.legend(frameon=False)
