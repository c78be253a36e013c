"""Where a motion exceeds the limits of an arm, and by which factor on time it would not.

What is bounded is a ``Quantity`` each, in one table. So is a jump of the velocity: points with
positions alone are joined by straight lines. A jump takes infinite acceleration, which the torque
along the curve does not show; after each jump the arm is off its path until the feedback has caught
up. Small jumps are harmless: dense points of a planner have one at each point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from featherstone_ros._control import LIMIT_SLACK
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import Motion

ROUNDING = 1e-6  # share of a limit other than of the position that a plan may touch it by
JERK_ROUNDING = 1e-3  # the same of the jerk, which is a difference of samples
SAME = 1e-9  # the same of a jump, by which a smooth velocity may seem to have one
SUDDEN = 0.01  # [s] that a jump of the acceleration takes in any drive
AT_ONCE = 1e-6  # [s] between two samples, at most, for a jump
SMALL = 0.25  # share of the velocity limit that velocity may jump by
SMALL_UNLIMITED = 0.25  # [rad/s or m/s] where there is no limit
JUMP = "jump"


class Quantity(NamedTuple):
    """Something bounded, at N times."""

    # ``"position"``, ``"velocity"``, ``"acceleration"``, ``"deceleration"``, ``"jerk"``,
    # ``"torque"``, or ``JUMP`` of the velocity
    name: str
    time: Floats  # (N,) [s]
    values: Floats  # (N, n)
    lower: Floats  # (n,) limit
    upper: Floats  # (n,) limit
    slack: Floats | float  # (n,), or of all joints, by which values may be beyond
    # in s times the time the values are s to this power times smaller; 0: not so simply
    power: int = 0
    before: Floats | None = None  # (N, n) velocity before a jump

    def largest_rate(self) -> float:
        """Return the greatest x, up to 1, such that x to the power times all values fits."""
        greatest = np.abs(self.values).max(axis=0, initial=0.0)
        beyond = greatest > self.upper + self.slack
        if not beyond.any():
            return 1.0
        return float((self.upper[beyond] / greatest[beyond]).min()) ** (1 / self.power)


@dataclass(frozen=True)
class Excess:
    """The largest excess of a motion over a limit of one joint."""

    joint: str
    quantity: str  # as of ``Quantity``
    value: float  # the value reached; of a jump, by how much
    limit: float
    unit: str  # of both
    time: float  # when, since the trajectory's start [s]
    before: float = 0.0  # the velocity before a jump

    def share(self) -> float:
        """Return the value as a multiple of the limit."""
        return abs(self.value / self.limit) if self.limit else inf

    def __str__(self) -> str:
        """Return one line for a person."""
        if self.quantity == JUMP:
            return (
                f"velocity of joint {self.joint!r} jumps from {self.before:.3g} to "
                f"{self.before + self.value:.3g} {self.unit} at {self.time:.3f} s, which takes "
                "infinite acceleration"
            )
        return (
            f"{self.quantity} of joint {self.joint!r} {self.value:.4g} {self.unit} at "
            f"{self.time:.3f} s, limit {self.limit:.4g}"
        )


def quantities(demand: Demand, limits: JointSpace) -> list[Quantity]:
    """Return what is bounded of a motion's samples, the positions first."""

    def symmetric(name: str, values: Floats, limit: Floats, slack: float, power: int) -> Quantity:
        most = np.broadcast_to(limit, values.shape[1:])
        return Quantity(name, demand.time, values, -most, most, slack * most, power)

    speeding, slowing = rates(demand)
    changes, at_once = jerk(demand), jumping(demand)[:, None]  # SUDDEN stays, however slow
    lower, upper = np.broadcast_to((limits.lower, limits.upper), (2, demand.position.shape[1]))
    return [
        Quantity("position", demand.time, demand.position, lower, upper, LIMIT_SLACK),
        symmetric("velocity", demand.velocity, limits.velocity, ROUNDING, 1),
        symmetric("acceleration", speeding, limits.acceleration, ROUNDING, 2),
        symmetric("deceleration", slowing, limits.deceleration, ROUNDING, 2),
        symmetric("jerk", np.where(at_once, changes, 0.0), limits.jerk, JERK_ROUNDING, 2),
        symmetric("jerk", np.where(at_once, 0.0, changes), limits.jerk, JERK_ROUNDING, 3),
        symmetric("torque", demand.torque, limits.effort, ROUNDING, 0),
    ]


