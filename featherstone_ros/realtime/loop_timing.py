"""Timing of a compiled loop: its counters, read once a second."""

from __future__ import annotations

from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from featherstone_ros._loop import HISTOGRAM_SIZES, RclLoop

REPORT_PERIOD = 0.9  # shortest time between two reports [s]

# Buckets of 1 us, then buckets of COARSE_WIDTH us; one more holds the rest.
FINE, COARSE, COARSE_WIDTH = HISTOGRAM_SIZES
FINE_END = float(FINE)  # [us]
COARSE_END = FINE_END + COARSE * COARSE_WIDTH

UPPER = np.append(
    np.arange(1.0, FINE_END + 1.0),
    np.arange(FINE_END + COARSE_WIDTH, COARSE_END + 1.0, COARSE_WIDTH),
)  # [us] where each bucket but the last ends


class LatencyHistogram:
    """Durations in buckets of 1 us up to 4 ms, of 64 us up to 266 ms, and one beyond.

    A loop counts them (cython_core/ros/timing.pxd).

    Attributes:
        max: The longest duration [s], 0 before the first.
    """

    def __init__(self, counts: NDArray[np.uint64] | None = None, longest: float = 0.0) -> None:
        """Take the counts of the buckets, none by default, and the longest duration [s]."""
        self._counts = np.zeros(len(UPPER) + 1, np.uint64) if counts is None else counts
        self.max = longest

    def percentile(self, p: float) -> float:
        """Return a duration that ``p`` percent do not exceed [s]; 0 if there is none.

        It is the end of the bucket in which the smallest such duration lies, at most ``max``.
        """
        if not 0.0 <= p <= 100.0:
            raise ValueError(f"p is {p}, expected 0 to 100")
        up_to = np.cumsum(self._counts)
        if not up_to[-1]:
            return 0.0
        rank = max(np.ceil(p / 100.0 * up_to[-1]), 1.0)
        bucket = int(np.searchsorted(up_to, rank))
        return min(1e-6 * UPPER[bucket], self.max) if bucket < len(UPPER) else self.max

    def text(self) -> str:
        """Return the buckets that are not empty, as ``end:count`` with the end in us, by blanks.

        The last bucket of all, which has no end, ends at the longest duration.
        """
        used = np.flatnonzero(self._counts)
        longest = np.round(1e6 * self.max, 6)  # 515074 us as seconds are 515074.00000000006 us
        ends = np.append(UPPER, np.ceil(longest))[used]
        return " ".join(
            f"{e:.0f}:{count}" for e, count in zip(ends, self._counts[used], strict=True)
        )


class LoopTiming:
    """Latency, jitter and lost messages of one compiled loop, in words."""

    def __init__(self, loop: RclLoop) -> None:
        """Begin."""
        self._loop = loop
        self._begun = -inf
        self._reported: dict[str, object] = {}
        self._before: dict[str, NDArray[np.uint64]] = {}

    def report(self, lost: str = "states lost") -> dict[str, object]:
        """Return the timing of the last second, and the counts since the beginning.

        ``lost``: the name of the counter of lost messages.
        """
        now = monotonic()
        if now - self._begun >= REPORT_PERIOD:
            self._begun = now
            latency = self._recent("latency", *self._loop.latency())
            jitter = self._recent("jitter", *self._loop.jitter())
            self._reported = {
                "latency p50 [us]": microseconds(latency.percentile(50.0)),
                "latency p99 [us]": microseconds(latency.percentile(99.0)),
                "latency max [us]": microseconds(latency.max),
                "latency histogram [us]": latency.text(),
                "period jitter p99 [us]": microseconds(jitter.percentile(99.0)),
                "period jitter max [us]": microseconds(jitter.max),
            }
        counters = self._loop.counters()
        return {
            **self._reported,
            "overruns": counters["overruns"],
            lost: counters["lost"],
            "messages not published": counters["publish_failed"],
        }

    def _recent(self, name: str, counts: bytes, longest: float) -> LatencyHistogram:
        """Return the durations since the last call: counts only grow."""
        now = np.frombuffer(counts, np.uint64)
        before, self._before[name] = self._before.get(name, np.zeros_like(now)), now
        return LatencyHistogram(now - before, longest)


def microseconds(seconds: float) -> str:
    """Return a duration in whole microseconds."""
    return f"{1e6 * seconds:.0f}"
