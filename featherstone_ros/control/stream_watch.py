"""How trajectories that follow each other fit together, for the diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featherstone_ros._control import CompiledPath
from featherstone_ros.arrays import Floats


@dataclass(frozen=True)
class Takeover:
    """A trajectory replaces what was asked for before. Times are the controller's [s].

    Attributes:
        time: When.
        end: When the trajectory reaches its last point.
        age: Time since its stamp [s]; 0 where it has none or starts later.
        jump: (n,) from the position that was asked for to the trajectory's [rad or m]; the motion
            blends it in. 0 before its first point.
    """

    time: float
    end: float
    age: float
    jump: Floats

    @classmethod
    def of(cls, path: CompiledPath, moment: Any, delay: float) -> Takeover:
        """Return that of a path, a delay after a snapshot [s]; negative: it is under way."""
        elapsed = max(-delay, 0.0)
        jump = np.abs(path.sample(elapsed)[0] - moment.desired[0]) * (elapsed >= path.times[0])
        return cls(moment.time, moment.time + delay + path.duration, elapsed, jump)


class StreamWatch:
    """Watches takeovers; a report is of those since the report before, or of the last ones."""

    def __init__(self, names: Sequence[str]) -> None:
        """Have seen none; ``names`` are the joints."""
        self._names = names
        self._seen: list[tuple[Takeover, float]] = []
        self._is_reported = True
        self._end = np.inf

    def note(self, takeover: Takeover) -> None:
        """Take one into account."""
        if self._is_reported:
            self._seen, self._is_reported = [], False
        self._seen.append((takeover, max(takeover.time - self._end, 0.0)))
        self._end = takeover.end

    def report(self) -> dict[str, str]:
        """Return the largest age and jump, and the time between one's end and the next."""
        if not self._seen:
            return {}
        self._is_reported = True
        jump = np.max([takeover.jump for takeover, _ in self._seen], axis=0)
        joint = int(np.argmax(jump))
        return {
            "age of trajectories on arrival [s]": f"{max(t.age for t, _ in self._seen):.3f}",
            "jump between trajectories [rad or m]": f"{jump[joint]:.4f} ({self._names[joint]})",
            "time without a trajectory [s]": f"{sum(gap for _, gap in self._seen):.3f}",
        }
