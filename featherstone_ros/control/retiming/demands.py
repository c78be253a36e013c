"""What a path asks of an arm, and by how much a timing of it exceeds the arm's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.feasibility.limits import SUDDEN, jerk, rates
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.retiming.path import Stretch
from featherstone_ros.control.retiming.timing import SLOWEST, Bounds, durations
from featherstone_ros.control.trajectory import SPEED_UP
from featherstone_ros.model import Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.friction import presliding

MADE_UP = 1.3  # times an excess that a margin grows by
HEADROOM = 0.9  # share of what a limit leaves that a margin may take


@dataclass(frozen=True, eq=False)
class RetimingLimits:
    """What a timing has to respect.

    Attributes:
        joints: Limits of position, velocity, effort, acceleration, deceleration and jerk.
        torque_rate: (n,) greatest change of torque per second, dry friction apart [N m/s or N/s].
        link_speed: Link name to the greatest speed of its origin [m/s].
    """

    joints: JointSpace
    torque_rate: Floats
    link_speed: Mapping[str, float]

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
    """An arm with its limits.

    Attributes:
        model: The arm, with its payload.
        dynamics: The same's.
        drives: Friction and armature.
        limits: What it has to respect.
    """

    model: Model
    dynamics: Dynamics
    drives: Drives
    limits: RetimingLimits

    def link_speeds(self, q: Floats, qd: Floats) -> Floats:
        """Return the speeds of the limited links, as shares of their limits (N, links)."""
        shares = [
            np.linalg.norm(self.dynamics.link_velocity(q, qd, link)[:, :3], axis=1) / limit
            for link, limit in self.limits.link_speed.items()
        ]
        return np.reshape(shares, (-1, len(q))).T

    def torque_rates(self, asked: Demand) -> Floats:
        """Return the change of the torque in the ``SUDDEN`` up to each sample (N, n) per second.

        Dry friction apart, which turns round with the motion however slow it is.
        """
        time, motion = asked.time, (asked.position, asked.velocity, asked.acceleration)
        torque = self.drives.torque(self.dynamics, *motion, 0.0)
        before = np.transpose([np.interp(time - SUDDEN, time, column) for column in torque.T])
        return (torque - before) / SUDDEN


@dataclass(frozen=True, eq=False)
class Margins:
    """By how much limits are lowered where a timing exceeded them between the nodes of a grid.

    Attributes:
        speed: (N,) share of the squared speed that is left.
        acceleration: (N, n) taken off.
        jerk: (N, n) taken off.
        torque: (N, n) taken off.
        torque_rate: (N, n) taken off.
    """

    speed: Floats
    acceleration: Floats
    jerk: Floats
    torque: Floats
    torque_rate: Floats

    @classmethod
    def none(cls, intervals: int, joints: int) -> Margins:
        """Return those of a first timing."""
        return cls(np.ones(intervals), *np.zeros((4, intervals, joints)))


class Excesses:
    """By how much a motion exceeds limits, in each interval of a grid and over all."""

    def __init__(self, arm: ArmOnPath, asked: Demand, nodes: Floats) -> None:
        """Measure them at every sample.

        Args:
            arm: With its limits.
            asked: Of a motion from rest to rest.
            nodes: (N + 1,) times of the grid's nodes [s].
        """
        limits = arm.limits
        count = len(nodes) - 1
        at = np.clip(np.searchsorted(nodes, asked.time) - 1, 0, count - 1)
        self._first = np.flatnonzero(np.diff(at, prepend=-1))  # samples of the intervals with any
        self._at, self._count = at[self._first], count
        speeding, slowing = rates(asked)
        change = arm.torque_rates(asked)
        joints = np.abs(asked.velocity) / limits.joints.velocity
        links = arm.link_speeds(asked.position, asked.velocity)
        speed = np.concatenate([joints, links], axis=1).max(axis=1)
        self.speed = self._worst(speed[:, None] - 1.0)[:, 0]
        self.acceleration = np.maximum(
            self._worst(np.abs(speeding) - limits.acceleration),
            self._worst(np.abs(slowing) - limits.deceleration),
        )
        self.jerk = self._worst(np.abs(jerk(asked)) - limits.jerk)
        self.torque = self._worst(np.abs(asked.torque) - limits.joints.effort)
        self.torque_rate = self._worst(np.abs(change) - limits.torque_rate)
        rate = _largest(np.abs(change) / limits.torque_rate)
        self.own = max(_largest(links), rate)

    def _worst(self, beyond: Floats) -> Floats:
        """Return the greatest of samples (M, n) in each interval (N, n), 0 where none is beyond."""
        worst = np.zeros((self._count, beyond.shape[1]))
        worst[self._at] = np.maximum.reduceat(beyond, self._first)
        return np.maximum(worst, 0.0)

    def added(self, margins: Margins) -> Margins:
        """Return margins that make up for them."""
        return Margins(
            margins.speed / (1.0 + self.speed) ** 2,
            margins.acceleration + MADE_UP * self.acceleration,
            margins.jerk + MADE_UP * _spread(self.jerk),
            margins.torque + MADE_UP * self.torque,
            margins.torque_rate + MADE_UP * _spread(self.torque_rate),
        )


def _spread(worst: Floats) -> Floats:
    """Return the greatest of each interval (N, n) and its neighbours, which share a step's time."""
    padded = np.pad(worst, ((1, 1), (0, 0)))
    return np.maximum(worst, np.maximum(padded[:-2], padded[2:]))


