"""What a path asks of an arm, and by how much a timing of it exceeds the arm's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import demand_of
from featherstone_ros.control.feasibility.excesses import SUDDEN, rates, slow_down
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.retiming.path import Stretch
from featherstone_ros.control.retiming.timing import SLOWEST, Bounds, durations
from featherstone_ros.control.trajectory import SPEED_UP
from featherstone_ros.model import Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.friction import presliding

MADE_UP = 1.3  # times an excess that a margin grows by
SHARES = (1.0 - np.cos(np.pi * np.arange(7) / 6.0)) / 2.0  # of an interval that are looked at
_POWERS = np.arange(7)
_DERIVATIVES = _POWERS * SHARES[:, None] ** np.maximum(_POWERS - 1, 0)
RATES = _DERIVATIVES @ np.linalg.inv(SHARES[:, None] ** _POWERS)  # there, of what is smooth
HEADROOM = 0.9  # share of what a limit leaves that a margin may take


@dataclass(frozen=True, eq=False)
class RetimingLimits:
    """What a timing has to respect."""

    joints: JointSpace  # limits of position, velocity, effort, acceleration, deceleration and jerk
    # (n,) greatest change of torque per second, dry friction apart [N m/s or N/s]
    torque_rate: Floats
    link_speed: Mapping[str, float]  # link name to the greatest speed of its origin [m/s]

    @property
    def acceleration(self) -> Floats:
        """(n,) of growing speeds; of joints without, what the controller takes at most."""
        return np.minimum(self.joints.acceleration, SPEED_UP * self.joints.velocity)

    @property
    def deceleration(self) -> Floats:
        """(n,) of falling speeds."""
        return np.minimum(self.joints.deceleration, SPEED_UP * self.joints.velocity)

    @property
    def jerk(self) -> Floats:
        """(n,) of joints without, what changes the acceleration in the time of a drive's step."""
        return np.minimum(
            self.joints.jerk, np.maximum(self.acceleration, self.deceleration) / SUDDEN
        )


@dataclass(frozen=True, eq=False)
class ArmOnPath:
    """An arm with its limits."""

    model: Model  # the arm, with its payload
    dynamics: Dynamics  # the same's
    drives: Drives  # friction and armature
    limits: RetimingLimits  # what it has to respect

    def link_speeds(self, q: Floats, qd: Floats) -> Floats:
        """Return the speeds of the limited links, as shares of their limits (N, links)."""
        shares = [
            np.linalg.norm(self.dynamics.link_velocity(q, qd, link)[:, :3], axis=1) / limit
            for link, limit in self.limits.link_speed.items()
        ]
        return np.reshape(shares, (-1, len(q))).T


@dataclass(frozen=True, eq=False)
class Margins:
    """By how much limits are lowered where a timing exceeded them between the nodes of a grid."""

    speed: Floats  # (N,) share of the squared speed that is left
    acceleration: Floats  # (N, n) taken off
    jerk: Floats  # (N, n) taken off
    torque: Floats  # (N, n) taken off
    torque_rate: Floats  # (N, n) taken off

    @classmethod
    def none(cls, intervals: int, joints: int) -> Margins:
        """Return those of a first timing."""
        return cls(np.ones(intervals), *np.zeros((4, intervals, joints)))


class MotionSamples:
    """A motion of quintics between K points, at ``SHARES`` of each of its K - 1 intervals.

    Attributes:
        asked: Of all samples, one interval after the other; where two meet there are two.
        jerk: (K - 1, shares, n) [rad/s^3 or m/s^3].
        torque_rate: (K - 1, shares, n) without dry friction, which turns round with the motion
            however slow it is [N m/s or N/s].
    """

    def __init__(self, arm: ArmOnPath, times: Floats, q: Floats, qd: Floats, qdd: Floats) -> None:
        """Sample an arm's motion through K points: times (K,), q, qd and qdd (K, n)."""
        count, n = len(times) - 1, q.shape[1]
        took = np.diff(times)[:, None, None]
        v, a = qd[:-1, None] * took, qdd[:-1, None] * took**2 / 2.0
        way = q[1:, None] - q[:-1, None] - v - a
        speed, rise = (qd[1:, None] - qd[:-1, None]) * took - 2.0 * a, np.diff(qdd, axis=0)[:, None]
        rise = rise * took**2 / 2.0
        c = 10.0 * way - 4.0 * speed + rise
        d = -15.0 * way + 7.0 * speed - 2.0 * rise
        e = 6.0 * way - 3.0 * speed + rise
        t = SHARES[:, None]
        position = q[:-1, None] + t * (v + t * (a + t * (c + t * (d + t * e))))
        velocity = (v + t * (2.0 * a + t * (3.0 * c + t * (4.0 * d + t * 5.0 * e)))) / took
        change = (2.0 * a + t * (6.0 * c + t * (12.0 * d + t * 20.0 * e))) / took**2
        self.jerk = (6.0 * c + t * (24.0 * d + t * 60.0 * e)) / took**3
        time = (times[:-1, None] + np.diff(times)[:, None] * SHARES).ravel()
        at, speed, rise = (part.reshape(-1, n) for part in (position, velocity, change))
        self.asked = demand_of(arm.dynamics, arm.drives, time, at, speed, rise)
        smooth = arm.drives.torque(arm.dynamics, at, speed, rise, 0.0)
        parts = smooth.reshape(count, len(SHARES), n)
        self.torque_rate = RATES @ parts / took


