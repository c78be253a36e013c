"""Time the dynamics against Pinocchio and MuJoCo, side by side.

Calls to us and to a peer alternate in short blocks in one process, and neighbouring blocks are
compared: on a noisy machine only the ratio means something. First both must compute the same.
Prints a table per question, each ratio beside its target, for all instruction sets that the
processor has; draws the result, and writes it as JSON. Peers that are not installed are named.

Examples:
  featherstone-ros bench
  featherstone-ros bench --quick                          a few rounds: does everything run?
  featherstone-ros bench --robot ur5e --robot my_arm.urdf
  featherstone-ros bench --only single --only growth
  featherstone-ros bench --callgrind                      count instructions, with valgrind
"""

import argparse
import json
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from featherstone_ros.bench.sections import SECTIONS

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
        "--callgrind",
        action="store_true",
        help="count the instructions of each call under valgrind instead of timing it",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("bench"),
        metavar="FOLDER",
        help="where report.png and report.json go (default: bench)",
    )


def run(args: argparse.Namespace) -> int:
    """Race, print and draw.

    Returns:
        0; 1 if something was not raced because the results differ.
    """
    from featherstone_ros.bench.picture import draw
    from featherstone_ros.bench.sections import SECTIONS
    from featherstone_ros.bench.session import Session

    console = Console()
    args.output.mkdir(parents=True, exist_ok=True)
    if args.callgrind:
        return _count(args.robot, args.output, console)
    report = Session(args.only or list(SECTIONS), args.robot, args.quick).run(console)
    console.print(report.tables())
    if args.quick:
        console.print("[yellow]A quick run has too few rounds for its figures to mean anything.")
    report.write_json(args.output / "report.json")
    if find_spec("matplotlib"):
        draw(report, args.output / "report.png")
        console.print(f"[dim]in {args.output}/: report.json, report.png")
    else:
        console.print(f"[dim]in {args.output}/: report.json; for a picture: pip install matplotlib")
    return 1 if report.disagreements else 0


def _count(robots: list[str] | None, output: Path, console: Console) -> int:
    from featherstone_ros.bench import callgrind

    with console.status("counting instructions: a minute or two"):
        counts = callgrind.count(robots)
    console.print(callgrind.table(counts))
    (output / "callgrind.json").write_text(json.dumps(callgrind.as_dict(counts), indent=1) + "\n")
    console.print(f"[dim]in {output}/: callgrind.json")
    return 0
