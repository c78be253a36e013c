"""Which joint states follow on which: repeated and late ones are passed over, gaps found."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NANOSECONDS = 1_000_000_000
REPEATED = "repeated"
LATE = "late"


class Timeline:
    """Puts joint states on one line of time.

    A state is repeated if it has the stamp of the one before, or its very figures although the arm
    moves: a driver or a recorder that samples faster than the arm measures sends it twice, and a
    driver that hangs sends nothing else. An arm that stands still may well measure the same twice.

    Attributes:
        time: Of the last good state [ns], None before the first.
        dt: Time between the last two good states [s]; 0 if the last one follows on nothing.
        passed_over: Number of states passed over, by reason.
        lost_thread: Why the last state follows on nothing, in words; empty if it does.
    """

    def __init__(self, max_gap: float) -> None:
        """Begin without a state.

        Args:
            max_gap: Longest time between two states that follow on each other [s].
        """
        self.max_gap = max_gap
        self.passed_over: Counter[str] = Counter()
        self.restart()

    def restart(self) -> None:
        """Let the next state follow on nothing."""
        self.time: int | None = None
        self.dt = 0.0
        self.lost_thread = ""
        self._state = np.zeros(0)

    def accept(self, time: int, state: Floats) -> bool:
        """Tell whether a state is to be used, and set ``dt``.

        Args:
            time: When it was measured [ns].
            state: (3, n) finite position, velocity and effort.
        """
        self.lost_thread = ""
        if self.time is None:
            return self._take(time, state, 0.0)
        dt = (time - self.time) / NANOSECONDS
        if dt <= -self.max_gap:
            self.lost_thread = f"time jumped back by {-dt:.3g} s"
            return self._take(time, state, 0.0)
        if dt == 0.0 or (state[1].any() and np.array_equal(state, self._state)):
            self.passed_over[REPEATED] += 1
            return False
        if dt < 0.0:
            self.passed_over[LATE] += 1
            return False
        if dt > self.max_gap:
            self.lost_thread = f"no new joint state for {dt:.3g} s"
            return self._take(time, state, 0.0)
        return self._take(time, state, dt)

    def _take(self, time: int, state: Floats, dt: float) -> bool:
        self.time, self._state, self.dt = time, state, dt
        return True
