"""Trajectories and poses that come one after another: how they fit, and the velocity they imply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from featherstone_ros._control import CompiledPath
from featherstone_ros.arrays import Floats
from featherstone_ros.kinematics import pose_error

SHORTEST, LONGEST = 0.002, 0.15  # [s] between two poses of a stream: 500 to 7 Hz
OUTLASTS = 1.5  # periods without a pose until it is taken for ended: they come with jitter


class Takeover(NamedTuple):
    """A trajectory replaces what was asked for before. Times are the controller's [s]."""

    time: float
    end: float  # when the trajectory reaches its last point
    age: float  # time since its stamp [s]; 0 where it has none or starts later
    # (n,) from the position that was asked for to the trajectory's [rad or m]; the motion blends it
    # in. 0 before its first point.
    jump: Floats

    @classmethod
    def of(cls, path: CompiledPath, snapshot: Any, delay: float) -> Takeover:
        """Return that of a path, a delay after a snapshot [s]; negative: it is under way."""
        elapsed = max(-delay, 0.0)
        jump = np.abs(path.sample(elapsed)[0] - snapshot.desired[0]) * (elapsed >= path.times[0])
        return cls(snapshot.time, snapshot.time + delay + path.duration, elapsed, jump)


class StreamWatch:
    """The largest age and jump of takeovers, and the time between one's end and the next.

    A report is of those since the report before, or of the last ones.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Have seen none; ``names`` are the joints."""
        self._names = names
        self._age, self._gap, self._end = 0.0, 0.0, np.inf
        self._jump: Floats | None = None
        self._is_reported = False

    def note(self, takeover: Takeover) -> None:
        """Take one into account."""
        if self._jump is None or self._is_reported:
            self._age, self._gap, self._jump = 0.0, 0.0, takeover.jump
        self._age = max(self._age, takeover.age)
        self._gap += max(takeover.time - self._end, 0.0)
        self._jump = np.maximum(self._jump, takeover.jump)
        self._end, self._is_reported = takeover.end, False

    def report(self) -> dict[str, str]:
        """Return what the diagnostics tell."""
        if self._jump is None:
            return {}
        self._is_reported = True
        joint = int(np.argmax(self._jump))
        return {
            "age of trajectories on arrival [s]": f"{self._age:.3f}",
            "jump between trajectories [rad or m]": (
                f"{self._jump[joint]:.4f} ({self._names[joint]})"
            ),
            "time without a trajectory [s]": f"{self._gap:.3f}",
        }


class PoseStream:
    """The last pose of a target and its time, as from teleoperation.

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
