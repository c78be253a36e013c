"""What a trajectory is checked against before the controller follows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.control.motion import Knot, Motion
from featherstone_ros.control.trajectory import Trajectory

Floats = NDArray[np.float64]
Waiting = tuple[float, Trajectory]  # when it starts by the controller's time [s], and what

NEXT = -inf  # start of a trajectory: the next joint state


@dataclass(frozen=True)
class Prospect:
    """Where the arm is, and what it is going to do; nothing of it changes any more.

    It is made by the thread that controls the arm and may be used by another, which has the time
    for what a long trajectory takes.

    Attributes:
        time: The controller's time at the last joint state [s].
        q: The arm's position then (n,) [rad] or [m].
        motion: What is asked for.
        pending: Trajectories that start later, in order.
        start_tolerance: How far from the arm a trajectory may begin [rad] or [m].
        stop_time: How long a stop takes [s].
    """

    time: float
    q: Floats
    motion: Motion
    pending: Sequence[Waiting]
    start_tolerance: float
    stop_time: float

    def check(
        self,
        trajectory: Trajectory,
        delay: float | None = None,
        inspect: Callable[[Motion, float], None] = lambda motion, begin: None,
    ) -> float:
        """Check that a trajectory can follow, and return its start by the controller's time [s].

        Args:
            trajectory: The trajectory.
            delay: Time from ``time`` to its start [s], negative if that lies in the past; None: it
                starts with the next joint state.
            inspect: Called last with the motion that will follow, its times counted from the
                trajectory's start, and the time at which it takes over; may raise TrajectoryError.

        Raises:
            TrajectoryError: It cannot.
        """
        start = NEXT if delay is None else self.time + delay
        before = earlier(self.pending, start)
        elapsed = -(delay or 0.0)
        trajectory.check_start(elapsed, self._position_at(start, before), self.start_tolerance)
        begin = max(0.0, elapsed)
        desired = self._desired_at(start, before)
        inspect(trajectory.motion(0.0, begin, desired, self.stop_time), begin)
        return start

    def _position_at(self, start: float, before: list[Waiting]) -> Floats:
        """Return where the arm will be when a trajectory starts, given those that come before."""
        if start <= self.time or (not before and self.motion.finished(start)):
            return self.q
        return self._desired_at(start, before).position

    def _desired_at(self, start: float, before: list[Waiting]) -> Knot:
        """Return what will be asked for when a trajectory starts, given those that come before."""
        time = max(start, self.time)
        if not before:
            return self.motion.knot(time)
        begin, last = before[-1]
        begin = max(begin, self.time)
        return last.motion(begin, begin, last.knot(0), self.stop_time).knot(time)


def earlier(pending: Sequence[Waiting], start: float) -> list[Waiting]:
    """Return those of the waiting trajectories that start before one that starts at ``start``."""
    return [waiting for waiting in pending if waiting[0] < start]
