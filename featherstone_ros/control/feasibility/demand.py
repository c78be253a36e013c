"""Position, speed and torque that a motion requires of every joint."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.motion import Motion
from featherstone_ros.model.drives import Drives, presliding


@dataclass(frozen=True, eq=False)
class Demand:
    """N samples of a motion and its torque; arrays (N, n) in joint order.

    The torque is in three parts, since a motion that takes s times as long has velocities v / s and
    accelerations a / s^2, and the equations of motion are linear in a and quadratic in v:

        tau(s) = standing + viscous / s + inertial / s^2

    Coulomb friction does not change: it depends on the direction of motion, not on the speed. Where
    friction is not so simple, this is an upper bound: what grows with the load does with that of
    both parts, and viscous friction is not thinned.
    """

    time: Floats  # (N,) [s]
    position: Floats  # [rad] or [m]
    velocity: Floats  # [rad/s] or [m/s]
    acceleration: Floats  # [rad/s^2] or [m/s^2]
    standing: Floats  # gravity, Coulomb friction, and the motion's extra effort
    viscous: Floats
    inertial: Floats  # accelerations, centrifugal and Coriolis forces, armature

    @property
    def torque(self) -> Floats:
        """(N, n) total torque of the joints [N m] or [N]."""
        return self.standing + self.viscous + self.inertial

    def slowed(self, factor: float) -> Demand:
        """Return the same motion in ``factor`` times the time; inf: standing at every pose."""
        stretch = 1.0 if factor == inf else factor
        return Demand(
            self.time[0] + (self.time - self.time[0]) * stretch,
            self.position,
            self.velocity / factor,
            self.acceleration / factor**2,
            self.standing,
            self.viscous / factor,
            self.inertial / factor**2,
        )

    def where(self, taken: NDArray[np.bool_]) -> Demand:
        """Return some of the samples, (N,)."""
        return Demand(*(getattr(self, field.name)[taken] for field in fields(self)))

    def rms(self) -> Floats:
        """Return the root mean square torque over time (n,) [N m] or [N]."""
        square = self.torque**2
        duration = self.time[-1] - self.time[0]
        if duration == 0.0:
            return np.sqrt(square[0])
        means = (square[1:] + square[:-1]) / 2.0
        return np.sqrt(np.diff(self.time) @ means / duration)


def demand(
    dynamics: Dynamics,
    drives: Drives,
    motion: Motion,
    begin: float,
    end: float,
    step: float,
    with_extra_effort: bool,
    max_samples: float = inf,
) -> Demand:
    """Sample a motion and its torque.

    ``begin``, ``end`` and ``step``, the longest time between two samples, in s. Corners of the
    motion are sampled anyway, but for some where there are more than ``max_samples``.
    """
    time, (q, qd, qdd, extra) = motion.trace(begin, end, step, max_samples)
    asked = demand_of(dynamics, drives, time, q, qd, qdd)
    return replace(asked, standing=asked.standing + extra) if with_extra_effort else asked


def demand_of(
    dynamics: Dynamics, drives: Drives, time: Floats, q: Floats, qd: Floats, qdd: Floats
) -> Demand:
    """Return what a sampled motion asks.

    ``time``: (N,) [s]; ``q``, ``qd``, ``qdd``: (N, n).
    """
    gravity = dynamics.gravity(q)
    rigid = dynamics.rnea(q, qd, qdd) - gravity
    sliding = presliding(q, drives.presliding_displacement, np.sign(qd[0]), time)
    coulomb = (drives.coulomb + drives.load * np.abs(gravity)) * sliding
    standing = gravity + coulomb + drives.standing_torque(q)
    inertial = rigid + drives.load * np.abs(rigid) * sliding + drives.rotor_torque(qdd)
    return Demand(time, q, qd, qdd, standing, drives.viscous * qd, inertial)
