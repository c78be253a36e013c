"""Results of the races, and their targets."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats


@dataclass(frozen=True)
class Target:
    """A bound on a ratio: ``at most``, ``at least``, or ``within`` so much of 1."""

    bound: float
    sense: str = "at most"

    def is_met_by(self, ratio: float) -> bool:
        """Tell whether the ratio keeps the bound."""
        if self.sense == "within":
            return abs(ratio - 1) <= self.bound
        return ratio >= self.bound if self.sense == "at least" else ratio <= self.bound

    def __str__(self) -> str:
        """Return e.g. ``≤ 0.20``."""
        if self.sense == "within":
            return f"1 ± {self.bound:.2f}"
        sign = "≥" if self.sense == "at least" else "≤"
        return f"{sign} {self.bound:.2f}" if self.bound >= 0.1 else f"{sign} {self.bound:.3f}"


@dataclass(frozen=True)
class Result:
    """One race.

    Attributes:
        section: Key of ``sections.SECTIONS``.
        robot: Name of the robot, or of the chain.
        n: Its degrees of freedom.
        algorithm: What was called.
        peer: Whom we are compared with.
        unit: What a time is for: a call, a state, a step, a link.
        ours: Our median time per unit [s].
        theirs: The peer's [s].
        call: Our median time of what is timed as one: a call, or a hundred whose results are kept.
        ratio: Median over the rounds of what ``target`` bounds: in most sections ours over theirs.
        quartiles: Of the same.
        rounds: How many rounds there were.
        target: The bound on the ratio, if there is one.
        remark: What is particular about this race.
        instruction_set: What our core was compiled for.
    """

    section: str
    robot: str
    n: int
    algorithm: str
    peer: str
    unit: str
    ours: float
    theirs: float
    call: float
    ratio: float
    quartiles: tuple[float, float]
    rounds: int
    target: Target | None = None
    remark: str = ""
    instruction_set: str = field(default="", kw_only=True)

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where there is no target."""
        return None if self.target is None else self.target.is_met_by(self.ratio)

    @property
    def bound(self) -> float:
        """The target's bound; NaN where there is no target."""
        return np.nan if self.target is None else self.target.bound

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self) | {"met": self.is_met}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Result":
        """Return the result that ``as_dict`` was made from."""
        values = {name: value for name, value in values.items() if name != "met"}
        target = values.pop("target")
        quartiles = tuple(values.pop("quartiles"))
        return cls(**values, quartiles=quartiles, target=target and Target(**target))


def median_and_quartiles(ratios: Floats) -> tuple[float, tuple[float, float]]:
    """Return the median and the quartiles of (rounds,) ratios."""
    low, median, high = np.percentile(ratios, [25, 50, 75])
    return float(median), (float(low), float(high))
