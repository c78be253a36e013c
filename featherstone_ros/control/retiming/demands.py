"""What a path asks of an arm, and by how much a timing of it exceeds the arm's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros._control import CompiledPath
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility import SUDDEN, Demand, slow_down
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
class ArmOnPath:
    """An arm with what a timing has to respect."""

    model: Model  # the arm, with its payload
    dynamics: Dynamics  # the same's
    drives: Drives  # friction and armature
    space: JointSpace  # limits that are asked for
    # (n,) greatest change of torque per second, dry friction apart [N m/s or N/s]
    torque_rate: Floats
    link_speed: Mapping[str, float]  # link name to the greatest speed of its origin [m/s]

    @cached_property
    def limits(self) -> JointSpace:
        """Those, and where there are none what controller and drives take at most."""
        space = self.space
        most = SPEED_UP * space.velocity
        faster, slower = np.minimum(space.acceleration, most), np.minimum(space.deceleration, most)
        jerk = np.minimum(space.jerk, np.maximum(faster, slower) / SUDDEN)
        return replace(space, acceleration=faster, deceleration=slower, jerk=jerk)

    def link_speeds(self, q: Floats, qd: Floats) -> Floats:
        """Return the speeds of the limited links, as shares of their limits (N, links)."""
        shares = [
            np.linalg.norm(self.dynamics.link_velocity(q, qd, link)[:, :3], axis=1) / limit
            for link, limit in self.link_speed.items()
        ]
        return np.reshape(shares, (-1, len(q))).T


def too_fast(
    arm: ArmOnPath, times: Floats, q: Floats, qd: Floats, qdd: Floats
) -> tuple[Floats, float]:
    """Return by what factor quintics between K points, from rest to rest, are too fast, at least 1.

    In each interval of the timing's grid (N,), about, and over all. The torque's rate is without
    dry friction, which turns round with the motion however slow it is.
    """
    drives, limits, space = arm.drives, arm.limits, arm.space
    count, n = len(times) - 1, q.shape[1]
    rows = np.stack([q, qd, qdd, 0.0 * q], axis=1)
    whole, none = [2] * len(times), [0] * len(times)
    path = CompiledPath(times, rows, whole, none, 0.0, space.lower, space.upper)
    coefficients, took = path.coefficients[:count], np.diff(times)[:, None]
    parts = []
    for k in range(6, 2, -1):
        powers = (took * SHARES)[..., None] ** np.arange(k)
        parts.append((powers @ coefficients).reshape(-1, n))
        coefficients = coefficients[:, 1:] * np.arange(1, k)[:, None]
    at, speed, change, jerk = parts
    time = (times[:-1, None] + took * SHARES).ravel()
    asked = Demand.of(arm.dynamics, drives, time, at, speed, change)
    smooth = drives.torque(arm.dynamics, at, speed, change, 0.0).reshape(count, len(SHARES), n)
    torque_rate = np.abs(RATES @ smooth / took[..., None]).reshape(-1, n) / arm.torque_rate
    speeding, slowing = asked.rates
    standing, effort = np.abs(asked.standing), space.effort
    links = arm.link_speeds(at, speed)
    jerk = np.cbrt(np.abs(jerk) / limits.jerk)
    squared = (
        np.maximum(speeding / limits.acceleration, slowing / limits.deceleration),
        (np.abs(asked.torque) - standing) / np.maximum(effort - standing, SCARCE * effort),
    )
    roots = [np.sqrt(np.maximum(part, 0.0)) for part in squared]
    shares = np.abs(speed) / space.velocity
    factors = np.concatenate([shares, *roots, links, jerk, torque_rate], axis=1).max(axis=1)
    worst = np.maximum(factors.reshape(count, -1).max(axis=1), 1.0)
    # The motion is smooth over an interval of the grid: it takes one more at either end.
    each = np.maximum(worst[1:-1], np.maximum(worst[:-2], worst[2:]))
    others = (float(part.max(initial=0.0)) for part in (links, jerk, torque_rate))
    return each, max(slow_down(asked, space), *others)


def bounds_on(
    arm: ArmOnPath, stretch: Stretch, grid: Floats, x: Floats, share: Floats
) -> tuple[Floats, list[Bounds]]:
    """Return the greatest squared speeds (N + 1,) on a grid, and limits of other quantities."""
    limits = arm.limits
    q, first, second = stretch.at(grid)
    shares = np.concatenate(
        [np.abs(first) / limits.velocity, arm.link_speeds(q, first)], axis=1
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
    room = arm.limits.effort - standing
    effort = standing + np.where(room > 0.0, share**2, 1.0) * room
    a = a + drives.rotor_torque(first)
    b = b + drives.rotor_torque(second)
    rate = share * arm.torque_rate
    return Bounds(a, b, drives.viscous * first, still, -effort - least, effort - most, rate)
