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
from featherstone_ros.model.drives import Drives, presliding

MADE_UP = 1.3  # power of an excess by which an interval's share of the speed falls
SHARES = (1.0 - np.cos(np.pi * np.arange(7) / 6.0)) / 2.0  # of an interval that are looked at
_POWERS = np.arange(7)
_DERIVATIVES = _POWERS * SHARES[:, None] ** np.maximum(_POWERS - 1, 0)
RATES = _DERIVATIVES @ np.linalg.inv(SHARES[:, None] ** _POWERS)  # there, of what is smooth
SCARCE = 0.1  # of an effort limit: so much is taken to be there for motion


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


def too_fast(arm: ArmOnPath, samples: MotionSamples) -> tuple[Floats, float]:
    """Return by what factor a motion from rest to rest is too fast, at least 1.

    In each interval of its timing's grid (N,), about, and over all.
    """
    limits, asked = arm.limits, samples.asked
    count, shares, n = samples.jerk.shape
    speeding, slowing = rates(asked)
    standing, effort = np.abs(asked.standing), limits.joints.effort
    links = arm.link_speeds(asked.position, asked.velocity)
    jerk = np.cbrt(np.abs(samples.jerk) / limits.jerk).reshape(-1, n)
    torque_rate = (np.abs(samples.torque_rate) / limits.torque_rate).reshape(-1, n)
    squared = (
        np.maximum(speeding / limits.acceleration, slowing / limits.deceleration),
        (np.abs(asked.torque) - standing) / np.maximum(effort - standing, SCARCE * effort),
    )
    roots = [np.sqrt(np.maximum(part, 0.0)) for part in squared]
    speed = np.abs(asked.velocity) / limits.joints.velocity
    factors = np.concatenate([speed, *roots, links, jerk, torque_rate], axis=1).max(axis=1)
    worst = np.maximum(factors.reshape(count, shares).max(axis=1), 1.0)
    # The motion is smooth over an interval of the grid: it takes one more at either end.
    each = np.maximum(worst[1:-1], np.maximum(worst[:-2], worst[2:]))
    others = (_largest(part) for part in (links, jerk, torque_rate))
    return each, max(slow_down(asked, limits.joints), *others)


def _largest(shares: Floats) -> float:
    """Return the largest of some shares of limits, 0 of none."""
    return float(shares.max(initial=0.0))


def bounds_on(
    arm: ArmOnPath, stretch: Stretch, grid: Floats, x: Floats, share: Floats
) -> tuple[Floats, list[Bounds]]:
    """Return the greatest squared speeds (N + 1,) on a grid, and limits of other quantities.

    ``grid``: (N + 1,) lengths of the path at the nodes; ``x``: (N + 1,) squared speeds of a timing,
    of which friction is; ``share``: (N,) of the speed that an interval's limits allow, to which
    they are lowered.
    """
    limits = arm.limits
    q, first, second = stretch.at(grid)
    shares = np.concatenate(
        [np.abs(first) / limits.joints.velocity, arm.link_speeds(q, first)], axis=1
    ).max(axis=1)
    most = np.where(shares > 0.0, 1.0 / np.maximum(shares, SLOWEST) ** 2, np.inf)
    most *= np.minimum(np.append(share, 1.0), np.append(1.0, share)) ** 2
    share = share[:, None]
    speeding, slowing = share**2 * limits.acceleration, share**2 * limits.deceleration
    forward = (first[:-1] + first[1:]) > 0.0
    acceleration = Bounds(
        first,
        second,
        np.zeros_like(q),
        np.zeros_like(q),
        -np.where(forward, slowing, speeding),
        np.where(forward, speeding, slowing),
        share**3 * limits.jerk,
    )
    return most, [acceleration, _torque_bounds(arm, q, first, second, grid, x, share)]


def _torque_bounds(
    arm: ArmOnPath,
    q: Floats,
    first: Floats,
    second: Floats,
    grid: Floats,
    x: Floats,
    share: Floats,
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
    standing = np.maximum(np.abs(still[:-1] + most), np.abs(still[:-1] + least))
    room = arm.limits.joints.effort - standing
    effort = standing + np.where(room > 0.0, share**2, 1.0) * room
    a = a + drives.rotor_torque(first)
    b = b + drives.rotor_torque(second)
    rate = share * arm.limits.torque_rate
    return Bounds(a, b, drives.viscous * first, still, -effort - least, effort - most, rate)
