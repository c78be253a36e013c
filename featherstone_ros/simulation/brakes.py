"""Brakes: they stop every joint in a short time and then hold it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STOPPING_TIME = 0.1  # [s]


class Brakes:
    """Brakes of all joints.

    They impose the motion instead of applying a torque: each joint's speed falls linearly to zero
    within ``STOPPING_TIME``, whatever its inertia and load, so they are stable at any time step.
    """

    def __init__(self) -> None:
        """Make brakes that are off."""
        self.engaged = False
        self._time_left = 0.0
        self._qdd = np.zeros(0)

    def engage(self, qd: Floats) -> None:
        """Start to stop joints that move at ``qd`` (n,) [rad/s or m/s]."""
        self.engaged = True
        self._time_left = STOPPING_TIME if qd.any() else 0.0
        self._qdd = -qd / STOPPING_TIME

    def release(self) -> None:
        """Let go."""
        self.engaged = False

    def advance(self, q: Floats, qd: Floats, duration: float) -> tuple[Floats, Floats, Floats]:
        """Return position, velocity and acceleration after ``duration`` [s] of braking.

        Args:
            q: (n,) [rad or m].
            qd: (n,) [rad/s or m/s]; at rest this must be zero.
            duration: [s].
        """
        if self._time_left <= 0.0:
            return q, np.zeros_like(qd), np.zeros_like(qd)
        t = min(duration, self._time_left)
        self._time_left -= t
        stopped = q + t * (qd + 0.5 * t * self._qdd)
        return stopped, -self._time_left * self._qdd, self._qdd
