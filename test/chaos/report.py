"""The outcomes of many episodes: table, CSV and picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from arm import RECOVERY, RECOVERY_BY_HAND
from checks import Figures
from episodes import SPEED, SPEED_WITH_LOST_COMMANDS, Episode
from rich.table import Table

from featherstone_ros.tools.style import BLUE, GREY, RED, new_table, picture

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
        most_speed: That it promises for it, over the limit.
        at_rest: Whether the arm stood still when it came.
        by_hand: Whether the arm was led by its hand.
        figures: Of safety.
    """

    seed: int
    kind: str
    fault: str
    fault_class: int
    most_speed: float
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
        promise = episode.fault.fault_class, episode.fault.most_speed
        where = episode.at_rest, episode.by_hand
        return cls(episode.seed, episode.fault.kind, fault, *promise, *where, figures)


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


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw every episode's figures over its bounds, by kind of fault."""
    kinds = list(dict.fromkeys(outcome.kind for outcome in outcomes))[::-1]
    place = np.array([kinds.index(outcome.kind) for outcome in outcomes])
    place = place + np.random.default_rng(0).uniform(-0.25, 0.25, len(place))
    bad = np.array([bool(outcome.figures.faults) for outcome in outcomes])
    panels = (
        ("torque step", [o.figures.step for o in outcomes]),
        ("speed", [o.figures.speed / o.most_speed for o in outcomes]),
        ("sag", [o.figures.sag_share for o in outcomes]),
        (
            "recovery time",
            [o.figures.recovery / (RECOVERY_BY_HAND if o.by_hand else RECOVERY) for o in outcomes],
        ),
    )
    with picture(path, 32) as pyplot:
        figure, axes = pyplot.subplots(1, len(panels), sharey=True, figsize=(9.0, 5.5), dpi=150)
        for axis, (name, values) in zip(axes, panels, strict=True):
            values = np.clip(values, 0.0, 2.0)
            for chosen, colour in ((~bad, BLUE), (bad, RED)):
                axis.plot(values[chosen], place[chosen], ".", ms=3, color=colour)
            axis.axvline(1.0, color=GREY, lw=0.7)
            axis.set_xlim(-0.05, max(1.1, float(values.max()) + 0.05))
            axis.set_xlabel(f"{name} / bound")
        axes[0].set_yticks(range(len(kinds)), kinds)
        figure.tight_layout()
