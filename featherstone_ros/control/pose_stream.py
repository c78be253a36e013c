"""The velocity of a target whose poses come one after another, as from teleoperation."""

from __future__ import annotations

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.kinematics import pose_error

SHORTEST, LONGEST = 0.002, 0.15  # [s] between two poses of a stream: 500 to 7 Hz
OUTLASTS = 1.5  # periods without a pose until it is taken for ended: they come with jitter


class PoseStream:
    """The last pose and its time.

    Without the velocity the desired pose lags behind by the way in which it could stop.
    """

    def __init__(self) -> None:
        """Have none."""
        self._time, self._pose = 0.0, np.eye(4)

    def velocity(self, time: float, pose: Floats) -> tuple[Floats, float]:
        """Return the velocity (6,) from the last pose (4, 4) to this, and how long it lasts [s].

        Linear first, base axes [m/s, rad/s]; 0 for 0 s where the two are no stream. ``time``: its
        stamp.
        """
        since, change = time - self._time, pose_error(self._pose, pose)
        self._time, self._pose = time, pose
        if not SHORTEST <= since <= LONGEST:
            return np.zeros(6), 0.0
        return change / since, OUTLASTS * since
