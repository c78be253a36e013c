"""Watch the nodes: state, latency, jitter, overruns, lost messages, interventions of the governor.

Shows every feedforward_controller and digital_twin on /diagnostics, in any namespace. A
controller's latency runs from the arrival of a joint state to the publication of its command; a
twin's from a command to the next state, which may be a whole period. The histogram of latency has
two logarithmic axes; jitter is the deviation of the period. Both cover the last second. An overrun
is a command later than deadline.cycle_time (without one: later than the next state), or a period
of the twin that began more than one period late. Counts begin when the node is configured; yellow
ones deserve attention.

Press q or Ctrl-C to end. Without a terminal it writes one line per node and second.

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
from typing import TYPE_CHECKING

from featherstone_ros.tools.options import add_number, positive, require_ros

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from featherstone_ros.tools.monitor.listen import DiagnosticsListener

REFRESH = 0.25  # [s] between two redraws and polls of the keyboard
QUIET = 5.0  # [s] without any node, after which that is said
ROUND = 1.5  # [s] within which every node reports once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--once",
        action="store_true",
        help="print one table and end; exit status 1 if a node is at ERROR or none is heard",
    )
    text = "how long --once waits for the first node"
    add_number(parser, "--timeout", "S", positive, 5.0, text)


def run(args: argparse.Namespace) -> int:
    """Watch the nodes until q or Ctrl-C.

    Returns:
        0; with ``--once`` 1 if a node is at ERROR or none is heard.
    """
    require_ros()
    from featherstone_ros.tools.monitor.listen import DiagnosticsListener
    from featherstone_ros.tools.style import new_console

    console = new_console()
    with DiagnosticsListener("monitor") as listener:
        if args.once:
            return _once(listener, console, args.timeout)
        try:
            (_live if console.is_terminal else _log)(listener, console)
        except KeyboardInterrupt:
            pass
    return 0


def _once(listener: DiagnosticsListener, console: Console, timeout: float) -> int:
    from featherstone_ros.tools.monitor.view import view

    end = time.monotonic() + timeout
    while not listener.table.nodes and time.monotonic() < end:
        listener.spin(min(REFRESH, max(end - time.monotonic(), 0.0)))
    if not listener.table.nodes:
        console.print(f"no featherstone_ros node heard on /diagnostics in {timeout:g} s")
        return 1
    listener.spin(ROUND)
    console.print(view(listener.table.nodes, time.monotonic()))
    return 1 if listener.table.has_error else 0


def _live(listener: DiagnosticsListener, console: Console) -> None:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from featherstone_ros.tools.monitor.keys import single_keys
    from featherstone_ros.tools.monitor.view import view

    def present_view() -> RenderableType:
        return view(listener.table.nodes, time.monotonic())

    try:
        with (
            single_keys() as typed,
            Live(present_view(), console=console, screen=True, auto_refresh=False) as live,
        ):
            while "q" not in typed():
                listener.spin(REFRESH)
                live.update(Group(present_view(), Text("q: quit", style="dim")), refresh=True)
    finally:
        console.print(present_view())  # the last view stays on the terminal


def _log(listener: DiagnosticsListener, console: Console) -> None:
    from featherstone_ros.tools.monitor.lines import line

    begin, told = time.monotonic(), False
    while True:
        listener.spin(1.0)
        now = time.monotonic()
        if not listener.table.nodes and not told and now - begin > QUIET:
            print(f"no node of ours heard on /diagnostics in {QUIET:g} s; listening", flush=True)
            told = True
        for status in listener.table.nodes:
            print(time.strftime("%H:%M:%S"), line(status, now), flush=True)