def _largest(shares: Floats) -> float:
    """Return the largest of some shares of limits, 0 of none."""
    return float(shares.max(initial=0.0))


def bounds_on(
    arm: ArmOnPath, stretch: Stretch, grid: Floats, x: Floats, margins: Margins
) -> tuple[Floats, list[Bounds]]:
    """Return the limits of a timing on a grid.

    Args:
        arm: With its limits.
        stretch: The path.
        grid: (N + 1,) its lengths at the nodes.
        x: (N + 1,) squared speeds of a timing, of which friction is.
        margins: By how much limits are lowered.

    Returns:
        (N + 1,) the greatest squared speeds, and limits of acceleration and torque.
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
    """Return the limits of the torque, which dry friction narrows.

    Viscous friction, which goes with the speed, is taken in proportion to its square: at ``x`` both
    are the same.
    """
    drives, dynamics = arm.drives, arm.dynamics
    gravity = dynamics.gravity(q)
    a = dynamics.rnea(q, np.zeros_like(q), first) - gravity
    b = dynamics.rnea(q, first, second) - gravity
    per_square = drives.viscous * first / np.sqrt(np.maximum(x, SLOWEST))[:, None]
    time = np.append(0.0, np.cumsum(durations(grid, x)))
    sliding = presliding(q, drives.presliding_displacement, 0.0, time)
    u = np.gradient(x, grid)[:, None] / 2.0
    load = np.abs(gravity) + np.abs(a * u + b * x[:, None])
    dry = (drives.coulomb + drives.load * load) * sliding
    most = np.maximum(dry[:-1], dry[1:])
    least = np.minimum(dry[:-1], dry[1:])
    room = arm.limits.joints.effort - np.maximum(
        np.abs(gravity[:-1] + most), np.abs(gravity[:-1] + least)
    )
    margin = np.minimum(margins.torque, HEADROOM * np.maximum(room, 0.0))
    effort = arm.limits.joints.effort - margin
    rate = _lowered(arm.limits.torque_rate, margins.torque_rate)
    per_square[x <= SLOWEST] = 0.0
    a = a + drives.rotor_torque(first)
    b = b + drives.rotor_torque(second) + per_square
    return Bounds(a, b, gravity, -effort - least, effort - most, rate)


def _lowered(limit: Floats, margin: Floats) -> Floats:
    """Return limits (N, n) less margins, of which they keep a share."""
    return np.maximum(limit - margin, (1.0 - HEADROOM) * np.broadcast_to(limit, margin.shape))
