"""Timing of a compiled loop: its counters, read once a second."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.realtime.histogram import UPPER, LatencyHistogram

REPORTED = 0.9  # [s] that a report is about, at least


class Counting(Protocol):
    """The source of the counts: a ``Runner`` of the compiled loop."""

    def latency(self) -> tuple[bytes, float]:
        """Return all counts so far, and the longest since the last call [s]."""

    def jitter(self) -> tuple[bytes, float]:
        """Return the same of the deviations from the period."""

    def counters(self) -> dict[str, int]:
        """Return the other counters."""


class LoopTiming:
    """Latency, jitter and lost messages of one compiled loop, in words."""

    def __init__(self, loop: Counting, clock: Callable[[], float] = monotonic) -> None:
        """Begin.

        Args:
            loop: The source of the counts.
            clock: Steady time [s].
        """
        self._loop = loop
        self._clock = clock
        self._begun = clock()
        self._reported: dict[str, object] = {}
        self._latency, self._jitter = Recent(loop.latency), Recent(loop.jitter)

    def report(self, lost: str = "states lost") -> dict[str, object]:
        """Return the timing of the last second, and the counts since the beginning.

        Args:
            lost: The name of the counter of lost messages.
        """
        now = self._clock()
        if not self._reported or now - self._begun >= REPORTED:
            self._begun = now
            self._reported = in_words(self._latency.take(), self._jitter.take())
        counters = self._loop.counters()
        return {**self._reported, "overruns": counters["overruns"], lost: counters["lost"]}


class Recent:
    """The durations since the last call, from counts that only grow."""

    def __init__(self, read: Callable[[], tuple[bytes, float]]) -> None:
        """Remember the source."""
        self._read = read
        self._before: NDArray[np.uint64] = np.zeros(len(UPPER) + 1, np.uint64)

    def take(self) -> LatencyHistogram:
        """Return them."""
        counts, longest = self._read()
        now = np.frombuffer(counts, np.uint64)
        recent, self._before = now - self._before, now
        return LatencyHistogram.from_counts(recent, longest)


def in_words(latency: LatencyHistogram, jitter: LatencyHistogram) -> dict[str, object]:
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
