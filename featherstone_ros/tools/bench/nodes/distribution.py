"""Distributions of times: some percentiles, and the raw histogram."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats

PER_DECADE = 50
EDGES = 1e-7 * 10 ** (np.arange(8 * PER_DECADE + 1) / PER_DECADE)  # [s] 100 ns to 10 s


@dataclass(frozen=True)
class Distribution:
    """How long something took, many times.

    Attributes:
        what: What was timed: ``reaction``, ``jitter`` or ``loop``.
        who: Whose time it is.
        scheduling: How the processes were scheduled.
        p50: Median [s].
        p99: 99th percentile [s].
        longest: Longest [s].
        first_bin: Index of the first of ``counts`` among the bins between ``EDGES``.
        counts: How many times fell into each bin, from the first to the last that has any; what is
            beyond ``EDGES`` is counted in the bin at that end.
    """

    what: str
    who: str
    scheduling: str
    p50: float
    p99: float
    longest: float
    first_bin: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, what: str, who: str, scheduling: str, seconds: Floats) -> "Distribution":
        """Return the distribution of (N,) times [s], N > 0."""
        p50, p99 = np.percentile(seconds, (50, 99))
        counts, _ = np.histogram(np.clip(seconds, EDGES[0], EDGES[-1]), EDGES)
        first, last = np.flatnonzero(counts)[[0, -1]]
        return cls(
            what, who, scheduling, float(p50), float(p99), float(seconds.max()),
            int(first), tuple(counts[first : last + 1].tolist()),
        )  # fmt: skip

    @property
    def edges(self) -> Floats:
        """(len(counts) + 1,) bounds of the bins [s]."""
        return EDGES[self.first_bin : self.first_bin + len(self.counts) + 1]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self) | {"bins_per_decade": PER_DECADE, "first_edge": float(self.edges[0])}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Distribution":
        """Return the distribution that ``as_dict`` was made from."""
        values = {k: v for k, v in values.items() if k not in ("bins_per_decade", "first_edge")}
        return cls(**values | {"counts": tuple(values["counts"])})
