"""Turns blocks of measurements into results: comparisons, and their targets.

Each block is compared with its neighbour, and the median of these ratios counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.tools.bench.nodes.conditions import COST, LONGEST, LOST, MEDIAN, P99
from featherstone_ros.tools.bench.results import Result, Target, median_and_quartiles
from featherstone_ros.tools.robot_setup import RobotSetup

JITTER = Target(1.3)


@dataclass(frozen=True)
class BlockPlan:
    """How long is measured.

    Attributes:
        block: How long one node has its turn [s]; a stopped process is forgotten after 20 s.
        rounds: How often each has.
    """

    block: float
    rounds: int


@dataclass(frozen=True)
class Block:
    """What one turn measured.

    Attributes:
        latency: (N,) from state to command [s].
        cost: Processor time per state [s].
        late: Number of states whose command took more than a tenth of a second.
        lost: Number of states without a command, also in turns that were repeated.
        follows: Whether the node followed the trajectory, if it was sent one.
    """

    latency: Floats
    cost: float
    late: int
    lost: int
    follows: bool = True


def judge_reaction(
    name: str,
    robot: RobotSetup,
    scheduling: str,
    ours: Sequence[Block],
    theirs: Sequence[Block],
    bounds: Mapping[str, Target],
    peer: str = "echo",
) -> list[Result]:
    """Compare the blocks of a node with those of a peer in the same rounds.

    Percentiles are taken in each block; the ratio is the median of the rounds' ratios. The longest
    time is that of all rounds. Lost states are not compared: their number is bounded.
    """
    figures: tuple[tuple[str, Callable[[Block], float]], ...] = (
        (MEDIAN, lambda block: float(np.median(block.latency))),
        (P99, lambda block: float(np.percentile(block.latency, 99))),
        (LONGEST, lambda block: float(block.latency.max())),
        (COST, lambda block: block.cost),
    )
    remark = _remark(name, scheduling, ours, theirs, peer)
    results = []
    for what, figure in figures:
        mine, its = (np.array([figure(block) for block in blocks]) for blocks in (ours, theirs))
        ratio, quartiles = median_and_quartiles(mine / its)
        middle = np.max if what == LONGEST else np.median
        a, b = float(middle(mine)), float(middle(its))
        results.append(
            Result(
                "nodes", robot.name, robot.model.n, what, peer, "state", a, b, a,
                a / b if middle is np.max else ratio, quartiles, len(ours), bounds.get(what),
                remark,
            )
        )  # fmt: skip
    if LOST in bounds:
        lost, its_lost = (float(sum(b.lost for b in blocks)) for blocks in (ours, theirs))
        results.append(
            Result(
                "nodes", robot.name, robot.model.n, LOST, peer, "state", lost, its_lost, lost,
                lost, (lost, lost), len(ours), bounds[LOST], remark,
            )
        )  # fmt: skip
    return results


def _remark(
    name: str, scheduling: str, ours: Sequence[Block], theirs: Sequence[Block], peer: str
) -> str:
    """Return whose figures these are, and what disturbed them."""
    idle = sum(not block.follows for block in ours)
    remark = f"{name}, {scheduling}"
    for what in ("late", "lost"):
        count, its = (sum(getattr(block, what) for block in blocks) for blocks in (ours, theirs))
        if count:
            remark += f", {count} answers {what} ({its} of {peer}'s)"
    if idle:
        remark += f", trajectory given up in {idle} of {len(ours)} turns"
    return remark


def judge_jitter(
    robot: RobotSetup, scheduling: str, ours: Sequence[Floats], theirs: Sequence[Floats]
) -> list[Result]:
    """Compare the deviations in each block [s] with those in the block after it."""
    results = []
    for what, share, target in (("jitter, median", 50, None), ("jitter, p99", 99, JITTER)):
        mine, its = ([np.percentile(block, share) for block in blocks] for blocks in (ours, theirs))
        ratio, quartiles = median_and_quartiles(np.divide(mine, its))
        a, b = float(np.median(mine)), float(np.median(its))
        results.append(
            Result(
                "nodes", robot.name, robot.model.n, what, "sleeping loop", "period", a, b, a,
                ratio, quartiles, len(mine), target, f"twin, {scheduling}",
            )
        )  # fmt: skip
    return results
