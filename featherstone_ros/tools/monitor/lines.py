"""The status of a node as one line of plain text, for logs and pipes."""

from __future__ import annotations

from featherstone_ros.tools.monitor.columns import COLUMNS, scheduling
from featherstone_ros.tools.monitor.node_status import NodeStatus


def line(status: NodeStatus, now: float) -> str:
    """Return a node's status in one line.

    Args:
        status: The node's last.
        now: Steady time [s].
    """
    level = "SILENT" if status.is_silent(now) else status.level.name
    notes = [f"{part}: {note.message}" for part, note in status.notes.items()]
    said = "; ".join([status.message, *notes])
    values = [
        f"{column.short} {value}"
        for column in COLUMNS
        if (value := column.of(status.values)) is not None
    ]
    details = ", ".join(filter(None, [*values, scheduling(status.values)]))
    return " | ".join(filter(None, [f"{level:6} {status.name}", status.state, said, details]))
