"""Motions along a trajectory, as the compiled controller follows it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from featherstone_ros._control import CompiledMotion
from featherstone_ros.arrays import Floats

FINEST = 5000  # samples of a piece at most: memory goes by the number of pieces


@dataclass(frozen=True)
class MotionState:
    """The state of a motion at one time; arrays are (n,) in joint order, or (K, n) for several."""

    position: Floats  # [rad] or [m]
    velocity: Floats  # [rad/s] or [m/s]
    acceleration: Floats  # [rad/s^2] or [m/s^2]
    effort: Floats  # feedforward effort in addition to the model's [N m] or [N]

    def at(self, index: int) -> MotionState:
        """Return one of several states."""
        return MotionState(
            self.position[index],
            self.velocity[index],
            self.acceleration[index],
            self.effort[index],
        )

    def rows(self) -> Floats:
        """Return the fields as (..., 4, n)."""
        return np.stack([self.position, self.velocity, self.acceleration, self.effort], axis=-2)


class Motion:
    """A motion in joint space: polynomials of time, see cython_core/control/motion.pxd.

    Times count from the trajectory's start.

    Attributes:
        corners: Times (K,) at which the trajectory's pieces begin [s]; they are smooth within.
        end: From then on it stands still [s].
    """

    def __init__(self, compiled: CompiledMotion) -> None:
        """Take the compiled motion."""
        self._compiled = compiled
        self.corners: Floats = compiled.path.times
        self.end: float = compiled.end

    @property
    def blended_until(self) -> float:
        """When the last of what was asked for before is gone [s]; -inf if there was nothing."""
        return float(self._compiled.correction[1])

    def sample(self, times: Floats, inside: Floats | None = None) -> Floats:
        """Return position, velocity, acceleration and extra effort (4, N, n) at times (N,).

        ``inside``: (N,) times that say which piece is meant, where two meet; None: the later one.
        """
        return self._compiled.sample(times, times if inside is None else inside)

    def state(self, time: float) -> MotionState:
        """Return the motion's state at a time."""
        return MotionState(*self.sample(np.array([time]))[:, 0])

    def trace(
        self, begin: float, end: float, step: float, max_samples: float = inf
    ) -> tuple[Floats, Floats]:
        """Evaluate the motion over a stretch of time, on both sides of every corner.

        Times (N,) and samples (4, N, n), two of the same time where a piece or the correction
        begins or ends: there velocity and acceleration may jump. ``step``: longest time between two
        [s], but no piece has more than ``FINEST``; inf: the corners and the middles between. With
        twice ``max_samples`` or more, only every second, third, ... is taken.
        """
        between = [t for t in [*self.corners, *self._compiled.correction] if begin < t < end]
        corners = np.unique([begin, *between, end])
        corners = corners if len(corners) > 1 else np.array([begin, end])
        length = np.diff(corners)
        count = np.clip(np.ceil(length / step), 2.0, FINEST)
        stretch = np.repeat(np.arange(len(length)), count.astype(int) + 1)
        number = np.arange(len(stretch)) - np.searchsorted(stretch, stretch)
        every = max(int(len(stretch) // max_samples), 1)
        stretch, number = stretch[::every], number[::every]
        share = number / count[stretch]
        time = np.where(
            share < 1.0, corners[stretch] + length[stretch] * share, corners[stretch + 1]
        )
        return time, self.sample(time, (corners[:-1] + length / 2.0)[stretch])
