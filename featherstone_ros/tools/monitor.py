"""Watch the nodes: state, latency, jitter, overruns, lost messages, interventions of the governor.

Shows every feedforward_controller and digital_twin on /diagnostics, in any namespace. A
controller's latency runs from the arrival of a joint state to the publication of its command; a
twin's from a command to the next state, which may be a whole period. Jitter is the deviation of the
period. Both cover the last second. An overrun is a command later than deadline.cycle_time (without
one: later than the next state), or a period of the twin that began more than one period late.
Counts begin when the node is configured.

Writes one line per node and second, until Ctrl-C.

Examples:
  featherstone-ros monitor
  featherstone-ros monitor --once           exit status 1 if a node has an error
  featherstone-ros monitor --once --timeout 30   wait that long for a first node
  featherstone-ros monitor > nodes.log
  ROS_DOMAIN_ID=42 featherstone-ros monitor      another domain, e.g. the demo's
"""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from featherstone_ros.text import plain
from featherstone_ros.tools.options import add_number, positive
from featherstone_ros.tools.result import Console, Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from featherstone_ros.tools.node_status import NodeStatus
    from featherstone_ros.tools.rclpy_calls import DiagnosticsListener

POLL = 0.25  # [s]
QUIET = 5.0  # [s] without any node, after which that is said
ROUND = 1.5  # [s] within which every node reports once
LONGEST = 10  # characters of a value
# What the diagnostics say, by its name in the line; the first key that a node has counts.
TIMES = (
    ("latency p50", ("latency p50 [us]",)),
    ("p99", ("latency p99 [us]",)),
    ("max", ("latency max [us]",)),
    ("jitter p99", ("period jitter p99 [us]",)),
    ("max", ("period jitter max [us]",)),
)
COUNTS = (
    ("overruns", ("overruns",)),
    ("lost", ("states lost", "commands lost")),
    ("saturated", ("commands saturated",)),
    ("governor", ("governor interventions",)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.set_defaults(needs_ros=True)
    parser.add_argument(
        "--once",
        action="store_true",
        help="one line per node; exit status 1 if a node is at ERROR or none is heard",
    )
    text = "how long --once waits for the first node"
    add_number(parser, "--timeout", "S", positive, 5.0, text)


def run(args: argparse.Namespace, console: Console) -> Result:
    """Write a line for each node and second until Ctrl-C."""
    from featherstone_ros.tools.rclpy_calls import DiagnosticsListener

    with DiagnosticsListener("monitor") as listener:
        if args.once:
            return Result(status=_once(listener, console, args.timeout))
        with suppress(KeyboardInterrupt):
            _follow(listener, console)
    return Result()


def _once(listener: DiagnosticsListener, console: Console, timeout: float) -> int:
    end = time.monotonic() + timeout
    while not listener.table.nodes and time.monotonic() < end:
        listener.spin(min(POLL, max(end - time.monotonic(), 0.0)))
    if not listener.table.nodes:
        console.print(f"no featherstone_ros node heard on /diagnostics in {timeout:g} s")
        return 1
    listener.spin(ROUND)
    _print(listener, console)
    return 1 if listener.table.has_error else 0


def _follow(listener: DiagnosticsListener, console: Console) -> None:
    begin, reported = time.monotonic(), False
    while True:
        listener.spin(1.0)
        if not (listener.table.nodes or reported) and time.monotonic() - begin > QUIET:
            console.print(f"no node of ours heard on /diagnostics in {QUIET:g} s; listening")
            reported = True
        _print(listener, console)


def _print(listener: DiagnosticsListener, console: Console) -> None:
    from rich.text import Text

    from featherstone_ros.control.diagnostics import DiagnosticLevel
    from featherstone_ros.tools.style import LEVEL_STYLES

    now = time.monotonic()
    for status in listener.table.nodes:
        style = LEVEL_STYLES[DiagnosticLevel.ERROR if status.is_silent(now) else status.level]
        text = f"{time.strftime('%H:%M:%S')} {line(status, now)}"
        console.print(Text(text, style=style), soft_wrap=True)
    console.file.flush()


def line(status: NodeStatus, now: float) -> str:
    """Return a node's status in one line. ``now``: steady time [s]."""
    silence = [f"for {now - status.heard:.0f} s"] if status.is_silent(now) else []
    level = "SILENT" if silence else status.level.name
    notes = [f"{part}: {note.message}" for part, note in status.notes.items()]
    said = "; ".join([*silence, status.message, *notes])
    details = ", ".join(filter(None, [*figures(status.values), plain_value(status, "scheduling")]))
    return " | ".join(filter(None, [f"{level:6} {status.name}", status.state, said, details]))


def figures(values: Mapping[str, str]) -> list[str]:
    """Return the figures that a node tells; no times where none was measured in the last second."""
    measured = values.get("latency histogram [us]", "unknown")
    return [
        f"{name} {plain(values[key])[:LONGEST]}"
        for name, keys in (TIMES if measured else ()) + COUNTS
        for key in [key for key in keys if key in values][:1]
    ]


def plain_value(status: NodeStatus, key: str) -> str:
    """Return a detail of a node's status, empty if there is none."""
    return plain(status.values.get(key, ""))
