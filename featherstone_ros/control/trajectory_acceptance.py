"""The checks of a trajectory before the controller is asked to follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from featherstone_ros.arrays import Floats
from featherstone_ros.control.motion import Motion, MotionState
from featherstone_ros.control.settings import Settings
from featherstone_ros.control.trajectory import Trajectory


@dataclass(frozen=True)
class PlanningContext:
    """Measured and desired state of the arm at one time.

    The loop that controls the arm goes on meanwhile; it checks the start again when it adopts the
    trajectory.

    Attributes:
        time: The controller's time at the last joint state [s].
        q: The arm's position then (n,) [rad] or [m].
        desired: The desired state then.
        start_tolerance: How far from the arm a trajectory may begin [rad] or [m].
        stop_time: How long a stop takes [s].
    """

    time: float
    q: Floats
    desired: MotionState
    start_tolerance: float
    stop_time: float

    @classmethod
    def of(cls, snapshot: Any, settings: Settings) -> PlanningContext:
        """Return the context of a controller's snapshot."""
        return cls(
            snapshot.time,
            snapshot.q,
            MotionState(*snapshot.desired),
            settings.start_tolerance,
            settings.stop_time,
        )

    def check(
        self,
        trajectory: Trajectory,
        delay: float | None = None,
        inspect: Callable[[Motion, float], None] = lambda motion, begin: None,
    ) -> float | None:
        """Check that a trajectory can follow, and return its start by the controller's time [s].

        As in joint_trajectory_controller it takes over at once, and leads the arm to its first
        point.

        Args:
            trajectory: The trajectory; positions of its continuous joints are moved by whole turns
                to the arm's.
            delay: Time from ``time`` to its start [s], negative if that lies in the past; None: it
                starts with the next joint state.
            inspect: Called last with the motion that will follow, its times counted from the
                trajectory's start, and the time at which it takes over; may raise TrajectoryError.

        Raises:
            TrajectoryError: It cannot.
        """
        elapsed = -(delay or 0.0)
        trajectory.turn_towards(elapsed, self.desired.position)
        trajectory.check_accelerations()
        trajectory.check_start(elapsed, self.q, self.start_tolerance)
        inspect(trajectory.motion(elapsed, self.desired, self.stop_time), elapsed)
        return None if delay is None else self.time + delay