def jumps(motion: Motion, begin: float, velocity: Floats, limits: JointSpace) -> Quantity:
    """Return the jumps of the velocity.

    ``begin``: when the motion takes over [s]; ``velocity``: (n,) the desired one until then.
    """
    time = np.append(begin, motion.corners[motion.corners > begin])
    _, before, *_ = motion.sample(time, np.nextafter(time, -np.inf))
    before[0] = velocity
    _, after, *_ = motion.sample(time)
    small = np.where(np.isfinite(limits.velocity), SMALL * limits.velocity, SMALL_UNLIMITED)
    small = np.broadcast_to(small, velocity.shape)
    return Quantity(JUMP, time, after - before, -small, small, SAME * small, 1, before)


def excesses(rows: Iterable[Quantity], limits: JointSpace) -> list[Excess]:
    """Return the worst excess of each quantity and joint; ``limits`` are of the same joints."""
    found: dict[tuple[str, int], Excess] = {}
    for row in rows:
        beyond = np.maximum(row.lower - row.values, row.values - row.upper) - row.slack
        for j, i in enumerate(beyond.argmax(axis=0)):
            if beyond[i, j] <= 0.0:  # not so if it is no number
                continue
            value = float(row.values[i, j])
            limit = float(row.lower[j] if value < row.lower[j] else row.upper[j])
            before = 0.0 if row.before is None else float(row.before[i, j])
            unit = limits.unit(j, "velocity" if row.name == JUMP else row.name)
            at = float(row.time[i] - row.time[0])
            excess = Excess(limits.names[j], row.name, value, limit, unit, at, before)
            worst = found.setdefault((row.name, j), excess)
            if excess.share() > worst.share():
                found[row.name, j] = excess
    return list(found.values())


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


def slow_down(demand: Demand, limits: JointSpace) -> float:
    """Return the smallest s >= 1 such that the motion fits in s times the time; inf if none does.

    With x = 1 / s the torque is a parabola f(x) = standing + viscous x + inertial x^2 for every
    sample and joint, see ``Demand``. Where |f| is beyond its limit L at some x, the fastest slower
    motion that may fit has the largest root of |f| = L below x, which is taken in closed form. The
    largest x that all of them allow cannot be above the least of those roots: starting from the
    limits of what goes with a power of x, and going from one to the next finds it, whatever the
    shape of the parabolas. Position limits are not considered: no speed helps there.
    """
    x = min(row.largest_rate() for row in quantities(demand, limits) if row.power)
    most = np.broadcast_to(limits.effort, demand.standing.shape)
    while x > 0.0:
        torque = demand.standing + x * (demand.viscous + x * demand.inertial)
        over = ~(np.abs(torque) <= most * (1.0 + ROUNDING))
        if not over.any():
            return 1.0 / x
        sign = np.sign(torque[over])
        c, b, a = (sign * part[over] for part in (demand.standing, demand.viscous, demand.inertial))
        x = float(largest_root_below(x, a, b, c - most[over]).min())
    return inf


def largest_root_below(x: float, a: Floats, b: Floats, c: Floats) -> Floats:
    """Return the largest root of a x^2 + b x + c in [0, x), 0 if there is none; elementwise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
        roots = np.stack([half / a, c / half])
    within = (roots >= 0.0) & (roots < x)  # not so for what is no number
    return np.where(within, roots, 0.0).max(axis=0)
