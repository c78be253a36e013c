"""What the terminal shows of the nodes."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from featherstone_ros.tools.bench.nodes.conditions import LOST
from featherstone_ros.tools.bench.nodes.loop import Loop, slowest_reaction
from featherstone_ros.tools.bench.results import Result
from featherstone_ros.tools.bench.words import duration, mark, rounded
from featherstone_ros.tools.style import new_table

_NOTES = (
    "reaction: a process publishes a joint state and waits for the command, 500 times a second; "
    "controllers and bare echo nodes take turns of seconds, the others are held still.",
    "floor: the controller's loop without a control law, a constant answer through librcl without "
    "the interpreter. raw echo: the same on rclpy's wait set. rclcpp echo: in C++, see --help.",
    "busy interpreter: a thread of Python that never rests in the process, a trajectory of 1,000 "
    "points ten times a second and parameters set 40 times a second.",
    "processor time: of the whole node, all threads, per joint state answered. states lost: those "
    "that no command came for; one that took more than a tenth of a second is late.",
    "jitter: |time between two publications - period| at 1 kHz, against a loop that only sleeps, "
    "by turns too.",
    "control cycle: a joint state's bytes to a command's while a trajectory is followed, without "
    "the middleware; after a sleep hardly anything is in the caches.",
    "Medians of the turns; the ratio is the median of the ratios of neighbouring turns.",
)
_NOTE_ON_LOOPS = (
    "Of several arms the worst is shown. late: states more than half a period after their time. "
    "silence: the longest without a command. Processor: of a core."
)


def tables_of_nodes(results: Sequence[Result], loops: Sequence[Loop]) -> Iterator[RenderableType]:
    """Yield the tables, with remarks on them; nothing if nothing was measured."""
    if results:
        yield from _ratios(results)
        yield from (Text(note, style="dim") for note in _NOTES)
        yield Text()
    if loops:
        yield _what_holds(loops)
        yield _times(loops)
        yield Text(_NOTE_ON_LOOPS, style="dim")
        yield from _remarks(loops)
        yield Text()


def _ratios(results: Sequence[Result]) -> Iterator[Table]:
    for (remark, peer), rows in groupby(results, lambda r: (r.remark, r.peer)):
        table = new_table(f"{remark}, against {peer}", "over DDS, 7 joints")
        for heading in ("ours", "theirs", "ratio", "target", "met"):
            table.add_column(heading, justify="right", no_wrap=True)
        for r in rows:
            target = str(r.target) if r.target else ""
            shown = f"{r.ratio:.0f}" if r.algorithm == LOST else rounded(r.ratio)
            table.add_row(r.algorithm, *_figures(r), shown, target, mark(r))
        yield table


def _figures(r: Result) -> tuple[str, str]:
    """Return ours and theirs: a time, or of lost states a number."""
    if r.algorithm == LOST:
        return f"{r.ours:.0f}", f"{r.theirs:.0f}"
    return duration(r.ours), duration(r.theirs)


def _what_holds(loops: Sequence[Loop]) -> Table:
    table = new_table("Closed loops of twin and controller", "loop", "scheduling")
    for heading in ("joints", "rate", "states", "unanswered", "late", "holds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for title, arms in _plans(loops):
        table.add_row(
            title,
            arms[0].scheduling,
            str(arms[0].joints),
            f"{arms[0].rate:g} Hz",
            f"{sum(loop.states for loop in arms):,}",
            str(sum(loop.unanswered for loop in arms)),
            str(sum(loop.gaps for loop in arms)),
            "[red]no[/red]" if any(loop.faults for loop in arms) else "[green]yes[/green]",
        )
    return table


def _times(loops: Sequence[Loop]) -> Table:
    table = new_table("From state to command, and processor of each node", "loop")
    for heading in ("p50", "p99", "longest", "silence", "controller", "twin"):
        table.add_column(heading, justify="right", no_wrap=True)
    for title, arms in _plans(loops):
        slowest = slowest_reaction(arms)
        load = [max(shares) for shares in zip(*(loop.load for loop in arms), strict=True)]
        table.add_row(
            title,
            *(map(duration, (slowest.p50, slowest.p99, slowest.longest)) if slowest else "–––"),
            duration(max(loop.silence for loop in arms)),
            *(f"{100 * share:.0f} %" for share in load),
        )
    return table


def _plans(loops: Sequence[Loop]) -> Iterator[tuple[str, list[Loop]]]:
    """Yield the arms that ran side by side, with their title."""
    for title, arms in groupby(loops, lambda loop: loop.title):
        yield title, list(arms)


def _remarks(loops: Sequence[Loop]) -> Iterator[Text]:
    """Yield in words what is wrong, and what is not known."""
    for loop in loops:
        if loop.faults:
            yield Text(f"{loop.title}, arm {loop.arm}: {', '.join(loop.faults)}", style="yellow")
    if all(loop.interventions is None for loop in loops):
        yield Text("The controller does not tell the governor's interventions.", style="dim")
