"""Jumps of velocity: points with positions alone are joined by straight lines.

A jump takes infinite acceleration, which the torque along the curve does not show; after each jump
the arm is off its path until the feedback has caught up. Small jumps are harmless: dense points of
a planner have one at each point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import Motion

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
        """The jump relative to the limit: slowed down by this factor, it would be small."""
        return abs(self.after - self.before) / self.limit

    def __str__(self) -> str:
        """Return one line for a person."""
        return (
            f"velocity of joint {self.joint!r} jumps from {self.before:.3g} to {self.after:.3g} "
            f"{self.unit} at {self.time:.3f} s, which takes infinite acceleration"
        )


def jumps(motion: Motion, begin: float, velocity: Floats, limits: JointSpace) -> list[Jump]:
    """Return the largest jump of each joint that has one too large.

    Args:
        motion: Its pieces meet at the corners; its lead-in is smooth.
        begin: When it takes over [s].
        velocity: The desired velocity until then (n,) [rad/s or m/s].
        limits: Of the same joints.
    """
    time = np.append(begin, motion.corners[motion.corners > begin])
    _, before, *_ = motion.sample(time, np.nextafter(time, -np.inf))
    before[0] = velocity
    _, after, *_ = motion.sample(time)
    small = np.where(np.isfinite(limits.velocity), SMALL * limits.velocity, SMALL_UNLIMITED)
    size = np.abs(after - before)
    return [
        Jump(
            limits.names[j],
            float(before[i, j]),
            float(after[i, j]),
            float(small[j]),
            limits.unit(j, "velocity"),
            float(time[i] - begin),
        )
        for j, i in enumerate(size.argmax(axis=0))
        if not size[i, j] <= small[j] * (1.0 + SAME)
    ]
