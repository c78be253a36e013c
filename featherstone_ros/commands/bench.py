"""Time the dynamics against Pinocchio, called from Python side by side.

For each robot and algorithm, blocks of calls to us and to Pinocchio alternate in one process, and
the medians over the blocks are compared: on a noisy machine only the ratio means something. Prints
a table and draws it. Needs Pinocchio: pip install pin

Examples:
  featherstone-ros bench
  featherstone-ros bench --robot ur5e --robot my_arm.urdf --blocks 100
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import featherstone_ros as fr
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.robots import robot_file

CALLS = 500  # per block: long against the clock's resolution, short against the machine's moods


@dataclass(frozen=True)
class Timing:
    """Medians over the blocks, for one algorithm on one robot."""

    robot: str
    algorithm: str
    ours: float  # [s] per call
    pinocchio: float
    ratio: float  # median of the ratios of neighbouring blocks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--robot",
        action="append",
        metavar="NAME|PATH",
        help="panda, ur5e, or a URDF file; may be repeated (default: panda and ur5e)",
    )
    parser.add_argument(
        "--blocks", type=int, default=60, metavar="N", help="blocks of calls each (default: 60)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("bench"),
        metavar="FOLDER",
        help="where report.png goes (default: bench)",
    )


def run(args: argparse.Namespace) -> int:
    """Time, print and draw; returns the exit status."""
    try:
        import pinocchio  # noqa: F401
    except ImportError as error:
        raise FeatherstoneError("the benchmark races Pinocchio: pip install pin") from error
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    console = Console()
    cases = [case for name in args.robot or ["panda", "ur5e"] for case in calls_of(name)]
    timings = [
        race(*case, blocks=args.blocks)
        for case in track(cases, description="timing", console=console, transient=True)
    ]
    table = Table("robot", "algorithm", title="One call from Python, result allocated")
    for heading in ("featherstone_ros [ns]", "Pinocchio [ns]", "ratio"):
        table.add_column(heading, justify="right")
    for timing in timings:
        figures = f"{timing.ours * 1e9:.0f}", f"{timing.pinocchio * 1e9:.0f}", f"{timing.ratio:.2f}"
        table.add_row(timing.robot, timing.algorithm, *figures)
    console.print(table)
    args.output.mkdir(parents=True, exist_ok=True)
    draw(timings, args.output / "report.png")
    console.print(f"picture: {args.output / 'report.png'}")
    return 0


def calls_of(name: str) -> list[tuple[str, str, Callable, Callable]]:
    """Return (robot, algorithm, our call, Pinocchio's call), both bound to the same random state.

    Args:
        name: One of our robots, or a path to a URDF.

    Raises:
        UnknownNameError: There is no such robot or file.
        ModelError: The URDF cannot be used.
    """
    import pinocchio

    path = robot_file(name)
    model = fr.Model.from_file(path)
    dynamics = fr.Dynamics(model)
    peer = pinocchio.buildModelFromUrdf(str(path))
    data = peer.createData()
    q, qd, x = np.random.default_rng(0).uniform(-1, 1, (3, model.n))
    peer_q, peer_qd, peer_x = pinocchio.neutral(peer), np.zeros(peer.nv), np.zeros(peer.nv)
    for k, joint in enumerate(map(peer.getJointId, model.joint_names)):
        at = peer.idx_qs[joint]
        angle = (np.cos(q[k]), np.sin(q[k])) if peer.nqs[joint] == 2 else (q[k],)
        peer_q[at : at + peer.nqs[joint]] = angle
        peer_qd[peer.idx_vs[joint]], peer_x[peer.idx_vs[joint]] = qd[k], x[k]

    robot = model.name or path.stem
    theirs = {
        "rnea": partial(pinocchio.rnea, peer, data, peer_q, peer_qd, peer_x),
        "aba": partial(pinocchio.aba, peer, data, peer_q, peer_qd, peer_x),
        "crba": partial(pinocchio.crba, peer, data, peer_q),
    }
    ours = {
        "rnea": partial(dynamics.rnea, q, qd, x),
        "aba": partial(dynamics.aba, q, qd, x),
        "crba": partial(dynamics.crba, q),
    }
    return [(robot, name, ours[name], theirs[name]) for name in ours]


def race(robot: str, algorithm: str, ours: Callable, pinocchio: Callable, blocks: int) -> Timing:
    """Alternate blocks of calls and take medians."""
    seconds = np.array([[block(ours), block(pinocchio)] for _ in range(blocks)])
    mine, theirs = np.median(seconds, axis=0)
    return Timing(robot, algorithm, mine, theirs, np.median(seconds[:, 0] / seconds[:, 1]))


def block(call: Callable) -> float:
    """Return the time of one call, averaged over a block [s]."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS


def draw(timings: list[Timing], path: Path) -> None:
    """Draw one pair of bars per timing."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 0.5 * len(timings) + 1.5), layout="constrained")
    rows = np.arange(len(timings))[::-1]
    for shift, label, colour in ((0.2, "featherstone_ros", "C0"), (-0.2, "Pinocchio", "0.7")):
        widths = [t.ours if label == "featherstone_ros" else t.pinocchio for t in timings]
        axes.barh(rows + shift, 1e9 * np.array(widths), 0.38, label=label, color=colour)
    for row, timing in zip(rows, timings, strict=True):
        axes.annotate(f" {timing.ratio:.2f}", (1e9 * timing.ours, row + 0.2), va="center")
    axes.set_yticks(rows, [f"{t.robot} {t.algorithm}" for t in timings])
    axes.set_xlabel("one call from Python [ns] (and its ratio to Pinocchio's)")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
