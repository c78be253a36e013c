"""Evenly spaced samples from recorded joint states with repetitions, jitter or gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.errors import EvaluationError
from featherstone_ros.identification.recording import PAUSE, PAUSE_PERIODS, Recording

FEWEST = 3  # samples that determine a period


@dataclass(frozen=True, eq=False)
class Samples:
    """A stretch of evenly spaced samples; arrays as in ``Recording``."""

    time: Floats
    position: Floats
    velocity: Floats | None
    effort: Floats

    @property
    def period(self) -> float:
        """Time between two samples [s]."""
        return float(self.time[-1] - self.time[0]) / (len(self.time) - 1)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.time[-1] - self.time[0])


@dataclass(frozen=True, eq=False)
class Cleaned:
    """Evenly spaced stretches, and notes on what was changed."""

    stretches: tuple[Samples, ...]
    notes: tuple[str, ...]


def clean(recording: Recording) -> Cleaned:
    """Make samples even.

    Samples that are not later than all before them are dropped. Pauses separate stretches. Repeated
    values mean that the recorder polls faster than the robot answers: if the stamps of the others
    are within one period of an even clock, that clock is taken as the robot's and replaces the
    recorder's stamps. Otherwise the stamps are trusted, and even samples are interpolated.

    Raises:
        EvaluationError: No stretch has enough samples to determine a period.
    """
    notes = []
    forward = np.append(True, recording.time[1:] > np.maximum.accumulate(recording.time)[:-1])
    if not forward.all():
        notes.append(f"{count(~forward)} not later than one before, dropped")
    time, values = recording.time[forward], _stacked(recording)[forward]
    steps = np.diff(time)
    if len(steps) + 1 < FEWEST:
        raise EvaluationError(
            f"the recording is too short: {len(time)} joint states with times of their own"
        )
    pause = max(PAUSE, PAUSE_PERIODS * float(np.median(steps)))
    ends = np.flatnonzero(steps > pause) + 1
    if len(ends):
        plural = "s" * (len(ends) > 1)
        notes.append(f"{len(ends)} pause{plural}, {steps.max():.3g} s at most: treated separately")
    pieces = zip(np.split(time, ends), np.split(values, ends), strict=True)
    long_enough = [(t, v) for t, v in pieces if len(t) >= FEWEST]
    alone = len(time) - sum(len(t) for t, _ in long_enough)
    if alone:
        notes.append(f"{alone} sample{'s' * (alone > 1)} alone between pauses, dropped")
    stretches, repeats, interpolated = [], 0, False
    for t, v in long_enough:
        again = np.append(False, (v[1:] == v[:-1]).all(axis=1))
        clock = even_clock(t[~again]) if again.any() else None
        if clock is None:
            clock = np.linspace(t[0], t[-1], len(t))
            interpolated |= float(np.abs(clock - t).max()) > 0.01 * (clock[1] - clock[0])
            v = np.column_stack([np.interp(clock, t, column) for column in v.T])
        else:
            repeats += int(again.sum())
            v = v[~again]
        stretches.append(Samples(clock, *_unstacked(v, recording)))
    if repeats:
        notes.append(f"{repeats} samples repeat the one before, dropped: the rest is even")
    if interpolated:
        notes.append("uneven stamps: interpolated at even ones")
    return Cleaned(tuple(stretches), tuple(notes))


def even_clock(time: Floats) -> Floats | None:
    """Return the best evenly spaced times, None if one is more than a period off.

    Args:
        time: (N,) ascending [s].
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


def _stacked(recording: Recording) -> Floats:
    return np.hstack([x for x in _fields(recording) if x is not None])


def _unstacked(values: Floats, recording: Recording) -> Iterator[Any]:
    n, at = len(recording.joint_names), 0
    for field in _fields(recording):
        if field is None:
            yield None
        else:
            yield np.ascontiguousarray(values[:, at : at + n])
            at += n


def _fields(recording: Recording) -> tuple[Floats | None, ...]:
    return recording.position, recording.velocity, recording.effort
