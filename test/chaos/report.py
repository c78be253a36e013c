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
    """An episode and what came out."""

    episode: Episode
    figures: Figures

    @property
    def fault(self) -> str:
        """The fault with its numbers, in words."""
        return ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else str(value)
            for name, value in asdict(self.episode.fault).items()
            if value and name != "links"
        )


def table(outcomes: Sequence[Outcome]) -> Table:
    """Return the worst figures (see ``Figures``) of each kind of fault, each class, and of all."""
    result = new_table("Worst of all episodes", "fault")
    for column in ("episodes", *COLUMNS, "failed"):
        result.add_column(column, justify="right", no_wrap=True)
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        fault, led = outcome.episode.fault, "hand" if outcome.episode.by_hand else "joints"
        for name in (fault.kind, f"class {fault.fault_class}", f"led by its {led}", "all"):
            groups.setdefault(name, []).append(outcome)
    kinds = {outcome.episode.fault.kind: "" for outcome in outcomes}  # in order, before the others
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
            failed, its = "; ".join(outcome.figures.faults), outcome.episode
            what = (its.seed, its.fault.fault_class, outcome.fault, its.at_rest, its.by_hand)
            writer.writerow((*what, *figures, failed))


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
                console.print(
                    f"seed {outcome.episode.seed} ({outcome.fault}): {what}", markup=False
                )
    except KeyboardInterrupt:
        console.print(f"stopped after {len(outcomes)} of {count} episodes")
    if not outcomes:
        return 1
    write_csv(outcomes, output)
    console.print(table(sorted(outcomes, key=lambda one: kinds.index(one.episode.fault.kind))))
    console.print(f"every episode: {output}")
    return int(any(outcome.figures.faults for outcome in outcomes))
