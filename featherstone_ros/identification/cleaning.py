"""Evenly spaced samples from recorded joint states with repetitions, jitter or gaps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.errors import IdentificationError
from featherstone_ros.identification.recording import (
    PAUSE,
    PAUSE_PERIODS,
    Recording,
    interpolated,
)

FEWEST = 3  # samples that determine a period


class Cleaned(NamedTuple):
    """Evenly spaced stretches of a recording, and notes on what was changed."""

    stretches: list[Recording]
    notes: list[str]


def clean(recording: Recording) -> Cleaned:
    """Make samples even.

    Samples that are not later than all before them are dropped. Pauses separate stretches. Repeated
    values mean that the recorder polls faster than the robot answers: if the stamps of the others
    are within one period of an even clock, that clock is taken as the robot's and replaces the
    recorder's stamps. Otherwise the stamps are trusted, and even samples are interpolated.
    """
    notes = []
    forward = np.append(True, recording.time[1:] > np.maximum.accumulate(recording.time)[:-1])
    if not forward.all():
        notes.append(f"{count(~forward)} not later than one before, dropped")
    recording = recording.where(forward)
    time = recording.time
    steps = np.diff(time)
    if len(steps) + 1 < FEWEST:
        raise IdentificationError(
            f"the recording is too short: {len(time)} joint states with times of their own"
        )
    pause = max(PAUSE, PAUSE_PERIODS * float(np.median(steps)))
    ends = np.flatnonzero(steps > pause) + 1
    if len(ends):
        plural = "s" * (len(ends) > 1)
        notes.append(f"{len(ends)} pause{plural}, {steps.max():.3g} s at most: treated separately")
    pieces = np.split(np.arange(len(time)), ends)
    long_enough = [recording.where(piece) for piece in pieces if len(piece) >= FEWEST]
    alone = len(time) - sum(len(piece.time) for piece in long_enough)
    if alone:
        notes.append(f"{alone} sample{'s' * (alone > 1)} alone between pauses, dropped")
    stretches, repeats, is_uneven = [], 0, False
    for piece in long_enough:
        t, values = piece.time, np.hstack(list(piece.measured.values()))
        again = np.append(False, (values[1:] == values[:-1]).all(axis=1))
        clock = even_clock(t[~again]) if again.any() else None
        if clock is None:
            clock = np.linspace(t[0], t[-1], len(t))
            is_uneven |= float(np.abs(clock - t).max()) > 0.01 * (clock[1] - clock[0])
            stretches.append(piece.resampled(clock, partial(interpolated, clock, t)))
        else:
            repeats += int(again.sum())
            stretches.append(replace(piece.where(~again), time=clock))
    if repeats:
        notes.append(f"{repeats} samples repeat the one before, dropped: the rest is even")
    if is_uneven:
        notes.append("uneven stamps: interpolated at even ones")
    return Cleaned(stretches, notes)


def even_clock(time: Floats) -> Floats | None:
    """Return the best evenly spaced times, None if one is more than a period off.

    ``time`` (N,) ascending [s].
    """
    if len(time) < FEWEST:
        return None
    index = np.arange(len(time))
    period, start = np.polyfit(index, time, 1)
    even = start + period * index
    return even if np.abs(even - time).max() < period else None


def count(which: NDArray[np.bool_]) -> str:
    """Say how many samples."""
    n = int(which.sum())
    return f"{n} sample{'s' * (n != 1)}"
