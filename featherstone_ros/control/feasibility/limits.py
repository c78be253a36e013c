"""Where a motion exceeds the limits of an arm."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.trajectory import LIMIT_SLACK

ROUNDING = 1e-6  # share of a limit of velocity or torque that a plan may touch it by


@dataclass(frozen=True)
class Excess:
    """The largest excess of a motion over a limit of one joint.

    Attributes:
        joint: Name.
        quantity: ``"position"``, ``"velocity"`` or ``"torque"``.
        value: The value reached.
        limit: The limit that it exceeds.
        unit: Of both.
        time: When, since the trajectory's start [s].
    """

    joint: str
    quantity: str
    value: float
    limit: float
    unit: str
    time: float

    def share(self) -> float:
        """Return the value as a multiple of the limit."""
        return abs(self.value / self.limit) if self.limit else inf

    def __str__(self) -> str:
        """Return one line for a person."""
        return (
            f"{self.quantity} of joint {self.joint!r} {self.value:.4g} {self.unit} at "
            f"{self.time:.3f} s, limit {self.limit:.4g}"
        )


def excesses(demand: Demand, limits: JointSpace) -> list[Excess]:
    """Return the worst excess of each quantity and joint, the positions first."""
    found = []
    for quantity, values, lower, upper, slack in (
        ("position", demand.position, limits.lower, limits.upper, LIMIT_SLACK),
        ("velocity", demand.velocity, -limits.velocity, limits.velocity, ROUNDING),
        ("torque", demand.torque, -limits.effort, limits.effort, ROUNDING),
    ):
        allowed = slack if quantity == "position" else slack * upper
        beyond = np.maximum(lower - values, values - upper) - allowed
        for j, i in enumerate(beyond.argmax(axis=0)):
            if not beyond[i, j] <= 0.0:  # so, too, if it is no number
                value = float(values[i, j])
                limit = float(lower[j] if value < lower[j] else upper[j])
                unit, time = limits.unit(j, quantity), float(demand.time[i] - demand.time[0])
                found.append(Excess(limits.names[j], quantity, value, limit, unit, time))
    return found
