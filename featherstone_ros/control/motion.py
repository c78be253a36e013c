"""Motions: piecewise polynomials of time, of degree five in position and one in extra effort."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats

BLEND_SPEED = 0.25  # share of the velocity limit that removing an offset of the desired may take


@dataclass(frozen=True)
class MotionState:
    """The state of a motion at one time; arrays are (n,) in joint order, or (K, n) for several.

    Attributes:
        position: [rad] or [m].
        velocity: [rad/s] or [m/s].
        acceleration: [rad/s^2] or [m/s^2].
        effort: Feedforward effort in addition to the model's [N m] or [N].
    """

    position: Floats
    velocity: Floats
    acceleration: Floats
    effort: Floats

    @classmethod
    def rest(cls, position: Floats) -> MotionState:
        """Return the state that stands still at a position."""
        zero = np.zeros_like(position)
        return cls(position, zero, zero, zero)

    def at(self, selection: int | slice | NDArray[np.bool_]) -> MotionState:
        """Return some of several states."""
        return MotionState(
            self.position[selection],
            self.velocity[selection],
            self.acceleration[selection],
            self.effort[selection],
        )

    def is_rest(self) -> bool:
        """Tell whether velocity and acceleration are exactly zero."""
        return not (self.velocity.any() or self.acceleration.any())

    def rows(self) -> Floats:
        """Return the fields as (4, n)."""
        return np.stack([self.position, self.velocity, self.acceleration, self.effort])

    def minus(self, other: MotionState) -> MotionState:
        """Return the difference of two states, field by field."""
        return MotionState(
            self.position - other.position,
            self.velocity - other.velocity,
            self.acceleration - other.acceleration,
            self.effort - other.effort,
        )


class Motion:
    """A motion in joint space, defined for all times.

    Piece k holds from ``times[k]`` until ``times[k + 1]``, the last for ever, the first also before
    its time. Positions are polynomials in the time since the piece's start. A correction, if
    any, is one more polynomial added for the first ``correction_duration`` seconds: it leads from
    the previous desired state into this motion and ends at zero with zero slope and curvature.
    """

    def __init__(
        self,
        times: list[float],
        coefficients: Floats,
        effort: Floats | None = None,
        settled: bool = True,
    ) -> None:
        """Take the pieces over.

        Args:
            times: K increasing start times [s].
            coefficients: (K, 6, n) coefficients of increasing power [rad/s^k] or [m/s^k].
            effort: (K, 2, n) coefficients of the extra effort; None for none.
            settled: True if the last piece is a constant position.
        """
        self.times = times
        self.n = coefficients.shape[2]
        self.end = times[-1] if settled else float("inf")
        self.coefficients = np.ascontiguousarray(coefficients)
        self._effort = effort
        self._correction: Floats | None = None
        self._correction_effort: Floats | None = None
        self._correction_start = 0.0
        self._correction_duration = 0.0
        self._no_effort = np.zeros(self.n)

    @classmethod
    def hold(cls, position: Floats, effort: Floats | None = None) -> Motion:
        """Return the motion that stays at a position (n,) [rad] or [m] with a constant effort."""
        coefficients = np.zeros((1, 6, len(position)))
        coefficients[0, 0] = position
        if effort is None:
            return cls([0.0], coefficients)
        return cls([0.0], coefficients, np.stack([effort, np.zeros_like(effort)])[None])

    @classmethod
    def stop(
        cls, time: float, start: MotionState, duration: float, lower: Floats, upper: Floats
    ) -> Motion:
        """Return the motion that comes to rest from a moving state, within the position limits.

        Position, velocity and acceleration are continuous; the last two end at zero.

        Args:
            time: Time of ``start`` [s].
            start: State to begin with; its effort goes linearly to zero meanwhile.
            duration: Time to come to rest [s].
            lower: Lower position limits (n,).
            upper: Upper position limits (n,).
        """
        target = stopping_position(start, duration, lower, upper)
        motion = cls.hold(target)
        motion.lead_in(time, start.minus(MotionState.rest(target)), duration)
        return motion

    @classmethod
    def extrapolate(cls, time: float, start: MotionState) -> Motion:
        """Return the motion of constant acceleration and effort through a state, without an end."""
        coefficients = np.zeros((1, 6, len(start.position)))
        coefficients[0, 0] = start.position
        coefficients[0, 1] = start.velocity
        coefficients[0, 2] = start.acceleration / 2.0
        effort = np.stack([start.effort, np.zeros_like(start.effort)])[None]
        settled = start.is_rest()
        return cls([time], coefficients, effort if start.effort.any() else None, settled)

    def lead_in(self, time: float, offset: MotionState, duration: float) -> None:
        """Add the correction that removes an offset smoothly.

        Args:
            time: When the correction begins [s].
            offset: The desired state at ``time`` minus that of this motion without the correction.
            duration: Time until the offset is zero [s], > 0.
        """
        zero = MotionState.rest(np.zeros(self.n))
        self._correction = np.ascontiguousarray(quintic(offset, zero, duration))
        self._correction_start = time
        self._correction_duration = duration
        self._correction_effort = None
        if offset.effort.any():
            self._correction_effort = linear(offset.effort, zero.effort, duration)
        self.end = max(self.end, time + duration)

    def sample(self, time: float, out: Floats) -> Floats:
        """Evaluate position, velocity and acceleration.

        Args:
            time: [s].
            out: (3, n), overwritten.

        Returns:
            ``out``.
        """
        piece = max(bisect_right(self.times, time) - 1, 0)
        at = np.array([[max(time - self.times[piece], 0.0)]])
        out[:] = np.concatenate(polynomial(self.coefficients[piece][None], at))
        since = time - self._correction_start
        if self._correction is not None and since < self._correction_duration:
            at = np.array([[max(since, 0.0)]])
            out += np.concatenate(polynomial(self._correction[None], at))
        return out

    def effort(self, time: float) -> Floats:
        """Return the extra feedforward effort (n,) [N m] or [N]; the caller must not modify it."""
        effort = self._no_effort
        if self._effort is not None:
            piece = max(bisect_right(self.times, time) - 1, 0)
            since = max(time - self.times[piece], 0.0)
            effort = self._effort[piece, 0] + since * self._effort[piece, 1]
        since = time - self._correction_start
        if self._correction_effort is not None and since < self._correction_duration:
            since = max(since, 0.0)
            effort = effort + self._correction_effort[0] + since * self._correction_effort[1]
        return effort

    def trace(
        self, begin: float, end: float, step: float, most: float = inf
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Evaluate the motion over a stretch of time, on both sides of every corner.

        Args:
            begin: [s].
            end: [s], >= begin.
            step: Longest time between two samples [s]; inf: the corners and the middles between.
            most: With twice as many samples or more, only every second, third, ... is taken.

        Returns:
            Times (N,), then position, velocity, acceleration and extra effort, each (N, n). Where
            a piece or the correction begins or ends there are two samples of the same time, since
            velocity and acceleration may jump there.
        """
        ends = [self._correction_start, self._correction_start + self._correction_duration]
        between = [t for t in [*self.times, *ends] if begin < t < end]
        corners = np.unique([begin, *between, end])
        corners = corners if len(corners) > 1 else np.array([begin, end])
        length = np.diff(corners)
        count = np.maximum(np.ceil(length / step), 2.0)
        stretch = np.repeat(np.arange(len(length)), count.astype(int) + 1)
        number = np.arange(len(stretch)) - np.searchsorted(stretch, stretch)
        every = max(int(len(stretch) // most), 1)
        stretch, number = stretch[::every], number[::every]
        share = number / count[stretch]
        time = np.where(
            share < 1.0, corners[stretch] + length[stretch] * share, corners[stretch + 1]
        )
        middle = corners[:-1] + length / 2.0
        pieces = np.maximum(np.searchsorted(self.times, middle, side="right") - 1, 0)[stretch]
        since = np.maximum(time - np.array(self.times)[pieces], 0.0)[:, None]
        position, velocity, acceleration = polynomial(self.coefficients[pieces], since)
        effort = np.zeros_like(position)
        if self._effort is not None:
            effort += self._effort[pieces, 0] + since * self._effort[pieces, 1]
        if self._correction is not None:
            led = (middle < ends[1])[stretch]
            since = np.maximum(time[led] - ends[0], 0.0)[:, None]
            parts = polynomial(self._correction[None], since)
            for value, part in zip((position, velocity, acceleration), parts, strict=True):
                value[led] += part
            if self._correction_effort is not None:
                effort[led] += self._correction_effort[0] + since * self._correction_effort[1]
        return time, position, velocity, acceleration, effort

    @property
    def extra_effort(self) -> Floats | None:
        """Coefficients (K, 2, n) of the pieces' extra effort, None for none."""
        return self._effort

    @property
    def has_effort(self) -> bool:
        """Tell whether the motion has any extra effort."""
        return self._effort is not None or self._correction_effort is not None

    def state(self, time: float) -> MotionState:
        """Return the motion's state at a time, in new arrays."""
        position, velocity, acceleration = self.sample(time, np.empty((3, self.n)))
        return MotionState(position, velocity, acceleration, self.effort(time).copy())


def polynomial(coefficients: Floats, t: Floats) -> tuple[Floats, Floats, Floats]:
    """Return value, slope and curvature, (N, n) each, of polynomials (N, 6, n) at times (N, 1)."""
    c0, c1, c2, c3, c4, c5 = np.moveaxis(coefficients, -2, 0)
    value = c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5))))
    slope = c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * (5.0 * c5))))
    curvature = 2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * (20.0 * c5)))
    return value, slope, curvature


