"""The figures of a node's loop, from the details of its diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from featherstone_ros.realtime.histogram import LatencyHistogram
from featherstone_ros.text import plain

BLOCKS = " ▁▂▃▄▅▆▇█"
LONGEST = 10  # characters of a value
WIDTH = 24  # characters of a histogram


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        keys: In the diagnostics; the first that a node has counts.
        short: Its name in plain text.
        heading: Of the column.
        group: Text above the heading.
        is_fault: Whether any value other than 0 deserves attention.
    """

    keys: tuple[str, ...]
    short: str
    heading: str
    group: str = ""
    is_fault: bool = False

    def of(self, values: Mapping[str, str]) -> str | None:
        """Return a node's value, None if it has none or nothing was measured in the last second."""
        if self.is_time and not values.get("latency histogram [us]", "unknown"):
            return None
        return next((plain(values[key])[:LONGEST] for key in self.keys if key in values), None)

    @property
    def width(self) -> int:
        """Width of the column with its gap [characters]."""
        return max(len(self.heading), len(self.group), 6) + 2

    @property
    def is_time(self) -> bool:
        """Whether it describes the last second rather than counts."""
        return self.keys[0].endswith("[us]")


COLUMNS = (
    Column(("latency p50 [us]",), "latency p50", "p50", "latency"),
    Column(("latency p99 [us]",), "p99", "p99", "[µs]"),
    Column(("latency max [us]",), "max", "max"),
    Column(("period jitter p99 [us]",), "jitter p99", "p99", "jitter"),
    Column(("period jitter max [us]",), "max", "max", "[µs]"),
    Column(("overruns",), "overruns", "overruns", is_fault=True),
    Column(("states lost", "commands lost"), "lost", "lost", is_fault=True),
    Column(("commands saturated",), "saturated", "saturated", is_fault=True),
    Column(("governor interventions",), "governor", "governor", is_fault=True),
)


def histogram(values: Mapping[str, str]) -> LatencyHistogram | None:
    """Return the latency histogram, None if there is none or it is malformed."""
    try:
        found = LatencyHistogram.from_text(values["latency histogram [us]"])
    except (KeyError, ValueError, OverflowError):
        return None
    return found if found.count else None


def scheduling(values: Mapping[str, str]) -> str:
    """Return how the node is scheduled, empty if it does not say."""
    return plain(values.get("scheduling", ""))


def sketch(latencies: LatencyHistogram, width: int = WIDTH) -> str:
    """Draw a histogram in a line, between the ends of the axis.

    Both axes are logarithmic: latency from left to right, and the height of the bars, so that one
    late cycle among a million is still visible.
    """
    ends, counts = latencies.used()
    low, high = max(ends[0] - 1.0, 1.0), ends[-1]
    edges = np.geomspace(low, max(high, 1.1 * low), width + 1)
    place = np.clip(np.searchsorted(edges, ends) - 1, 0, width - 1)
    bars = np.bincount(place, counts, width)
    share = np.log1p(bars) / np.log1p(bars.max())
    heights = np.ceil((len(BLOCKS) - 1) * share - 1e-9).astype(int)
    line = "".join(BLOCKS[height] for height in heights)
    return f"{low:.0f} {line} {high:.0f} µs"
