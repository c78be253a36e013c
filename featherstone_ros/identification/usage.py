"""What of a recording was used, what was dropped, and why: in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from featherstone_ros.identification.cleaning import clean
from featherstone_ros.identification.errors import IdentificationError
from featherstone_ros.identification.filtering import SHORTEST
from featherstone_ros.identification.recording import PAUSE, PAUSE_PERIODS, Recording

OFTEN, LACKING = 10, 0.3  # percentile of the steps of time that is the driver's; share that lacks
FEW = 0.8  # share of a recording that is used, below which the line begins with "only"


def usage(recording: Recording, cut_off: float) -> str:
    """Return the line.

    ``cut_off``: of the filter [Hz], which takes no stretch that is too short for it.
    """
    cleaned = clean(recording)
    needed = SHORTEST / cut_off
    used = [s for s in cleaned.stretches if s.duration >= needed]
    short = [s for s in cleaned.stretches if s.duration < needed]
    total = max(recording.duration, 1e-9)
    kept = sum(len(s.time) for s in used)
    recorded = max(recording.recorded, len(recording.time))
    what = (
        f"{_seconds(used):.3g} of {total:.3g} s used, {kept} of {recorded} joint states of "
        f"{recording.topic}"
    )
    only = "only " if _seconds(used) < FEW * total else ""
    line = [
        only + what,
        *_lacking(recording),
        *(f"{why}, dropped" for why in recording.dropped),
        *cleaned.notes,
    ]
    if short:
        line.append(
            f"{len(short)} stretch{'es' * (len(short) > 1)} between pauses, together "
            f"{_seconds(short):.3g} s, dropped: shorter than the {needed:.3g} s that a filter of "
            f"{cut_off:g} Hz needs"
        )
    if kept == recorded:
        line.append("nothing dropped")
    constant = (f"{joint} ({value:.4g})" for joint, value in recording.constant.items())
    if joints := ", ".join(constant):
        line.append(
            f"effort never changes, as if it were not measured, and does not count: {joints}"
        )
    return ". ".join(part[0].upper() + part[1:] for part in [*line, *recording.notes])


def _lacking(recording: Recording) -> list[str]:
    """Say how many states are not there, by the stamps of those that are, if many."""
    steps = np.diff(recording.time)
    steps = steps[steps > 0]
    if not len(steps):
        return []
    steps = steps[steps <= max(PAUSE, PAUSE_PERIODS * float(np.median(steps)))]
    period = float(np.percentile(steps, OFTEN))
    expected = round(steps.sum() / period)
    missing = expected - len(steps)
    if missing < LACKING * expected:
        return []
    return [
        f"{missing} of {expected} joint states are not there, as their stamps say: lost on the "
        "way; what is between them is interpolated, and all that is found from them less certain "
        "than it says"
    ]


@contextmanager
def telling(lines: Sequence[str]) -> Iterator[None]:
    """Add to a refusal what was used."""
    try:
        yield
    except IdentificationError as error:
        raise IdentificationError(". ".join([str(error).rstrip("."), *lines])) from None


def _seconds(stretches: Sequence[Recording]) -> float:
    return sum(stretch.duration for stretch in stretches)
