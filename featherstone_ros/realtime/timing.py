"""How punctual a loop is, counted by the loop and reported once a second by another thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from featherstone_ros.realtime.histogram import LatencyHistogram
from featherstone_ros.realtime.jitter import PeriodJitter

REPORTED = 0.9  # [s] that a report is about, at least


class Timing:
    """Latency, jitter and lost messages of one loop.

    Attributes:
        overruns: Cycles that took too long, or began too late, in all.
        lost: Messages that a publisher sent and that never came, in all.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Begin.

        Args:
            clock: Steady time [s].
        """
        self.overruns = 0
        self._clock = clock
        self._begun = clock()
        self._reported: dict[str, object] = {}
        self.lost = 0
        self._latency = LatencyHistogram()
        self._jitter = PeriodJitter(0.0)
        self._newest: int | None = None  # sequence number of the last message
        self._gap = 0

    def arrived(self, info: Mapping[str, Any]) -> None:
        """Count the messages missing before this one.

        Publishers number their messages, but nothing says which of several sent one: a gap counts
        only once the numbers go on behind it.

        Args:
            info: What rclpy knows about the message.
        """
        number = info["publication_sequence_number"]
        if number is None:
            return
        if self._newest is None or number < self._newest:
            self._gap = 0
        else:
            self.lost += self._gap
            self._gap = number - self._newest - 1
        self._newest = number

    def answered(self, taken: float, allowed: float = 0.0) -> None:
        """Count what it took to answer a message, or to do what was due [s].

        Args:
            taken: [s].
            allowed: More is an overrun [s]; 0: nothing is.
        """
        self._latency.add(taken)
        if taken > allowed > 0.0:
            self.overruns += 1

    def woke(self, now: float, period: float) -> None:
        """Count a wake-up.

        Args:
            now: Steady time [s].
            period: Time since the last one as it should be [s]; 0: any.
        """
        if not period:
            self._jitter.skip()
        self._jitter.period = period
        self._jitter.add(now)

    def report(self, lost: str = "states lost") -> dict[str, object]:
        """Return in words what there was in the last second, the counts from the beginning.

        Asked more often than once a second it returns the same latencies: a percentile of a few
        cycles would say nothing.

        Args:
            lost: What to call the messages that never came.
        """
        now = self._clock()
        if not self._reported or now - self._begun >= REPORTED:
            self._begun = now
            latency, self._latency = self._latency, LatencyHistogram()
            jitter, self._jitter = self._jitter, PeriodJitter(0.0)
            self._reported = in_words(latency, jitter.deviations)
        return {**self._reported, "overruns": self.overruns, lost: self.lost}


def in_words(latency: LatencyHistogram, jitter: LatencyHistogram) -> dict[str, object]:
    """Return latencies and deviations from the period as the diagnostics have them."""
    return {
        "latency p50 [us]": microseconds(latency.percentile(50.0)),
        "latency p99 [us]": microseconds(latency.percentile(99.0)),
        "latency max [us]": microseconds(latency.max),
        "latency histogram [us]": latency.text(),
        "period jitter p99 [us]": microseconds(jitter.percentile(99.0)),
        "period jitter max [us]": microseconds(jitter.max),
    }


def microseconds(seconds: float) -> str:
    """Return a duration in whole microseconds."""
    return f"{1e6 * seconds:.0f}"
