"""The fast motion of the demo: every joint swings at once, from rest to rest, within all limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Model
from featherstone_ros.arrays import Floats

POINT_SPACING = 0.05  # [s] at which quintics between points follow the motion to 1e-6 rad
_SHAPE = ((1.0, 1.0, 0.0), (0.35, 2.3, 0.8))  # weight, frequency ratio and phase [rad] of each sine
_FREQUENCIES = 2.0, 3.8  # [rad/s] base frequencies of the first and of the last joint
_SLOWER = 0.9  # factor on all frequencies while the torque is too large
_RANGE_USED, _EFFORT_USED = 0.9, 0.8  # shares of the room on either side and of the effort limit
_MAX_ATTEMPTS = 40
UNLIMITED_VELOCITY = 2.0  # [rad/s or m/s] in place of a missing velocity limit


@dataclass(frozen=True)
class MultiSine:
    """A windowed multi-sine per joint, three times continuously differentiable, rest to rest."""

    centre: Floats  # (n,) position at both ends [rad or m]
    amplitude: Floats  # (n,) scale of each joint's sines [rad or m]
    frequency: Floats  # (n,) base frequency of each joint [rad/s]
    duration: float  # length [s]
    ramp: float  # time over which the swing grows at the start and decays at the end [s]

    @classmethod
    def of_unit_swings(
        cls, centre: Floats, frequencies: tuple[float, float], duration: float, ramp: float
    ) -> MultiSine:
        """Return a multi-sine of amplitude 1, with base frequencies graded over the joints."""
        n = len(centre)
        return cls(centre, np.ones(n), np.linspace(*frequencies, n), duration, ramp)

    def at(self, time: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Position, velocity and acceleration at the given times.

        ``time`` (N,) since the start [s]; before 0 and after ``duration`` the motion is at rest.
        Returns three (N, n) arrays in model joint order.
        """
        t = np.clip(np.asarray(time, float), 0.0, self.duration)[:, None]
        w, wd, wdd = self._window(t)
        s, sd, sdd = self._sines(t)
        position = self.centre + self.amplitude * w * s
        velocity = self.amplitude * (wd * s + w * sd)
        acceleration = self.amplitude * (wdd * s + 2 * wd * sd + w * sdd)
        return position, velocity, acceleration

    def samples(self, spacing: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Times (N,) about ``spacing`` [s] apart, both ends included, and ``at`` of them."""
        time = np.linspace(0.0, self.duration, round(self.duration / spacing) + 1)
        return time, *self.at(time)

    def _sines(self, t: Floats) -> tuple[Floats, Floats, Floats]:
        terms = [(k, r * self.frequency, r * self.frequency * t + p) for k, r, p in _SHAPE]
        return (
            np.sum([k * np.sin(angle) for k, _, angle in terms], axis=0),
            np.sum([k * omega * np.cos(angle) for k, omega, angle in terms], axis=0),
            -np.sum([k * omega**2 * np.sin(angle) for k, omega, angle in terms], axis=0),
        )

    def _window(self, t: Floats) -> tuple[Floats, Floats, Floats]:
        """Rise from 0 to 1 and fall back, with three derivatives that are zero at the ends."""
        x = np.minimum(np.minimum(t, self.duration - t) / self.ramp, 1.0)
        side = np.where(2 * t < self.duration, 1.0, -1.0) / self.ramp
        rise = x**4 * (35 - 84 * x + 70 * x**2 - 20 * x**3)
        slope = 140 * x**3 * (1 - x) ** 3
        bend = 420 * x**2 * (1 - x) ** 2 * (1 - 2 * x)
        return rise, slope * side, bend * side**2


def plan(
    model: Model,
    inverse_dynamics: Callable[[Floats, Floats, Floats], Floats],
    centre: ArrayLike,
    duration: float = 10.0,
    speed: float = 0.8,
) -> MultiSine:
    """Choose amplitudes and frequencies.

    Every joint peaks at ``speed`` times its velocity limit within its position limits. If a torque
    exceeds 80 % of its effort limit, the swing becomes slower and wider or, where there is no room
    for that, smaller.

    ``inverse_dynamics``: maps q, qd, qdd, each (N, n), to the joint torques (N, n) [N m or N].
    ``centre`` (n,) where the motion starts and ends, strictly within the position limits.
    ``duration``: length [s].
    """
    limit = model.velocity_limit
    wanted = speed * np.where(np.isfinite(limit), limit, UNLIMITED_VELOCITY)
    centre = np.asarray(centre, float)
    room = _RANGE_USED * np.minimum(model.upper - centre, centre - model.lower)
    motion = MultiSine.of_unit_swings(centre, _FREQUENCIES, duration, ramp=duration / 6)
    motion = _fit(motion, wanted, room)
    load = load_share(motion, model, inverse_dynamics)
    for _ in range(_MAX_ATTEMPTS):
        if load <= _EFFORT_USED:
            break
        slower = _fit(replace(motion, frequency=motion.frequency * _SLOWER), wanted, room)
        slower_load = load_share(slower, model, inverse_dynamics)
        if slower_load > load - 1e-3:  # no room left, or gravity dominates
            wanted = wanted * _SLOWER
            slower = _fit(motion, wanted, room)
            slower_load = load_share(slower, model, inverse_dynamics)
        motion, load = slower, slower_load
    return motion


def load_share(
    motion: MultiSine,
    model: Model,
    inverse_dynamics: Callable[[Floats, Floats, Floats], Floats],
) -> float:
    """Largest torque or acceleration over its limit, over all joints (0 without limits)."""
    _, q, qd, qdd = motion.samples(0.01)
    torque = np.abs(inverse_dynamics(q, qd, qdd)) / model.effort_limit
    rate = np.abs(qdd) / np.minimum(model.acceleration_limit, model.deceleration_limit)
    return float(max(torque.max(), rate.max()))


def _fit(motion: MultiSine, wanted: Floats, room: Floats) -> MultiSine:
    """Scale to the wanted peak velocities; a joint without room swings faster and less far."""
    for _ in range(20):
        _, _, velocity, _ = motion.samples(0.01)
        scale = wanted / np.abs(velocity).max(axis=0)
        motion = replace(motion, amplitude=motion.amplitude * scale)
        excess = _reach(motion) / room
        if np.all(excess <= 1.0):
            break
        motion = replace(motion, frequency=motion.frequency * np.maximum(1.0, 1.02 * excess))
    return motion


def _reach(motion: MultiSine) -> Floats:
    """Return the greatest distance (n,) from the centre [rad or m]."""
    _, position, _, _ = motion.samples(0.01)
    return np.abs(position - motion.centre).max(axis=0)
