"""Where a motion exceeds the limits of an arm."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.trajectory import LIMIT_SLACK

ROUNDING = 1e-6  # share of a limit other than of the position that a plan may touch it by
JERK_ROUNDING = 1e-3  # the same of the jerk, which is a difference of samples
SUDDEN = 0.01  # [s] that a jump of the acceleration takes in any drive
AT_ONCE = 1e-6  # [s] between two samples, at most, for a jump


@dataclass(frozen=True)
class Excess:
    """The largest excess of a motion over a limit of one joint.

    Attributes:
        joint: Name.
        quantity: ``"position"``, ``"velocity"``, ``"acceleration"``, ``"deceleration"``,
            ``"jerk"`` or ``"torque"``.
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
    speeding, slowing = rates(demand)
    found = []
    for quantity, values, lower, upper, slack in (
        ("position", demand.position, limits.lower, limits.upper, LIMIT_SLACK),
        ("velocity", demand.velocity, -limits.velocity, limits.velocity, ROUNDING),
        ("acceleration", speeding, -limits.acceleration, limits.acceleration, ROUNDING),
        ("deceleration", slowing, -limits.deceleration, limits.deceleration, ROUNDING),
        ("jerk", jerk(demand), -limits.jerk, limits.jerk, JERK_ROUNDING),
        ("torque", demand.torque, -limits.effort, limits.effort, ROUNDING),
    ):
        lower, upper = (np.broadcast_to(limit, values.shape[1:]) for limit in (lower, upper))
        allowed = slack if quantity == "position" else slack * upper
        beyond = np.maximum(lower - values, values - upper) - allowed
        for j, i in enumerate(beyond.argmax(axis=0)):
            if not beyond[i, j] <= 0.0:  # so, too, if it is no number
                value = float(values[i, j])
                limit = float(lower[j] if value < lower[j] else upper[j])
                unit, time = limits.unit(j, quantity), float(demand.time[i] - demand.time[0])
                found.append(Excess(limits.names[j], quantity, value, limit, unit, time))
    return found


def rates(demand: Demand) -> tuple[Floats, Floats]:
    """Return the acceleration (N, n) where speeds grow, and where they fall; elsewhere 0.

    A joint that stands has just stopped or is about to start, which the next samples tell.
    """
    sign = demand.velocity * demand.acceleration
    grows = np.where(sign > 0.0, demand.acceleration, 0.0)
    falls = np.where(sign < 0.0, demand.acceleration, 0.0)
    return grows, falls


def jerk(demand: Demand) -> Floats:
    """Return the change of the acceleration up to each sample (N, n), 0 of the first.

    Where the acceleration jumps, see ``jumping``, it is the jump over ``SUDDEN``.
    """
    taken = np.where(jumping(demand), SUDDEN, np.diff(demand.time, prepend=-np.inf))
    return np.diff(demand.acceleration, axis=0, prepend=demand.acceleration[:1]) / taken[:, None]


def jumping(demand: Demand) -> NDArray[np.bool_]:
    """Return which samples (N,) come at once after another: at corners, and in no motion at all."""
    return np.diff(demand.time, prepend=-np.inf) <= AT_ONCE
