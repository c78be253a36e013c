"""Time the dynamics against Pinocchio and MuJoCo, and the nodes against minimal ones, side by side.

Our calls and a peer's alternate in short blocks in one process, and neighbouring blocks are
compared, because on a noisy machine only the ratio means anything. Both must first compute the
same result. Prints one table per section with each ratio and its target, for every instruction set
of the processor; draws a picture and writes JSON. Peers that are not installed are listed.

The nodes part starts real nodes over DDS. It measures how quickly the controller answers a joint
state (alone, with a busy interpreter, beside hostile nodes) and how regularly the twin publishes,
compared with nodes that only echo and a loop that only sleeps; how long a control cycle takes,
from message to message; and what closed loops lose. To include a C++ node, set
FEATHERSTONE_RCLCPP_ECHO to a program that answers joint_states on ~/commands.

Examples:
  featherstone-ros bench
  featherstone-ros bench --quick                    a few rounds: does it run?
  featherstone-ros bench --robot ur5e --robot my_arm.urdf
  featherstone-ros bench --only single --only growth
  featherstone-ros bench --only nodes --minutes 10   one loop at 1 kHz, 10 min
  featherstone-ros bench --callgrind                 instructions, with valgrind
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from featherstone_ros.tools.options import positive
from featherstone_ros.tools.style import new_console

if TYPE_CHECKING:
    from featherstone_ros.tools.bench.report import BenchReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from featherstone_ros.tools.bench.sections import SECTIONS

    parser.add_argument(
        "--robot",
        action="append",
        metavar="NAME|PATH",
        help="panda, ur5e, or a URDF file; may be repeated (default: a Panda, a UR10, a humanoid, "
        "and a table of all of example-robot-data)",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=tuple(SECTIONS),
        metavar="SECTION",
        help=f"one of {', '.join(SECTIONS)}; may be repeated (default: all)",
    )
    parser.add_argument("--quick", action="store_true", help="a few rounds on one robot")
    parser.add_argument(
        "--minutes",
        type=positive,
        default=0.5,
        metavar="M",
        help="how long a closed loop of both nodes runs at 1 kHz (default: 0.5; --quick: 2 s)",
    )
    parser.add_argument(
        "--callgrind",
        action="store_true",
        help="count the instructions of each call under valgrind instead of timing it",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("bench"),
        metavar="FOLDER",
        help="folder for report.png, nodes.png and report.json (default: bench)",
    )


def run(args: argparse.Namespace) -> int:
    """Race, print and draw.

    Returns:
        0; 1 if something was not raced because the results differ.
    """
    from featherstone_ros.tools.bench.sections import SECTIONS
    from featherstone_ros.tools.bench.session import Session

    console = new_console()
    args.output.mkdir(parents=True, exist_ok=True)
    if args.callgrind:
        return _count(args.robot, args.output, console)
    wanted = args.only or list(SECTIONS)
    report = Session(wanted, args.robot, args.quick, args.minutes).run(console)
    console.print(report.tables())
    if args.quick:
        console.print("[yellow]A quick run has too few rounds for its figures to mean anything.")
    report.write_json(args.output / "report.json")
    pictures = _draw(report, args.output) if find_spec("matplotlib") else []
    console.print(f"[dim]in {args.output}/: {', '.join(['report.json', *pictures])}")
    if not find_spec("matplotlib"):
        console.print("[dim]for pictures: pip install matplotlib")
    return 1 if report.disagreements else 0


def _draw(report: BenchReport, output: Path) -> list[str]:
    """Draw what was measured; return the pictures' names."""
    from featherstone_ros.tools.bench import picture
    from featherstone_ros.tools.bench.nodes import picture as picture_of_nodes

    drawn = []
    if report.has_races:
        picture.draw(report, output / "report.png")
        drawn.append("report.png")
    if report.distributions:
        picture_of_nodes.draw(report, output / "nodes.png")
        drawn.append("nodes.png")
    return drawn


def _count(robots: list[str] | None, output: Path, console: Console) -> int:
    from featherstone_ros.tools.bench import callgrind

    with console.status("counting instructions: a minute or two"):
        counts = callgrind.count(robots)
    console.print(callgrind.table(counts))
    (output / "callgrind.json").write_text(json.dumps(callgrind.as_dict(counts), indent=1) + "\n")
    console.print(f"[dim]in {output}/: callgrind.json")
    return 0