class Excesses:
    """By how much a motion exceeds limits, in each interval of its timing and over all."""

    def __init__(self, arm: ArmOnPath, samples: MotionSamples) -> None:
        """Measure them at every sample of a motion from rest to rest."""
        limits, asked = arm.limits, samples.asked
        count, shares, _ = samples.jerk.shape

        def worst(beyond: Floats) -> Floats:
            most = beyond.reshape(count, shares, -1).max(axis=1)
            return np.maximum(most, 0.0)

        speeding, slowing = rates(asked)
        joints = np.abs(asked.velocity) / limits.joints.velocity
        links = arm.link_speeds(asked.position, asked.velocity)
        speed = np.concatenate([joints, links], axis=1).max(axis=1)
        self.speed = worst(speed - 1.0)[:, 0]
        self.acceleration = np.maximum(
            worst(np.abs(speeding) - limits.acceleration),
            worst(np.abs(slowing) - limits.deceleration),
        )
        self.jerk = worst(np.abs(samples.jerk) - limits.jerk)
        self.torque = worst(np.abs(asked.torque) - limits.joints.effort)
        self.torque_rate = worst(np.abs(samples.torque_rate) - limits.torque_rate)
        self.slower = max(
            slow_down(asked, limits.joints),
            _largest(links),
            _largest(np.abs(samples.jerk) / limits.jerk) ** (1 / 3),
            _largest(np.abs(samples.torque_rate) / limits.torque_rate),
        )

    def added(self, margins: Margins) -> Margins:
        """Return margins that make up for them."""
        speed, *others = (
            _of_nodes(part)
            for part in (self.speed, self.acceleration, self.jerk, self.torque, self.torque_rate)
        )
        before = margins.acceleration, margins.jerk, margins.torque, margins.torque_rate
        return Margins(
            margins.speed / (1.0 + speed) ** 2,
            *(old + MADE_UP * new for old, new in zip(before, others, strict=True)),
        )


def _of_nodes(worst: Floats) -> Floats:
    """Return the greatest of each of a grid's N intervals and its neighbours, of N + 2 (N, ...).

    The motion is smooth over an interval: it takes one more at either end.
    """
    return np.maximum(worst[1:-1], np.maximum(worst[:-2], worst[2:]))


def _largest(shares: Floats) -> float:
    """Return the largest of some shares of limits, 0 of none."""
    return float(shares.max(initial=0.0))


def bounds_on(
    arm: ArmOnPath, stretch: Stretch, grid: Floats, x: Floats, margins: Margins
) -> tuple[Floats, list[Bounds]]:
    """Return the greatest squared speeds (N + 1,) on a grid, and limits of other quantities.

    ``grid``: (N + 1,) lengths of the path at the nodes; ``x``: (N + 1,) squared speeds of a timing,
    of which friction is; ``margins``: by how much limits are lowered.
    """
    limits = arm.limits
    q, first, second = stretch.at(grid)
    shares = np.concatenate(
        [np.abs(first) / limits.joints.velocity, arm.link_speeds(q, first)], axis=1
    ).max(axis=1)
    most = np.where(shares > 0.0, 1.0 / np.maximum(shares, SLOWEST) ** 2, np.inf)
    most *= np.minimum(np.append(margins.speed, 1.0), np.append(1.0, margins.speed))
    speeding = _lowered(limits.acceleration, margins.acceleration)
    slowing = _lowered(limits.deceleration, margins.acceleration)
    forward = (first[:-1] + first[1:]) > 0.0
    acceleration = Bounds(
        first,
        second,
        np.zeros_like(q),
        np.zeros_like(q),
        -np.where(forward, slowing, speeding),
        np.where(forward, speeding, slowing),
        _lowered(limits.jerk, margins.jerk),
    )
    return most, [acceleration, _torque_bounds(arm, q, first, second, grid, x, margins)]


def _torque_bounds(
    arm: ArmOnPath,
    q: Floats,
    first: Floats,
    second: Floats,
    grid: Floats,
    x: Floats,
    margins: Margins,
) -> Bounds:
    """Return the limits of the torque, which dry friction at ``x`` narrows."""
    drives, dynamics = arm.drives, arm.dynamics
    gravity = dynamics.gravity(q)
    still = gravity + drives.standing_torque(q)
    a = dynamics.rnea(q, np.zeros_like(q), first) - gravity
    b = dynamics.rnea(q, first, second) - gravity
    time = np.append(0.0, np.cumsum(durations(grid, x)))
    sliding = presliding(q, drives.presliding_displacement, 0.0, time)
    u = np.gradient(x, grid)[:, None] / 2.0
    load = np.abs(gravity) + np.abs(a * u + b * x[:, None])
    dry = (drives.coulomb + drives.load * load) * sliding
    most = np.maximum(dry[:-1], dry[1:])
    least = np.minimum(dry[:-1], dry[1:])
    room = arm.limits.joints.effort - np.maximum(
        np.abs(still[:-1] + most), np.abs(still[:-1] + least)
    )
    margin = np.minimum(margins.torque, HEADROOM * np.maximum(room, 0.0))
    effort = arm.limits.joints.effort - margin
    rate = _lowered(arm.limits.torque_rate, margins.torque_rate)
    a = a + drives.rotor_torque(first)
    b = b + drives.rotor_torque(second)
    return Bounds(a, b, drives.viscous * first, still, -effort - least, effort - most, rate)


def _lowered(limit: Floats, margin: Floats) -> Floats:
    """Return limits (N, n) less margins, of which they keep a share."""
    return np.maximum(limit - margin, (1.0 - HEADROOM) * np.broadcast_to(limit, margin.shape))
