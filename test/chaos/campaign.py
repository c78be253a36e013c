"""Many episodes on several workers, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from report import Outcome, table, write_csv
from rich.console import Console
from rich.progress import track


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
