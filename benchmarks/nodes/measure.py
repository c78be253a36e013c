"""Measures the nodes one after the other; shows it as tables and a picture."""

import logging
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rich.console import Console

from benchmarks.nodes import cycle, loops, reaction
from benchmarks.nodes.processes import DEFAULT, FIFO, may_be_fifo
from benchmarks.nodes.reaction import Turns
from benchmarks.report import duration, shown_ratio
from featherstone_ros.arrays import Floats
from featherstone_ros.tools.processes import own_domain, raise_priority
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.style import BLUE, FAINT, GREY, PANELS_STYLE, new_table, picture

# Length of a turn [s], how many each has, length of the closed loop [s].
USUAL, QUICK = (2.0, 8, 30.0), (0.3, 1, 2.0)
NOTE = (
    "A process publishes a Panda's joint state and waits for the command, 500 times a second. "
    "floor: the controller's loop without a control law. rclpy echo: a tutorial's node; rclcpp "
    "echo: in C++, see --help. busy interpreter: a thread of Python that never rests, a trajectory "
    "of 1,000 points ten times a second and parameters set 40 times a second. processor: time of "
    "the whole node per state. jitter: |time between two states - period| of a twin at 1 kHz, "
    "beside a loop in C that only sleeps. Medians of turns; bold: the controller's or twin's over "
    "this one's, median of neighbouring turns."
)
Figures = dict[str, Any]
# Of which every turn has one; the median counts, and that of the ratios of neighbouring turns.
BY_TURN: dict[str, Callable[[Turns], Floats]] = {
    "p50": lambda turns: np.array([np.percentile(times, 50) for times in turns.latency]),
    "p99": lambda turns: np.array([np.percentile(times, 99) for times in turns.latency]),
    "processor": lambda turns: np.array(turns.cost),
}


def measure(quick: bool, console: Console, output: Path) -> list[Figures]:
    """Measure all, print the tables and draw the picture; return the figures, for JSON."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    logging.disable(logging.WARNING)  # oddities of the description
    raise_priority(os.getpid())
    robot, context, domain = load("panda"), Context(), own_domain()
    rclpy.init(context=context, domain_id=domain)
    node = Node("bench", context=context, enable_rosout=False, start_parameter_services=False)
    schedulings = [DEFAULT, FIFO] if may_be_fifo() else [DEFAULT]
    found: list[Figures] = []
    block, rounds, length = QUICK if quick else USUAL
    for scheduling in schedulings[-1:] if quick else schedulings:
        place = domain, node, robot, scheduling
        for condition in reaction.conditions(quick):
            print(f"measuring reactions, {condition.name}, {scheduling}", flush=True)
            seen = reaction.measure(*place, condition, block, rounds)
            found += _figures(f"reaction, {condition.name}", scheduling, seen)
        print(f"measuring the twin and a closed loop, {scheduling}", flush=True)
        twin, sleeper = loops.jitter(*place, block, rounds)
        found += _figures("jitter", scheduling, {"twin": twin, "sleeping loop": sleeper})
        closed = {"controller": loops.closed_loop(*place, length)}
        found += _figures("closed loop at 1 kHz", scheduling, closed)
    for name, pause in cycle.PAUSES.items():
        taken = {name: Turns([cycle.durations(robot, pause)])}
        found += _figures("control cycle, bytes to bytes", "", taken)
    node.destroy_node()
    rclpy.shutdown(context=context)
    _show(console, found)
    if find_spec("matplotlib"):
        _draw(found, output / "nodes.png")
    return found


def _figures(what: str, scheduling: str, seen: dict[str, Turns]) -> list[Figures]:
    """Return the figures of each; the first one is compared with the others."""
    first, *_ = seen.values()
    found = []
    for who, turns in seen.items():
        figures: Figures = {"what": what, "who": who, "scheduling": scheduling}
        for name, figure in BY_TURN.items():
            if len(each := figure(turns)):
                figures[name] = float(np.median(each))
                if turns is not first:
                    figures[f"{name} ratio"] = float(np.median(figure(first) / each))
        figures["longest"] = float(max(times.max() for times in turns.latency))
        found.append(figures | {"lost": turns.lost, "turns without motion": turns.idle})
    return found


def _show(console: Console, found: list[Figures]) -> None:
    """Print a table for each thing measured and each scheduling."""
    for title in dict.fromkeys(map(_title, found)):
        table = new_table(title, "")
        for head in (*BY_TURN, "longest", "lost"):
            table.add_column(head, justify="right", no_wrap=True)
        for figures in found:
            if _title(figures) == title:
                cells = [_cell(figures, name) for name in (*BY_TURN, "longest")]
                table.add_row(figures["who"], *cells, str(figures["lost"]))
        console.print(table)
    for figures in found:
        if idle := figures["turns without motion"]:
            text = f"{_title(figures)}: {figures['who']} gave its trajectory up in {idle} turns"
            console.print(f"[yellow]{text}")
    console.print(f"[dim]{NOTE}\n")


def _title(figures: Figures) -> str:
    return ", ".join(filter(None, (figures["what"], figures["scheduling"])))


def _cell(figures: Figures, name: str) -> str:
    if name not in figures:
        return ""
    return duration(figures[name]) + shown_ratio(figures.get(f"{name} ratio", np.nan))


def _draw(found: list[Figures], path: Path) -> None:
    """Write the picture: a line from p50 to p99 for each, a thin one to the longest."""
    with picture(path, style=PANELS_STYLE) as pyplot:
        _, axes = pyplot.subplots(
            figsize=(11, 1 + 0.27 * len(found)), dpi=110, layout="constrained"
        )
        for y, it in enumerate(found):
            colour = BLUE if it["who"].startswith(("controller", "twin")) else GREY
            axes.plot((it["p50"], it["longest"]), (y, y), color=FAINT, lw=1, zorder=0)
            axes.plot((it["p50"], it["p99"]), (y, y), color=colour, lw=3)
            axes.plot(it["p50"], y, "o", color=colour)
        names = [f"{it['who']}, {_title(it)}" for it in found]
        axes.set_yticks(range(len(found)), names, fontsize=8)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("s")
        axes.set_title("Latency of the nodes: p50 (point), p99 (line), longest (thin line)")
        axes.grid(axis="x", color=FAINT, lw=0.6)
