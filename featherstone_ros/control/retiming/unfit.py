"""A trajectory that breaks the arm's limits, on its way to new times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.retiming.path import STRAIGHT, needed
from featherstone_ros.control.retiming.retime import BLEND, Retimed
from featherstone_ros.control.trajectory import REST_SPEED, Trajectory

MAX_POINTS = 2000  # all is computed in some seconds, and some 100 MB
MAX_LINES = 200  # that are not one line with others; their rounded corners are finer
SAME_PLACE = 1e-6  # [rad or m] that the arm may be asked to be away from where a path begins


def not_retimed(trajectory: Trajectory, velocity: Floats, elapsed: float) -> str:
    """Return why a trajectory cannot be timed anew, from rest to rest; empty if it can.

    Args:
        trajectory: The trajectory.
        velocity: (n,) desired until then [rad/s or m/s].
        elapsed: Time since the trajectory's start [s], negative if it lies ahead.
    """
    if np.abs(velocity).max() > REST_SPEED:
        return "the arm is in motion"
    if trajectory.times[-1] <= max(elapsed, 0.0):
        return "it has no duration"
    count = len(trajectory.times)
    if count > MAX_POINTS:
        return f"it has {count} points, more than {MAX_POINTS}"
    if trajectory.is_lines:
        lines = len(needed(trajectory.positions, STRAIGHT * BLEND)[0]) - 1
        if lines > MAX_LINES:
            return f"it has {lines} lines in different directions, more than {MAX_LINES}"
    first, last = trajectory.state(0), trajectory.state(-1)
    if not trajectory.times[0] and np.abs(first.velocity).max() > REST_SPEED:
        return "it begins in motion"
    if np.abs(last.velocity).max() > REST_SPEED:
        return "it ends in motion"
    return "its efforts belong to its times" if trajectory.has_effort else ""


@dataclass(frozen=True, eq=False)
class UnfitTrajectory:
    """A trajectory to be timed anew, and the moment in which that was decided.

    Attributes:
        problem: Which limits it breaks.
        path: From the desired position on, at rest.
        causes: How often the arm had been stopped until then.
    """

    problem: str
    path: Trajectory
    causes: int

    @classmethod
    def of(
        cls,
        problem: str,
        trajectory: Trajectory,
        moment: Any,
        elapsed: float,
    ) -> UnfitTrajectory:
        """Return a trajectory that is to begin where the arm rests.

        Args:
            problem: Which limits it breaks.
            trajectory: Checked, and turned towards the arm.
            moment: The controller's state: a ``SnapshotRequest``.
            elapsed: Time since the trajectory's start [s], negative if it lies ahead.
        """
        path = trajectory.from_rest(moment.desired[0], elapsed)
        return cls(problem, path, moment.causes)

    @property
    def duration(self) -> float:
        """Time that it was given, from the desired position on [s]."""
        return self.path.duration

    def retimed(self, arm: ControlledArm, report: Callable[[int, int], None]) -> Retimed:
        """Return its path as fast as the arm can, but no faster than it was asked for.

        Raises:
            RetimingError: No timing is within the limits.
        """
        timed = arm.retimed(self.path, report=report)
        return timed.slower(max(self.duration / timed.duration, 1.0))

    def outdated(self, moment: Any) -> str:
        """Return what has happened since that its path no longer follows; empty for nothing."""
        if moment.causes != self.causes:
            return "the arm was stopped meanwhile"
        q, velocity = moment.desired[:2]
        moved = np.abs(velocity).max() > REST_SPEED
        if moved or np.abs(q - self.path.positions[0]).max() > SAME_PLACE:
            return "the arm was moved meanwhile"
        return ""

    def outcome(self, timed: Retimed) -> str:
        """Return by how much longer it takes now, and what bounds it, for the log."""
        return (
            f"timed anew: {timed.duration:.3f} s instead of {self.duration:.3f} s, "
            f"{timed.duration / self.duration:.4g} times as long; of the limits: {timed.used()}"
        )
