"""A race to be run, and the results that must agree before it is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.bench.race import TimedCall, disagreement
from featherstone_ros.tools.bench.results import Result, Target, median_and_quartiles
from featherstone_ros.tools.bench.robots import BenchRobot

AGREEMENT = 1e-9  # relative: calls that differ by more are not raced


class DisagreementError(FeatherstoneError):
    """Two calls do not compute the same."""


@dataclass(frozen=True)
class Case:
    """One race to be run.

    Attributes:
        name: What is raced, in words.
        calls: Ours first.
        judge: Makes results of the (rounds, calls) times of a call [s].
        errors: The relative disagreements, which must be rounding errors only.
    """

    name: str
    timed_calls: tuple[TimedCall, ...]
    judge: Callable[[Floats], list[Result]]
    errors: Callable[[], list[float]]

    def check(self) -> None:
        """Raise DisagreementError unless all calls compute the same."""
        worst = max(self.errors())
        if not worst <= AGREEMENT:
            raise DisagreementError(
                f"{self.name}: the results differ by {worst:.2g} of the greatest entry, "
                f"expected at most {AGREEMENT:g}; not raced"
            )


def comparison(
    section: str,
    robot: BenchRobot,
    algorithm: str,
    target: Target | None,
    peer: str,
    unit: str,
    ours: TimedCall,
    theirs: TimedCall,
    remark: str = "",
) -> Case:
    """Return a race of two; the ratio is our time per unit over theirs.

    Args:
        section: Key of ``sections.SECTIONS``.
        robot: Whose dynamics.
        algorithm: What is called.
        target: The bound on the ratio.
        peer: Whose call theirs is.
        unit: What one unit of our call is.
        ours: Our call.
        theirs: Theirs.
        remark: What is particular about it.
    """

    def judge(seconds: Floats) -> list[Result]:
        per_unit = seconds / (ours.units, theirs.units)
        ratio, quartiles = median_and_quartiles(per_unit[:, 0] / per_unit[:, 1])
        mine, its = np.median(per_unit, axis=0)
        return [
            Result(
                section, robot.name, robot.model.n, algorithm, peer, unit, float(mine), float(its),
                float(np.median(seconds[:, 0])), ratio, quartiles, len(seconds), target, remark,
            )
        ]  # fmt: skip

    return Case(
        f"{robot.name} {algorithm}",
        (ours, theirs),
        judge,
        lambda: [disagreement(ours, theirs)],
    )
