"""How simulation time follows real time."""

from __future__ import annotations

from math import inf

CATCH_UP = 0.1  # [s] of real time that is made good after a stall; the rest is given up
SHORTEST_TICK = 0.001  # [s] between two calls of ``due``: more calls would only cost


class Pace:
    """Counts periods against a steady clock: no drift, however irregularly it is called.

    After a stall at most twice the usual number of periods is due per call, so that commands still
    come between them.

    Attributes:
        tick: How often ``due`` is to be called [s]; 0 is as often as possible.
        overruns: Number of stalls too long to be made good.
    """

    def __init__(self, period: float, factor: float, now: float) -> None:
        """Start counting.

        Args:
            period: Simulation time of one period [s].
            factor: Simulation time per real time; 0 is as fast as possible.
            now: Real time [s].
        """
        self._real_period = period / factor if factor else 0.0
        self.tick = max(self._real_period, SHORTEST_TICK) if factor else 0.0
        self.overruns = 0
        self.restart(now)

    def restart(self, now: float) -> None:
        """Count from now, e.g. after a pause."""
        # Half a period back: calls that come a little early or late still find one period due.
        self._origin = now - 0.5 * self._real_period
        self._done = 0
        self._called = -inf

    @property
    def next(self) -> float:
        """When ``due`` is to be called next [s]."""
        if not self._real_period:
            return -inf
        periods = max(1, round(self.tick / self._real_period))
        punctual = self._origin + (self._done + periods + 0.5) * self._real_period
        # After a stall there is time for commands between the calls.
        return max(punctual, self._called + 0.5 * self.tick)

    def due(self, now: float) -> list[float]:
        """Return for each period to advance at real time ``now`` how long ago it was due [s]."""
        if not self._real_period:
            return [0.0]
        self._called = now
        behind = int((now - self._origin) / self._real_period) - self._done
        most_behind = max(1, round(CATCH_UP / self._real_period))
        if behind > most_behind:
            self.overruns += 1
            self._done += behind - most_behind
            behind = most_behind
        count = max(0, min(behind, 2 * max(1, round(self.tick / self._real_period))))
        first = self._origin + (self._done + 1.5) * self._real_period
        self._done += count
        return [now - first - index * self._real_period for index in range(count)]
