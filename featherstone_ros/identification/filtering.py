"""Makes recorded samples even, smooths them and differentiates them for acceleration.

``clean`` takes out repetitions, jitter and gaps; ``smooth`` filters what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import IdentificationError, needed
from featherstone_ros.identification.recording import Recording, interpolated, pause
from featherstone_ros.model.drives import PRESLIDING_DISPLACEMENT, presliding

FEWEST = 3  # samples that determine a period
ORDER = 4  # of the Butterworth filter, which runs forward and backward
# Periods of the cut-off frequency dropped at either end, where the filter lacks data: if velocity
# was measured, and if position is differentiated twice.
SETTLING, SETTLING_TWICE = 0.7, 2.0
STEADYING = 0.035  # [s] standard deviation of the window that removes an encoder's flicker
PLAY = 0.2  # of the displacement: what an encoder flickers by less does not count as motion
RESTING = 1e-3  # [rad/s or m/s] a joint that is slower sticks
STICKING_WEIGHT, STICKING_POWER = 0.1, 4  # a sticking joint's weight: least, power
LEAST_PERIODS = 6.0  # periods of the cut-off frequency that a stretch must last


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
    ends = np.flatnonzero(steps > pause(steps)) + 1
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
    """Return the best evenly spaced times, None if one is more than a period off."""
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


@dataclass(frozen=True, eq=False)
class SmoothMotion:
    """A filtered motion and its torque; all (N, n) but time."""

    time: Floats  # (N,) [s]
    position: Floats  # [rad or m]
    velocity: Floats  # [rad/s or m/s]
    acceleration: Floats  # [rad/s^2 or m/s^2]
    sliding: Floats  # the presliding state, filtered: Coulomb friction per unit
    effort: Floats  # [N m or N]
    # Bounds of ``sliding``, filtered: a joint at rest sticks, and bears any torque up to its
    # Coulomb friction.
    low: Floats
    high: Floats

    @property
    def state(self) -> tuple[Floats, Floats, Floats]:
        """Position, velocity and acceleration."""
        return self.position, self.velocity, self.acceleration

    @property
    def trust(self) -> Floats:
        """(N, n) weights: what a joint bears at rest says nothing of its friction in motion."""
        return weight(1.0 - (self.high - self.low) / 2.0)

    def thinned(self, every: int) -> SmoothMotion:
        """Return one sample of ``every``."""
        return SmoothMotion(
            *(np.ascontiguousarray(getattr(self, f.name)[::every]) for f in fields(self))
        )

    def of(self, joints: Sequence[int]) -> SmoothMotion:
        """Return the motion of these joints only."""
        arrays = (getattr(self, field.name) for field in fields(self)[1:])
        return SmoothMotion(self.time, *(np.ascontiguousarray(x[:, joints]) for x in arrays))


def weight(moving: Floats) -> Floats:
    """Return the weight of a joint that moves for this share of the time, filtered."""
    return np.clip(moving, STICKING_WEIGHT, 1.0) ** STICKING_POWER


class ZeroPhase:
    """A low-pass filter without delay, for one sampling rate."""

    def __init__(self, cut_off: float, period: float) -> None:
        """Design the filter."""
        if not 0 < cut_off * period < 0.5:
            raise IdentificationError(
                f"a filter of {cut_off:g} Hz needs more than {2 * cut_off:g} samples per second; "
                f"the recording has {1 / period:.4g}"
            )
        self._width = round(2 / (cut_off * period))  # [samples] beyond either end
        self._tangent = np.tan(np.pi * cut_off * period)

    def __call__(self, values: Floats) -> Floats:
        """Return (N, n) values filtered along time, continued oddly beyond both ends.

        Together the passes let 1 / (1 + ratio^(2 ORDER)) through, by the bilinear transform.
        """
        width, least = self._width, len(values) + 2 * self._width
        more = -least % 2 ** (least.bit_length() - 3)  # to a size of small factors
        x = np.pad(values.T, ((0, 0), (width, width + more)), "reflect", reflect_type="odd")
        line = np.linspace(x[:, 0], x[:, -1], least + more, axis=1)  # the rest is periodic
        ratio = np.tan(np.pi * np.fft.rfftfreq(least + more)) / self._tangent
        x = line + np.fft.irfft(np.fft.rfft(x - line) / (1 + ratio ** (2 * ORDER)), least + more)
        return np.ascontiguousarray(x[:, width : width + len(values)].T)


def smooth(
    samples: Recording, cut_off: float, displacement: float = PRESLIDING_DISPLACEMENT
) -> SmoothMotion:
    """Filter position, velocity and effort alike; differentiate velocity; drop both ends."""
    low_pass = ZeroPhase(cut_off, samples.period)
    position, effort = low_pass(samples.position), low_pass(samples.effort)
    if samples.velocity is None:
        velocity, settling = np.gradient(position, samples.period, axis=0), SETTLING_TWICE
    else:
        velocity, settling = low_pass(samples.velocity), SETTLING
    acceleration = np.gradient(velocity, samples.period, axis=0)
    n = round(settling / cut_off / samples.period)
    inside = slice(n, len(samples.time) - n)
    steadied = steady(samples, displacement)
    states = presliding(steadied, displacement)
    rests = np.abs(np.gradient(steadied, samples.period, axis=0)) < RESTING
    low, high = (np.where(rests, bound, states) for bound in (-1.0, 1.0))
    bounds = low_pass(states), effort, low_pass(low), low_pass(high)
    everything = (samples.time, position, velocity, acceleration, *bounds)
    return SmoothMotion(*(np.ascontiguousarray(x[inside]) for x in everything))


def steady(samples: Recording, displacement: float) -> Floats:
    """Return the position (N, n) without the encoder's flicker.

    A Gaussian window keeps a monotone motion monotone; a low-pass filter would ring where a joint
    stops, and friction turn round with every swing.
    """
    gaussian = needed("scipy.ndimage").gaussian_filter1d
    width = STEADYING / samples.period  # [samples]
    position = np.asarray(gaussian(samples.position, width, axis=0, mode="nearest"), float)
    both = _dragged(np.hstack([position, position[::-1]]), PLAY * displacement)
    on, back = np.hsplit(both, 2)
    return np.asarray((on + back[::-1]) / 2.0, float)  # zero phase


def _dragged(position: Floats, play: float) -> Floats:
    """Return the position (N, n) of what is dragged along with a play to either side."""
    dragged, low, high = position.copy(), position - play, position + play
    for k in range(1, len(position)):
        np.minimum(np.maximum(dragged[k - 1], low[k]), high[k], out=dragged[k])
    return dragged


def smooth_all(
    stretches: Sequence[Recording], cut_off: float, displacement: float = PRESLIDING_DISPLACEMENT
) -> list[SmoothMotion]:
    """Smooth every stretch that is long enough."""
    return [smooth(s, cut_off, displacement) for s in long_enough(stretches, cut_off)]


def long_enough(stretches: Sequence[Recording], cut_off: float) -> list[Recording]:
    """Return the stretches that a filter can smooth, cut off at this frequency [Hz]."""
    needed = LEAST_PERIODS / cut_off
    found = [stretch for stretch in stretches if stretch.duration >= needed]
    if not found:
        longest = max((stretch.duration for stretch in stretches), default=0.0)
        raise IdentificationError(
            f"the recording is too short: {longest:.3g} s without a pause; a filter of "
            f"{cut_off:g} Hz needs {needed:.3g} s, preferably ten times that"
        )
    return found


def joined(motions: Sequence[SmoothMotion]) -> SmoothMotion:
    """Join stretches end to end."""
    return SmoothMotion(
        *(np.concatenate([getattr(m, f.name) for m in motions]) for f in fields(SmoothMotion))
    )
