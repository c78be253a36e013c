"""Time the dynamics against Pinocchio and MuJoCo, and the nodes against minimal ones, side by side.

Our calls and a peer's take turns in one process, and neighbouring turns are compared, because on a
noisy machine only the ratio means anything. All must compute the same. Prints tables of medians
and ratios, for every instruction set of the processor; draws pictures and writes JSON. What is not
installed is named.

The nodes part starts real nodes over DDS and measures how quickly the controller answers a joint
state (alone, with a busy interpreter, beside hostile nodes), how regularly the twin publishes, a
closed loop of both, and a control cycle from message to message. To include a C++ node, set
FEATHERSTONE_RCLCPP_ECHO to a program that answers joint_states on ~/commands.

Examples:
  make bench
  make bench ARGS=--quick                            a moment of each: does everything run?
  make bench ARGS="--robot my_arm.urdf -k rnea"      other arguments are pytest's
  make bench ARGS="--only nodes"
  make bench ARGS=--callgrind                        count instructions, with valgrind
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import featherstone_ros as fr
from benchmarks import callgrind, report
from benchmarks.cases import missing
from featherstone_ros.errors import GET_ROS, FeatherstoneError
from featherstone_ros.tools.interruption import ended_by_signals
from featherstone_ros.tools.style import new_console

# What is timed on every instruction set.
ON_EVERY_SET = "(single or batch) and (rnea or aba or crba) and not (derivatives or step or free)"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]


def arguments() -> tuple[argparse.Namespace, list[str]]:
    """Return the command's arguments, and those that pytest is to get."""
    parser = argparse.ArgumentParser(
        prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a moment of each, on one robot")
    parser.add_argument("--only", choices=("calls", "nodes"), help="default: both")
    parser.add_argument(
        "--robot", action="append", metavar="NAME|PATH",
        help="panda, ur5e, or a URDF file; may be repeated (default: a Panda, a UR10, a humanoid, "
        "and all of example-robot-data)",
    )  # fmt: skip
    parser.add_argument("--callgrind", action="store_true", help="count instructions, not time")
    parser.add_argument("--output", type=Path, default=Path("bench"), metavar="FOLDER")
    return parser.parse_known_args()


def main() -> int:
    """Measure, print and draw; return the exit status: 1 if calls do not compute the same."""
    args, for_pytest = arguments()
    args.output.mkdir(parents=True, exist_ok=True)
    console, status = new_console(), 0
    written: dict[str, Any] = {"machine": machine(), "missing": missing()}
    default = fr._core.instruction_set
    if args.callgrind:
        rows = report.rows(callgrind.count(args.quick, args.robot))
        report.show(console, rows, default, "instructions")
        written["instructions"] = [asdict(row) for row in rows]
    elif args.only != "nodes" and not find_spec("pytest_benchmark"):
        remedy = "pip install pytest-benchmark"
        written["missing"].append(f"pytest-benchmark is not installed ({remedy}): no calls timed")
    elif args.only != "nodes":
        status, timings = time_calls(args, for_pytest)
        rows = report.rows(timings)
        report.show(console, rows, default)
        written["calls"] = [asdict(row) for row in rows]
        if find_spec("matplotlib"):
            mine = [row for row in rows if row.instruction_set == default]
            report.draw(mine, subtitle(written["machine"]), args.output / "calls.png")
    if not args.callgrind and args.only != "calls":
        if find_spec("rclpy"):
            from benchmarks.nodes import measure

            written["nodes"] = measure.measure(args.quick, console, args.output)
        else:
            written["missing"].append(f"rclpy is not installed ({GET_ROS}): no nodes were measured")
    for text in written["missing"]:
        console.print(f"[yellow]{text}.")
    if args.quick:
        console.print("[yellow]A quick run is too short for its figures to mean anything.")
    (args.output / "report.json").write_text(json.dumps(written, indent=1) + "\n")
    console.print(f"[dim]in {args.output}/: {', '.join(sorted(os.listdir(args.output)))}")
    return status


def time_calls(args: argparse.Namespace, for_pytest: list[str]) -> tuple[int, list[dict[str, Any]]]:
    """Have pytest time the calls, on each instruction set; return its status and its findings."""
    found: list[dict[str, Any]] = []
    statuses = []
    # Within another pytest, as its worker, nothing would be timed.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    for name in fr._core.supported():
        chosen = [] if name == fr._core.instruction_set else ["-k", ON_EVERY_SET]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "timings.json")
            command = [*PYTEST, str(Path(__file__).with_name("test_calls.py"))]
            command += ["--benchmark-quiet", f"--benchmark-json={file}", *chosen, *for_pytest]
            command += ["--quick"] * args.quick
            command += [f"--robot={robot}" for robot in args.robot or ()]
            print(f"timing calls on {name}", flush=True)
            done = subprocess.run(command, env={**clean, callgrind.VARIABLE: name}, check=False)
            statuses.append(done.returncode)
            text = file.read_text() if file.exists() else ""
            found += json.loads(text)["benchmarks"] if text else []
    if not found:
        raise FeatherstoneError(f"nothing was timed; pytest ended with status {max(statuses)}")
    return max(statuses), found


def machine() -> dict[str, Any]:
    """Return what else the figures depend on: processor, load, versions."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    packages = ("numpy", "pin", "mujoco", "example-robot-data", "pytest-benchmark")
    installed = {name: version(name) for name in packages}
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "instruction_set": fr._core.instruction_set,
        "versions": {"python": platform.python_version(), **installed},
    }


def version(package: str) -> str | None:
    """Return a package's version, None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def subtitle(here: dict[str, Any]) -> str:
    """Return what a picture's figures depend on."""
    versions = here["versions"]
    peers = {"Pinocchio": versions["pin"], "MuJoCo": versions["mujoco"]}
    named = " and ".join(f"{name} {number}" for name, number in peers.items() if number)
    return (
        f"From Python, on {here['processor']}, {here['instruction_set']}; "
        f"peers: {named or 'none'}. Medians of turns."
    )


if __name__ == "__main__":
    try:
        with ended_by_signals(for_good=True):
            sys.exit(main())
    except FeatherstoneError as error:
        sys.exit(f"make bench: {error}")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