def linear(start: Floats, end: Floats, duration: float | Floats) -> Floats:
    """Return (..., 2, n) coefficients of the line between two values.

    Args:
        start: (..., n).
        end: (..., n).
        duration: [s] > 0, a number or (..., 1); likewise below.
    """
    return np.stack([start, (end - start) / duration], axis=-2)


def straight(start: MotionState, end: MotionState, duration: float | Floats) -> Floats:
    """Return (..., 6, n) coefficients of the straight line between two positions."""
    line = linear(start.position, end.position, duration)
    return np.concatenate([line, np.zeros((*line.shape[:-2], 4, line.shape[-1]))], axis=-2)


def cubic(start: MotionState, end: MotionState, duration: float | Floats) -> Floats:
    """Return (..., 6, n) coefficients of the cubic with both ends' position and velocity."""
    way = end.position - start.position - start.velocity * duration
    gain = (end.velocity - start.velocity) * duration
    zero = np.zeros_like(way)
    rows = [
        start.position,
        start.velocity,
        (3.0 * way - gain) / duration**2,
        (gain - 2.0 * way) / duration**3,
        zero,
        zero,
    ]
    return np.stack(rows, axis=-2)


def quintic(start: MotionState, end: MotionState, duration: float | Floats) -> Floats:
    """Return (..., 6, n) coefficients of the quintic with both ends' acceleration as well."""
    half = start.acceleration / 2.0
    way = end.position - start.position - (start.velocity + half * duration) * duration
    gain = (end.velocity - start.velocity - start.acceleration * duration) * duration
    bend = (end.acceleration - start.acceleration) * (duration**2 / 2.0)
    rows = [
        start.position,
        start.velocity,
        half,
        (10.0 * way - 4.0 * gain + bend) / duration**3,
        (-15.0 * way + 7.0 * gain - 2.0 * bend) / duration**4,
        (6.0 * way - 3.0 * gain + bend) / duration**5,
    ]
    return np.stack(rows, axis=-2)


def stopping_position(start: MotionState, duration: float, lower: Floats, upper: Floats) -> Floats:
    """Return where a stop ends (n,): the way of a velocity that falls to zero as a cubic.

    An arm that already stands beyond a position limit stays there; a stop does not pull it back.

    Args:
        start: State to stop from.
        duration: Time to come to rest [s].
        lower: Lower position limits (n,).
        upper: Upper position limits (n,).
    """
    way = start.velocity * (duration / 2.0) + start.acceleration * (duration**2 / 12.0)
    nearest, farthest = np.minimum(lower, start.position), np.maximum(upper, start.position)
    return np.clip(start.position + way, nearest, farthest)


def lead_in_duration(offset: MotionState, velocity_limit: Floats, minimum: float) -> float:
    """Return how long the correction of an offset takes [s].

    The correction alone stays below ``BLEND_SPEED`` of the velocity limits: a quintic from rest to
    rest peaks at 15/8 of its mean velocity.

    Args:
        offset: Offset that the correction begins with.
        velocity_limit: (n,), infinite where there is none.
        minimum: Shortest duration [s].
    """
    needed = 1.875 * np.abs(offset.position) / (BLEND_SPEED * velocity_limit)
    return max(minimum, float(needed.max(initial=0.0)))
