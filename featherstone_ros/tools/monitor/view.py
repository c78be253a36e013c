"""What the monitor shows on a terminal: the status of each node, with its figures below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.text import Text

from featherstone_ros.control.diagnostics import DiagnosticLevel
from featherstone_ros.tools.monitor.columns import COLUMNS, Column, histogram, scheduling, sketch
from featherstone_ros.tools.monitor.node_status import NodeStatus

STYLES = {
    DiagnosticLevel.OK: "green",
    DiagnosticLevel.WARN: "bold yellow",
    DiagnosticLevel.ERROR: "bold red",
    DiagnosticLevel.STALE: "bold red",
}
NOBODY = "No featherstone_ros node has been heard on /diagnostics yet."
FEW = 4  # nodes whose histograms are shown; more would not fit on a screen


def view(nodes: Sequence[NodeStatus], now: float) -> Group:
    """Return the nodes' statuses as lines; they fit in 80 columns.

    Args:
        nodes: Their statuses, in the order shown.
        now: Steady time [s].
    """
    if not nodes:
        return Group(Text(NOBODY, style="dim"))
    return Group(
        _row([(column.group, "dim") for column in COLUMNS]),
        _row([(column.heading, "bold") for column in COLUMNS]),
        *(
            part
            for status in nodes
            for part in _node(status, now, with_histogram=len(nodes) <= FEW)
        ),
    )


def _node(status: NodeStatus, now: float, with_histogram: bool) -> Iterator[Text]:
    style = STYLES[status.level]
    text = Text().append("● ", style=style).append(status.name, style="bold")
    if status.state != status.message:
        text.append(f"  {status.state}")
    text.append("  ")
    if status.is_silent(now):
        text.append(f"silent for {now - status.heard:.0f} s; last: ", style="bold red")
    yield text.append(status.message, style=style)
    yield _row([_cell(column, status) for column in COLUMNS])
    for part, note in status.notes.items():
        yield Text(f"  {part}: {note.message}", style=STYLES[note.level])
    latencies, scheduled = histogram(status.values), scheduling(status.values)
    if latencies is not None and with_histogram:
        yield Text("  latency  ").append(sketch(latencies), style="cyan")
    if scheduled and scheduled != "default":
        yield Text(f"  scheduling  {scheduled}", style="dim")


def _row(cells: Sequence[tuple[str, str]]) -> Text:
    """Return texts with their styles, each right-aligned in its column."""
    row = Text()
    for column, (text, style) in zip(COLUMNS, cells, strict=True):
        row.append(text.rjust(column.width), style=style)
    return row


def _cell(column: Column, status: NodeStatus) -> tuple[str, str]:
    value = column.of(status.values)
    if value is None:
        return "–", "dim"
    return value, "bold yellow" if column.is_fault and value != "0" else ""
