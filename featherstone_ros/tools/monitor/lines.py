"""The condition of a node in a line of plain text, for logs and pipes."""

from __future__ import annotations

from featherstone_ros.tools.monitor.columns import COLUMNS, scheduling
from featherstone_ros.tools.monitor.roster import NodeStatus


def line(condition: NodeStatus, now: float) -> str:
    """Return one line.

    Args:
        condition: Of the node.
        now: Steady time [s].
    """
    level = "SILENT" if condition.is_silent(now) else condition.level.name
    notes = [f"{part}: {note.message}" for part, note in condition.notes.items()]
    said = "; ".join([condition.message, *notes])
    values = [
        f"{column.short} {value}"
        for column in COLUMNS
        if (value := column.of(condition.values)) is not None
    ]
    details = ", ".join(filter(None, [*values, scheduling(condition.values)]))
    return " | ".join(filter(None, [f"{level:6} {condition.name}", condition.state, said, details]))
