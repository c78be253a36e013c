"""What was seen of one closed loop of twin and controller."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from featherstone_ros.tools.bench.nodes.distribution import Distribution

MOST_GROWTH = 1_000_000  # [bytes] of a node's memory, once it has warmed up


@dataclass(frozen=True)
class Loop:
    """What was seen of one loop.

    Attributes:
        title: Of the plan.
        arm: Which of the plan's, from 1.
        scheduling: Of both nodes.
        rate: States per second wanted [Hz].
        duration: How long it was watched [s].
        joints: Of the arm.
        states: Number of states published.
        unanswered: How many more states than commands there were.
        gaps: How often a state came more than half a period late.
        silence: Longest time between two commands [s].
        unseen: Messages that the recorder missed: of these nothing is known but their number.
        not_finite: Commands with a value that is not finite.
        interventions: Of the torque governor, None if the controller does not report them.
        growth: Resident memory of controller and twin now, less that after the first minute, or
            after half the time if that is earlier [bytes].
        load: Processor time of controller and twin over time.
        reaction: From a state's publication to its command's; None if there was no command.
        jitter: Of the states' publication; None if there were no two.
    """

    title: str
    arm: int
    scheduling: str
    rate: float
    duration: float
    joints: int
    states: int
    unanswered: int
    gaps: int
    silence: float
    unseen: int
    not_finite: int
    interventions: int | None
    growth: tuple[int, int]
    load: tuple[float, float]
    reaction: Distribution | None
    jitter: Distribution | None

    @property
    def faults(self) -> list[str]:
        """What is wrong with the loop, in words; empty if it keeps up."""
        counts = {
            "states unanswered": self.unanswered,
            "commands not finite": self.not_finite,
            "interventions of the governor": self.interventions or 0,
        }
        faults = [f"{count} {what}" for what, count in counts.items() if count]
        due = round(self.rate * self.duration)
        if self.states < 0.99 * due:
            faults.append(f"{self.states} states published, expected {due}")
        for node, growth in zip(("controller", "twin"), self.growth, strict=True):
            if growth > MOST_GROWTH:
                faults.append(f"{node} grew by {growth / 1e6:.1f} MB")
        return faults

    @property
    def _distributions(self) -> dict[str, Distribution | None]:
        return {"reaction": self.reaction, "jitter": self.jitter}

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        own = {name: it and it.as_dict() for name, it in self._distributions.items()}
        return asdict(self) | own | {"faults": self.faults}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Loop":
        """Return the loop that ``as_dict`` was made from."""
        values = {name: value for name, value in values.items() if name != "faults"}
        own = {
            name: values[name] and Distribution.from_dict(values[name])
            for name in ("reaction", "jitter")
        }
        return cls(**values | own | {name: tuple(values[name]) for name in ("growth", "load")})


def slowest_reaction(loops: Sequence[Loop]) -> Distribution | None:
    """Return the reaction of the loop with the longest 99th percentile, if there is any."""
    found = [loop.reaction for loop in loops if loop.reaction]
    return max(found, key=lambda reaction: reaction.p99, default=None)
