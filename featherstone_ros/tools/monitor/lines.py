"""The status of a node in one line, with the figures of its loop."""

from __future__ import annotations

from collections.abc import Mapping

from featherstone_ros.text import plain
from featherstone_ros.tools.node_status import NodeStatus

LONGEST = 10  # characters of a value
# What the diagnostics say, by its name in the line; the first key that a node has counts.
TIMES = (
    ("latency p50", ("latency p50 [us]",)),
    ("p99", ("latency p99 [us]",)),
    ("max", ("latency max [us]",)),
    ("jitter p99", ("period jitter p99 [us]",)),
    ("max", ("period jitter max [us]",)),
)
COUNTS = (
    ("overruns", ("overruns",)),
    ("lost", ("states lost", "commands lost")),
    ("saturated", ("commands saturated",)),
    ("governor", ("governor interventions",)),
)


def line(status: NodeStatus, now: float) -> str:
    """Return a node's status in one line.

    Args:
        status: The node's last.
        now: Steady time [s].
    """
    silence = [f"for {now - status.heard:.0f} s"] if status.is_silent(now) else []
    level = "SILENT" if silence else status.level.name
    notes = [f"{part}: {note.message}" for part, note in status.notes.items()]
    said = "; ".join([*silence, status.message, *notes])
    details = ", ".join(filter(None, [*figures(status.values), plain_value(status, "scheduling")]))
    return " | ".join(filter(None, [f"{level:6} {status.name}", status.state, said, details]))


def figures(values: Mapping[str, str]) -> list[str]:
    """Return the figures that a node tells; no times where none was measured in the last second."""
    measured = values.get("latency histogram [us]", "unknown")
    return [
        f"{name} {plain(values[key])[:LONGEST]}"
        for name, keys in (TIMES if measured else ()) + COUNTS
        for key in [key for key in keys if key in values][:1]
    ]


def plain_value(status: NodeStatus, key: str) -> str:
    """Return a detail of a node's status, empty if there is none."""
    return plain(status.values.get(key, ""))
