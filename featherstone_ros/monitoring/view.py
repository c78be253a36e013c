"""What the monitor shows on a terminal: a table of figures, then what each node says."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from featherstone_ros.look import new_table
from featherstone_ros.monitoring.figures import FIGURES, Figure, histogram, scheduling, sketch
from featherstone_ros.monitoring.roster import Condition, Level

STYLES = {
    Level.OK: "green",
    Level.WARN: "bold yellow",
    Level.ERROR: "bold red",
    Level.STALE: "bold red",
}
NOBODY = "No node of ours has been heard on /diagnostics yet."


def view(conditions: Sequence[Condition], now: float) -> Group:
    """Return what there is to be seen of the nodes.

    Args:
        conditions: Of the nodes, in the order in which they are shown.
        now: Steady time [s].
    """
    if not conditions:
        return Group(Text(NOBODY, style="dim"))
    return Group(_table(conditions), *(_description(condition, now) for condition in conditions))


def _table(conditions: Sequence[Condition]) -> Table:
    table = new_table("Nodes on /diagnostics")
    table.add_column("node", overflow="fold")
    for figure in FIGURES:
        table.add_column(figure.heading, justify="right", no_wrap=True)
    for condition in conditions:
        name = _bullet(condition).append(condition.name)
        table.add_row(name, *(_cell(figure, condition) for figure in FIGURES))
    return table


def _bullet(condition: Condition) -> Text:
    return Text().append("● ", style=STYLES[condition.level])


def _cell(figure: Figure, condition: Condition) -> Text:
    value = figure.of(condition.values)
    if value is None:
        return Text("–", style="dim")
    is_bad = figure.is_fault and value != "0"
    return Text(value, style="bold yellow" if is_bad else "")


def _description(condition: Condition, now: float) -> Text:
    style = STYLES[condition.level]
    text = _bullet(condition).append(condition.name, style="bold")
    text.append(f"  {condition.state}  ")
    if condition.is_silent(now):
        text.append(f"silent for {now - condition.heard:.0f} s; last: ", style="bold red")
    text.append(condition.message, style=style)
    for part, message in condition.notes.items():
        text.append(f"\n  {part}: {message}", style=style)
    latencies, scheduled = histogram(condition.values), scheduling(condition.values)
    if latencies is not None:
        text.append("\n  latency  ").append(sketch(latencies), style="cyan")
    if scheduled:
        text.append(f"\n  scheduling  {scheduled}", style="dim")
    return text.append("\n")
