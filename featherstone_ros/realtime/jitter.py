"""How regularly a periodic loop wakes up."""

from __future__ import annotations

from featherstone_ros.realtime.histogram import LatencyHistogram


class PeriodJitter:
    """Counts by how much the times between successive wake-ups differ from the period.

    Attributes:
        period: What the time between two wake-ups should be [s]; may be changed.
        deviations: Absolute differences from it.
    """

    __slots__ = ("_last", "deviations", "period")

    def __init__(self, period: float) -> None:
        """Begin before the first wake-up.

        Args:
            period: [s].
        """
        self.period = period
        self.deviations = LatencyHistogram()
        self._last: float | None = None

    def add(self, now: float) -> None:
        """Count a wake-up at steady time ``now`` [s]."""
        if self._last is not None:
            self.deviations.add(abs(now - self._last - self.period))
        self._last = now

    def skip(self) -> None:
        """Expect the next wake-up at any time, e.g. after a pause."""
        self._last = None
