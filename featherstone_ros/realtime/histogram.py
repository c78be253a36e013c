"""A histogram of durations, cheap enough for a real-time loop."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from featherstone_ros._loop import HISTOGRAM_SIZES

# Buckets of 1 us, then buckets of COARSE_WIDTH us; one more holds the rest.
FINE, COARSE, COARSE_WIDTH = HISTOGRAM_SIZES
FINE_END = float(FINE)  # [us]
COARSE_END = FINE_END + COARSE * COARSE_WIDTH

UPPER = np.append(
    np.arange(1.0, FINE_END + 1.0),
    np.arange(FINE_END + COARSE_WIDTH, COARSE_END + 1.0, COARSE_WIDTH),
)  # [us] where each bucket but the last ends


class LatencyHistogram:
    """Counts durations in buckets of 1 us up to 4 ms, of 64 us up to 266 ms, and one beyond.

    ``add`` costs a fraction of a microsecond and allocates no memory.
    One thread adds; others may read meanwhile, and miss at most the newest durations.

    Attributes:
        max: The longest duration [s], 0 before the first.
    """

    __slots__ = ("_buckets", "_counts", "max")

    def __init__(self) -> None:
        """Begin without durations."""
        self._counts = array("Q", bytes(8 * (len(UPPER) + 1)))
        self._buckets = np.frombuffer(self._counts, np.uint64)  # the same memory, to be read
        self.max = 0.0

    @classmethod
    def from_counts(cls, counts: NDArray[np.uint64], longest: float) -> LatencyHistogram:
        """Return the histogram with ``counts`` in its buckets and a longest duration [s]."""
        histogram = cls()
        histogram._buckets[:] = counts
        histogram.max = longest
        return histogram

    def add(self, seconds: float) -> None:
        """Count a duration [s]; a negative one as 0."""
        us = seconds * 1e6
        if us < FINE_END:
            bucket = int(us) if us > 0.0 else 0
        elif us < COARSE_END:
            bucket = FINE + int(us - FINE_END) // COARSE_WIDTH
        else:
            bucket = FINE + COARSE
        self._counts[bucket] += 1
        if seconds > self.max:
            self.max = seconds

    @property
    def count(self) -> int:
        """Number of durations."""
        return int(self._buckets.sum())

    def percentile(self, p: float) -> float:
        """Return a duration that ``p`` percent do not exceed [s]; 0 if there is none.

        It is the end of the bucket in which the smallest such duration lies, at most ``max``.

        Raises:
            ValueError: ``p`` is not within 0 to 100.
        """
        if not 0.0 <= p <= 100.0:
            raise ValueError(f"p is {p}, expected 0 to 100")
        up_to = np.cumsum(self._buckets)
        if not up_to[-1]:
            return 0.0
        rank = max(np.ceil(p / 100.0 * up_to[-1]), 1.0)
        bucket = int(np.searchsorted(up_to, rank))
        return min(1e-6 * UPPER[bucket], self.max) if bucket < len(UPPER) else self.max

    def clear(self) -> None:
        """Forget all durations."""
        self._buckets[:] = 0
        self.max = 0.0

    def used(self) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
        """Return where the buckets that are not empty end [us], and their counts.

        The last bucket of all, which has no end, ends at the longest duration.
        """
        used = np.flatnonzero(self._buckets)
        longest = np.round(1e6 * self.max, 6)  # 515074 us as seconds are 515074.00000000006 us
        ends = np.append(UPPER, np.ceil(longest))[used]
        return ends, self._buckets[used]

    def text(self) -> str:
        """Return the buckets that are not empty, as ``end:count`` with the end in us, by blanks."""
        return " ".join(f"{end:.0f}:{count}" for end, count in zip(*self.used(), strict=True))

    @classmethod
    def from_text(cls, text: str) -> LatencyHistogram:
        """Return the histogram that ``text`` describes; its ``max`` is the end of a bucket.

        Raises:
            ValueError: It is not what ``text`` returns.
        """
        histogram = cls()
        for entry in text.split():
            end, separator, count = entry.partition(":")
            if not (separator and end.isdecimal() and count.isdecimal()):
                raise ValueError(f"histogram: {entry!r} is no bucket, expected end:count")
            bucket = int(np.searchsorted(UPPER, int(end)))
            if bucket < len(UPPER) and int(end) != UPPER[bucket]:
                raise ValueError(f"histogram: no bucket ends at {end} us")
            histogram._counts[bucket] += int(count)
            histogram.max = max(histogram.max, 1e-6 * int(end))
        return histogram
