"""Timing of a compiled loop: its counters, read once a second."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from featherstone_ros._loop import RclLoop
from featherstone_ros.realtime.histogram import UPPER, LatencyHistogram

REPORT_PERIOD = 0.9  # shortest time between two reports [s]


class LoopTiming:
    """Latency, jitter and lost messages of one compiled loop, in words."""

    def __init__(self, loop: RclLoop, clock: Callable[[], float] = monotonic) -> None:
        """Begin.

        ``clock``: steady time [s].
        """
        self._loop = loop
        self._clock = clock
        self._begun = clock()
        self._reported: dict[str, object] = {}
        self._latency, self._jitter = RecentDurations(loop.latency), RecentDurations(loop.jitter)

    def report(self, lost: str = "states lost") -> dict[str, object]:
        """Return the timing of the last second, and the counts since the beginning.

        ``lost``: the name of the counter of lost messages.
        """
        now = self._clock()
        if not self._reported or now - self._begun >= REPORT_PERIOD:
            self._begun = now
            self._reported = diagnostic_values(self._latency.take(), self._jitter.take())
        counters = self._loop.counters()
        return {
            **self._reported,
            "overruns": counters["overruns"],
            lost: counters["lost"],
            "messages not published": counters["publish_failed"],
        }


class RecentDurations:
    """The durations since the last call, as differences of counts that only grow."""

    def __init__(self, read: Callable[[], tuple[bytes, float]]) -> None:
        """Start with empty counts; ``read`` is ``latency`` or ``jitter`` of an ``RclLoop``."""
        self._read = read
        self._before: NDArray[np.uint64] = np.zeros(len(UPPER) + 1, np.uint64)

    def take(self) -> LatencyHistogram:
        """Return the durations since the last call."""
        counts, longest = self._read()
        now = np.frombuffer(counts, np.uint64)
        recent, self._before = now - self._before, now
        return LatencyHistogram(recent, longest)


def diagnostic_values(latency: LatencyHistogram, jitter: LatencyHistogram) -> dict[str, object]:
    """Return latencies and deviations from the period as text for the diagnostics."""
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
