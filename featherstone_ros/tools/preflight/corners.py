"""Where a trajectory's velocity jumps: points with positions alone are joined by straight lines.

A jump takes infinite acceleration, so the torque along the curve does not tell of it, and after
each the arm is off until its feedback has caught up. Small ones are no matter: a planner's points
that stand close together have one at each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.feasibility.limits import Limits
from featherstone_ros.tools.preflight.source import Given

SMALL = 0.25  # share of the velocity limit that velocity may jump by
SMALL_UNLIMITED = 0.25  # [rad/s or m/s] where there is no limit
SAME = 1e-9  # share of that by which rounding lets a smooth velocity jump


@dataclass(frozen=True)
class Jump:
    """The largest jump of one joint's velocity that is not small.

    Attributes:
        joint: Name.
        before: [rad/s or m/s].
        after: [rad/s or m/s].
        limit: Jumps up to this are small.
        unit: Of all three.
        time: When, since the trajectory's start [s].
    """

    joint: str
    before: float
    after: float
    limit: float
    unit: str
    time: float

    @property
    def share(self) -> float:
        """How many times larger it is than a small one: so much slower it would be small."""
        return abs(self.after - self.before) / self.limit

    def __str__(self) -> str:
        """Return one line for a person."""
        return (
            f"velocity of joint {self.joint!r} jumps from {self.before:.3g} to {self.after:.3g} "
            f"{self.unit} at {self.time:.3f} s, which takes infinite acceleration"
        )


def jumps(given: Given, demand: Demand, limits: Limits) -> list[Jump]:
    """Return the largest jump of each joint that has one too large.

    The motion comes from rest and goes to rest, unless the points at its ends have velocities.

    Args:
        given: The trajectory as it came.
        demand: Samples of its motion, two at each corner.
        limits: Of the same joints.
    """
    n = len(limits.names)
    velocity, time = demand.velocity, demand.time
    corner = np.flatnonzero(np.diff(time) == 0.0)
    before, after, when = velocity[corner], velocity[corner + 1], time[corner]
    if not len(given.points[0].velocities):
        before, after = np.vstack([np.zeros(n), before]), np.vstack([velocity[0], after])
        when = np.append(time[0], when)
    if not len(given.points[-1].velocities):
        before, after = np.vstack([before, velocity[-1]]), np.vstack([after, np.zeros(n)])
        when = np.append(when, time[-1])
    small = np.where(np.isfinite(limits.velocity), SMALL * limits.velocity, SMALL_UNLIMITED)
    size = np.abs(after - before)
    if not len(size):
        return []
    return [
        Jump(
            limits.names[j],
            float(before[i, j]),
            float(after[i, j]),
            float(small[j]),
            limits.unit(j, "velocity"),
            float(when[i] - time[0]),
        )
        for j, i in enumerate(size.argmax(axis=0))
        if not size[i, j] <= small[j] * (1.0 + SAME)
    ]


def interpolation(given: Given) -> str:
    """Return what the controller makes of the points, in words."""
    kinds = [
        min(bool(len(point.velocities)) + bool(len(point.accelerations)) for point in pair)
        for pair in zip(given.points, given.points[1:], strict=False)
    ]
    names = ("straight lines", "cubics", "quintics")
    used = [names[kind] for kind in sorted(set(kinds))]
    why = ("positions alone", "velocities", "velocities and accelerations")
    if len(used) == 1:
        return f"Interpolated by {used[0]}: the points have {why[kinds[0]]}."
    return f"Interpolated by {' and '.join(used)}, by the fields that two points share."
