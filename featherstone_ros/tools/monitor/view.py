"""What the monitor shows on a terminal: what each node says, with its figures below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.text import Text

from featherstone_ros.tools.monitor.columns import COLUMNS, Column, histogram, scheduling, sketch
from featherstone_ros.tools.monitor.roster import Level, NodeStatus

STYLES = {
    Level.OK: "green",
    Level.WARN: "bold yellow",
    Level.ERROR: "bold red",
    Level.STALE: "bold red",
}
NOBODY = "No node of ours has been heard on /diagnostics yet."
FEW = 4  # nodes whose histograms are shown; more would not fit on a screen


def view(conditions: Sequence[NodeStatus], now: float) -> Group:
    """Return what there is to be seen of the nodes; 80 columns are wide enough.

    Args:
        conditions: Of the nodes, in the order in which they are shown.
        now: Steady time [s].
    """
    if not conditions:
        return Group(Text(NOBODY, style="dim"))
    return Group(
        _row([(column.group, "dim") for column in COLUMNS]),
        _row([(column.heading, "bold") for column in COLUMNS]),
        *(
            part
            for condition in conditions
            for part in _node(condition, now, with_histogram=len(conditions) <= FEW)
        ),
    )


def _node(condition: NodeStatus, now: float, with_histogram: bool) -> Iterator[Text]:
    style = STYLES[condition.level]
    text = Text().append("● ", style=style).append(condition.name, style="bold")
    if condition.state != condition.message:
        text.append(f"  {condition.state}")
    text.append("  ")
    if condition.is_silent(now):
        text.append(f"silent for {now - condition.heard:.0f} s; last: ", style="bold red")
    yield text.append(condition.message, style=style)
    yield _row([_cell(column, condition) for column in COLUMNS])
    for part, note in condition.notes.items():
        yield Text(f"  {part}: {note.message}", style=STYLES[note.level])
    latencies, scheduled = histogram(condition.values), scheduling(condition.values)
    if latencies is not None and with_histogram:
        yield Text("  latency  ").append(sketch(latencies), style="cyan")
    if scheduled and scheduled != "default":
        yield Text(f"  scheduling  {scheduled}", style="dim")


def _row(cells: Sequence[tuple[str, str]]) -> Text:
    """Return texts with their styles, each flush right in its column."""
    row = Text()
    for column, (text, style) in zip(COLUMNS, cells, strict=True):
        row.append(text.rjust(column.width), style=style)
    return row


def _cell(column: Column, condition: NodeStatus) -> tuple[str, str]:
    value = column.of(condition.values)
    if value is None:
        return "–", "dim"
    return value, "bold yellow" if column.is_fault and value != "0" else ""
