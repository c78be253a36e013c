"""Many episodes on several workers, and what came out: the worst by kind of fault, and a file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from arm import RECOVERY, RECOVERY_BY_HAND
from checks import Figures
from episodes import SPEED, SPEED_WITH_LOST_COMMANDS, Episode
from rich.console import Console
from rich.progress import track
from rich.table import Table

from featherstone_ros.tools.style import new_table

COLUMNS = ("step", "first", "beyond", "speed", "sag", "sag_share", "recovery", "force")
BOUNDS = ("1", "1", "1", f"{SPEED:g}; {SPEED_WITH_LOST_COMMANDS:g}", "", "1")
BOUNDS += (f"{RECOVERY:g}; {RECOVERY_BY_HAND:g}", "")


@dataclass(frozen=True)
class Outcome:
    """An episode and what came out.

    Attributes:
        seed: Of the episode.
        kind: Of fault.
        fault: With its numbers, in words.
        fault_class: Of docs/faults.md.
        at_rest: Whether the arm stood still when it came.
        by_hand: Whether the arm was led by its hand.
        figures: Of safety.
    """

    seed: int
    kind: str
    fault: str
    fault_class: int
    at_rest: bool
    by_hand: bool
    figures: Figures

    @classmethod
    def of(cls, episode: Episode, figures: Figures) -> Outcome:
        """Return what came out of an episode."""
        fault = ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else str(value)
            for name, value in asdict(episode.fault).items()
            if value and name != "links"
        )
        where = episode.at_rest, episode.by_hand
        its = episode.fault
        return cls(episode.seed, its.kind, fault, its.fault_class, *where, figures)


def table(outcomes: Sequence[Outcome]) -> Table:
    """Return the worst figures (see ``Figures``) of each kind of fault, each class, and of all."""
    result = new_table("Worst of all episodes", "fault")
    for column in ("episodes", *COLUMNS, "failed"):
        result.add_column(column, justify="right", no_wrap=True)
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        led = "hand" if outcome.by_hand else "joints"
        for name in (outcome.kind, f"class {outcome.fault_class}", f"led by its {led}", "all"):
            groups.setdefault(name, []).append(outcome)
    kinds = {outcome.kind: "" for outcome in outcomes}  # in their order, before the others
    for name in sorted(groups, key=lambda name: (name == "all", kinds.get(name, name))):
        figures = [outcome.figures for outcome in groups[name]]
        worst = [f"{max(getattr(one, what) for one in figures):.2f}" for what in COLUMNS]
        failed = sum(bool(one.faults) for one in figures)
        result.add_row(name, str(len(figures)), *worst, str(failed or ""))
    result.add_row("bound", "", *BOUNDS, "", style="bold")
    return result


def write_csv(outcomes: Sequence[Outcome], path: Path) -> None:
    """Write a line for every episode."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("seed", "class", "fault", "at_rest", "by_hand", *COLUMNS, "failed"))
        for outcome in outcomes:
            figures = [f"{getattr(outcome.figures, name):.6g}" for name in COLUMNS]
            failed = "; ".join(outcome.figures.faults)
            what = (outcome.seed, outcome.fault_class, outcome.fault)
            where = (outcome.at_rest, outcome.by_hand)
            writer.writerow((*what, *where, *figures, failed))


def run(outcome_of: Callable[[Any], Any], jobs: Iterable[Any], workers: int) -> Iterator[Any]:
    """Yield what comes of jobs, in order, from processes."""
    with get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(outcome_of, jobs)


def tell(episodes: Iterator[Outcome], count: int, kinds: Sequence[str], output: Path) -> int:
    """Tell of episodes as they end, then of all; return 1 if one has failed.

    Args:
        episodes: Their outcomes.
        count: How many there will be.
        kinds: Of fault, as the table has them.
        output: File for a line of each.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    console, outcomes = Console(width=max(Console().width, 120)), []
    try:
        for outcome in track(episodes, "Episodes", count, console=console, transient=True):
            outcomes.append(outcome)
            if outcome.figures.faults:
                what = "; ".join(outcome.figures.faults)
                console.print(f"seed {outcome.seed} ({outcome.fault}): {what}", markup=False)
    except KeyboardInterrupt:
        console.print(f"stopped after {len(outcomes)} of {count} episodes")
    if not outcomes:
        return 1
    write_csv(outcomes, output)
    console.print(table(sorted(outcomes, key=lambda outcome: kinds.index(outcome.kind))))
    console.print(f"every episode: {output}")
    return int(any(outcome.figures.faults for outcome in outcomes))
