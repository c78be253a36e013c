"""From blocks of measurements to results: what is compared, and what it is held against.

Each block is compared with its neighbour, and the median of these ratios counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.bench.results import Result, Target, median_and_quartiles
from featherstone_ros.demo.robot import Robot

REACTION = Target(0.5)
JITTER = Target(2.0)


@dataclass(frozen=True)
class Pace:
    """How long is measured.

    Attributes:
        block: How long one node has its turn [s]; a stopped process is forgotten after 20 s.
        rounds: How often each has.
    """

    block: float
    rounds: int


@dataclass(frozen=True)
class Block:
    """What one turn came to.

    Attributes:
        latency: (N,) from state to command [s].
        cost: Processor time per state [s].
        unanswered: Number of states.
        follows: Whether the node followed the trajectory, if it was sent one.
    """

    latency: NDArray
    cost: float
    unanswered: int
    follows: bool = True


def judge_reaction(
    name: str,
    robot: Robot,
    scheduling: str,
    ours: Sequence[Block],
    echo: Sequence[Block],
    bound: Target | None = REACTION,
) -> list[Result]:
    """Compare the blocks of a node with those of the echo node in the same rounds.

    Percentiles are taken in each block; the ratio is the median of the rounds' ratios. Of the
    longest, there is one in all.
    """
    figures: tuple[tuple[str, Callable[[Block], float], Target | None], ...] = (
        ("reaction, median", lambda block: float(np.median(block.latency)), bound),
        ("reaction, p99", lambda block: float(np.percentile(block.latency, 99)), bound),
        ("reaction, longest", lambda block: float(block.latency.max()), None),
        ("processor time", lambda block: block.cost, bound),
    )
    unanswered, too = (sum(block.unanswered for block in blocks) for blocks in (ours, echo))
    idle = sum(not block.follows for block in ours)
    remark = f"{name}, {scheduling}" + (
        f", {unanswered} unanswered ({too} of echo's)" if unanswered else ""
    )
    remark += f", trajectory given up in {idle} of {len(ours)} turns" if idle else ""
    results = []
    for what, figure, target in figures:
        mine, its = (np.array([figure(block) for block in blocks]) for blocks in (ours, echo))
        ratio, quartiles = median_and_quartiles(mine / its)
        middle = np.max if what.endswith("longest") else np.median
        a, b = float(middle(mine)), float(middle(its))
        results.append(
            Result(
                "nodes", robot.name, robot.model.n, what, "echo", "state", a, b, a,
                a / b if middle is np.max else ratio, quartiles, len(ours), target, remark,
            )
        )  # fmt: skip
    return results


def judge_jitter(
    robot: Robot, scheduling: str, ours: Sequence[NDArray], theirs: Sequence[NDArray]
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
