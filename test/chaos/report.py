"""The outcomes of many episodes: a table, and a line for each."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from arm import RECOVERY, RECOVERY_BY_HAND
from checks import Figures
from episodes import SPEED, SPEED_WITH_LOST_COMMANDS, Episode
from rich.table import Table

from featherstone_ros.tools.style import new_table

MILLI = 1e3
COLUMNS = ("step", "first", "beyond", "speed", "sag", "sag_share", "recovery", "force")


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
    """Return the worst figures by kind of fault."""
    result = new_table("Worst of all episodes", "fault")
    for column in (
        "episodes",
        "torque step\n/ allowed",
        "first command\n/ step",
        "beyond limits\n/ compliance",
        "speed\n/ limit",
        "sag at rest\nmrad",
        "sag in motion\nmrad",
        "sag\n/ allowed",
        "recovery\ns",
        "failed",
    ):
        result.add_column(column, justify="right", no_wrap=True)
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        result.add_row(kind, *row([outcome for outcome in outcomes if outcome.kind == kind]))
    result.add_section()
    for number in sorted({outcome.fault_class for outcome in outcomes}):
        same = [outcome for outcome in outcomes if outcome.fault_class == number]
        result.add_row(f"class {number}", *row(same))
    for name, by_hand in (("led by its joints", False), ("led by its hand", True)):
        if led := [outcome for outcome in outcomes if outcome.by_hand == by_hand]:
            result.add_row(name, *row(led))
    result.add_row("all", *row(outcomes))
    result.add_row(
        "bound",
        *("", "1", "1", "1", f"{SPEED:g}; {SPEED_WITH_LOST_COMMANDS:g}"),
        *("", "", "1", f"{RECOVERY:g}; {RECOVERY_BY_HAND:g}", ""),
        style="bold",
    )
    return result


def row(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the figures of some episodes, for a row of the table."""
    figures = [outcome.figures for outcome in outcomes]
    rest = [outcome.figures.sag for outcome in outcomes if outcome.at_rest]
    motion = [outcome.figures.sag for outcome in outcomes if not outcome.at_rest]
    failed = sum(bool(f.faults) for f in figures)
    return [
        str(len(outcomes)),
        *(f"{worst(figures, name):.2f}" for name in COLUMNS[:4]),
        f"{MILLI * max(rest):.1f}" if rest else "",
        f"{MILLI * max(motion):.1f}" if motion else "",
        f"{worst(figures, 'sag_share'):.2f}",
        f"{worst(figures, 'recovery'):.2f}",
        str(failed or ""),
    ]


def worst(figures: Sequence[Figures], name: str) -> float:
    """Return the largest of one figure."""
    return max(getattr(f, name) for f in figures)


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
