"""Can the motors follow a motion? Asked by the controller, and by ``featherstone-ros preflight``.

A ``Demand`` is what a motion asks of every joint. What is bounded of it is a ``Quantity`` each, in
one table (``quantities``), from which come the excesses and the factor to slow down by. So is a
jump of the velocity: points with positions alone are joined by straight lines. A jump takes
infinite acceleration, which the torque along the curve does not show; after each jump the arm is
off its path until the feedback has caught up. Small jumps are harmless: dense points of a planner
have one at each point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros._control import BLEND_SPEED, LIMIT_SLACK, SET_POINT_SPEED
from featherstone_ros.arrays import Floats
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import Choice, ControllerSettings
from featherstone_ros.control.trajectory import Motion, MotionState
from featherstone_ros.model import Model
from featherstone_ros.model.drives import Drives, presliding

ROUNDING = 1e-6  # share of a limit other than of the position that a plan may touch it by
JERK_ROUNDING = 1e-3  # the same of the jerk, which is a difference of samples
SAME = 1e-9  # the same of a jump, by which a smooth velocity may seem to have one
SUDDEN = 0.01  # [s] that a jump of the acceleration takes in any drive
AT_ONCE = 1e-6  # [s] between two samples, at most, for a jump
SMALL = 0.25  # share of the velocity limit that velocity may jump by
SMALL_UNLIMITED = 0.25  # [rad/s or m/s] where there is no limit
JUMP = "jump"
FINEST = 1e-3  # [s] between two samples
# Samples times joints. The control loop waits meanwhile: this many take about as long as reading a
# trajectory of a hundred points, 1 to 2 ms. More is sampled more coarsely.
MAX_VALUES = 7000


class Preflight(Choice):
    """Reaction to what exceeds the arm's limits of effort, or jumps.

    With any but ``off``, what is too fast or leaves the range is refused: see ``is_beyond``.
    """

    OFF = "off"
    WARN = "warn"
    REJECT = "reject"


@dataclass(frozen=True, eq=False)
class Demand:
    """N samples of a motion and its torque; arrays (N, n) in joint order.

    The torque is in three parts, since a motion that takes s times as long has velocities v / s and
    accelerations a / s^2, and the equations of motion are linear in a and quadratic in v:

        tau(s) = standing + viscous / s + inertial / s^2

    Coulomb friction does not change: it depends on the direction of motion, not on the speed. Where
    friction is not so simple, this is an upper bound: what grows with the load does with that of
    both parts, and viscous friction is not thinned.
    """

    time: Floats  # (N,) [s]
    position: Floats  # [rad] or [m]
    velocity: Floats  # [rad/s] or [m/s]
    acceleration: Floats  # [rad/s^2] or [m/s^2]
    standing: Floats  # gravity, Coulomb friction, and the motion's extra effort
    viscous: Floats
    inertial: Floats  # accelerations, centrifugal and Coriolis forces, armature

    @classmethod
    def of(
        cls, dynamics: Dynamics, drives: Drives, time: Floats, q: Floats, qd: Floats, qdd: Floats
    ) -> Demand:
        """Return what a sampled motion asks; time (N,) [s], q, qd and qdd (N, n)."""
        gravity = dynamics.gravity(q)
        rigid = dynamics.rnea(q, qd, qdd) - gravity
        sliding = presliding(q, drives.presliding_displacement, np.sign(qd[0]), time)
        coulomb = (drives.coulomb + drives.load * np.abs(gravity)) * sliding
        standing = gravity + coulomb + drives.standing_torque(q)
        inertial = rigid + drives.load * np.abs(rigid) * sliding + drives.rotor_torque(qdd)
        return cls(time, q, qd, qdd, standing, drives.viscous * qd, inertial)

    @property
    def torque(self) -> Floats:
        """(N, n) total torque of the joints [N m] or [N]."""
        return self.standing + self.viscous + self.inertial

    def slowed(self, factor: float) -> Demand:
        """Return the same motion in ``factor`` times the time; inf: standing at every pose."""
        stretch = 1.0 if factor == inf else factor
        return replace(
            self,
            time=self.time[0] + (self.time - self.time[0]) * stretch,
            velocity=self.velocity / factor,
            acceleration=self.acceleration / factor**2,
            viscous=self.viscous / factor,
            inertial=self.inertial / factor**2,
        )

    def where(self, taken: NDArray[np.bool_]) -> Demand:
        """Return some of the samples, (N,)."""
        return Demand(*(getattr(self, field.name)[taken] for field in fields(self)))

    def rms(self) -> Floats:
        """Return the root mean square torque over time (n,) [N m] or [N]."""
        square = self.torque**2
        duration = self.time[-1] - self.time[0]
        if duration == 0.0:
            return np.sqrt(square[0])
        means = (square[1:] + square[:-1]) / 2.0
        return np.sqrt(np.diff(self.time) @ means / duration)

    @property
    def jumping(self) -> NDArray[np.bool_]:
        """Which samples (N,) come at once after another: at corners, and in no motion at all."""
        return np.diff(self.time, prepend=-np.inf) <= AT_ONCE

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """The acceleration (N, n) where speeds grow, and where they fall; elsewhere 0."""
        sign = self.velocity * self.acceleration
        grows = np.where(sign > 0.0, self.acceleration, 0.0)
        return grows, np.where(sign < 0.0, self.acceleration, 0.0)

    @property
    def jerk(self) -> Floats:
        """(N, n) change of acceleration up to each sample, 0 of the first; jumps take SUDDEN."""
        took = np.where(self.jumping, SUDDEN, np.diff(self.time, prepend=-np.inf))[:, None]
        return np.diff(self.acceleration, axis=0, prepend=self.acceleration[:1]) / took


class Quantity(NamedTuple):
    """Something bounded, at N times."""

    # ``"position"``, ``"velocity"``, ``"acceleration"``, ``"deceleration"``, ``"jerk"``,
    # ``"torque"``, or ``JUMP`` of the velocity
    name: str
    time: Floats  # (N,) [s]
    values: Floats  # (N, n)
    lower: Floats  # (n,) limit
    upper: Floats  # (n,) limit
    slack: Floats | float  # (n,), or of all joints, by which values may be beyond
    # in s times the time the values are s to this power times smaller; 0: not so simply
    power: int = 0
    before: Floats | None = None  # (N, n) velocity before a jump

    def largest_rate(self) -> float:
        """Return the greatest x, up to 1, such that x to the power times all values fits."""
        greatest = np.abs(self.values).max(axis=0, initial=0.0)
        beyond = greatest > self.upper + self.slack
        if not beyond.any():
            return 1.0
        return float((self.upper[beyond] / greatest[beyond]).min()) ** (1 / self.power)


@dataclass(frozen=True)
class Excess:
    """The largest excess of a motion over a limit of one joint."""

    joint: str
    quantity: str  # as of ``Quantity``
    value: float  # the value reached; of a jump, by how much
    limit: float
    unit: str  # of both
    time: float  # when, since the trajectory's start [s]
    before: float = 0.0  # the velocity before a jump

    def share(self) -> float:
        """Return the value as a multiple of the limit."""
        return abs(self.value / self.limit) if self.limit else inf

    def __str__(self) -> str:
        """Return one line for a person."""
        if self.quantity == JUMP:
            return (
                f"velocity of joint {self.joint!r} jumps from {self.before:.3g} to "
                f"{self.before + self.value:.3g} {self.unit} at {self.time:.3f} s, which takes "
                "infinite acceleration"
            )
        return (
            f"{self.quantity} of joint {self.joint!r} {self.value:.4g} {self.unit} at "
            f"{self.time:.3f} s, limit {self.limit:.4g}"
        )


def quantities(demand: Demand, limits: JointSpace) -> list[Quantity]:
    """Return what is bounded of a motion's samples, the positions first."""
    time, shape = demand.time, demand.position.shape[1]
    lower, upper = np.broadcast_to((limits.lower, limits.upper), (2, shape))
    speeding, slowing = demand.rates
    jerk, at_once = demand.jerk, demand.jumping[:, None]  # SUDDEN stays, however slow
    symmetric: tuple[tuple[str, Floats, Floats, float, int], ...] = (
        ("velocity", demand.velocity, limits.velocity, ROUNDING, 1),
        ("acceleration", speeding, limits.acceleration, ROUNDING, 2),
        ("deceleration", slowing, limits.deceleration, ROUNDING, 2),
        ("jerk", np.where(at_once, jerk, 0.0), limits.jerk, JERK_ROUNDING, 2),
        ("jerk", np.where(at_once, 0.0, jerk), limits.jerk, JERK_ROUNDING, 3),
        ("torque", demand.torque, limits.effort, ROUNDING, 0),
    )
    rows = [Quantity("position", time, demand.position, lower, upper, LIMIT_SLACK)]
    for name, values, limit, slack, power in symmetric:
        most = np.broadcast_to(limit, shape)
        rows.append(Quantity(name, time, values, -most, most, slack * most, power))
    return rows


def jumps(motion: Motion, begin: float, velocity: Floats, limits: JointSpace) -> Quantity:
    """Return the jumps of the velocity from ``begin`` [s] on, ``velocity`` (n,) until then."""
    time = np.append(begin, motion.corners[motion.corners > begin])
    _, before, *_ = motion.sample(time, np.nextafter(time, -np.inf))
    before[0] = velocity
    _, after, *_ = motion.sample(time)
    small = np.where(np.isfinite(limits.velocity), SMALL * limits.velocity, SMALL_UNLIMITED)
    small = np.broadcast_to(small, velocity.shape)
    return Quantity(JUMP, time, after - before, -small, small, SAME * small, 1, before)


def excesses(rows: Iterable[Quantity], limits: JointSpace) -> list[Excess]:
    """Return the worst excess of each quantity and joint; ``limits`` are of the same joints."""
    found: dict[tuple[str, int], Excess] = {}
    for row in rows:
        beyond = np.maximum(row.lower - row.values, row.values - row.upper) - row.slack
        for j, i in enumerate(beyond.argmax(axis=0)):
            if beyond[i, j] <= 0.0:  # not so if it is no number
                continue
            value = float(row.values[i, j])
            limit = float(row.lower[j] if value < row.lower[j] else row.upper[j])
            before = 0.0 if row.before is None else float(row.before[i, j])
            unit = limits.unit(j, "velocity" if row.name == JUMP else row.name)
            at = float(row.time[i] - row.time[0])
            excess = Excess(limits.names[j], row.name, value, limit, unit, at, before)
            worst = found.setdefault((row.name, j), excess)
            if excess.share() > worst.share():
                found[row.name, j] = excess
    return list(found.values())


def slow_down(demand: Demand, limits: JointSpace) -> float:
    """Return the smallest s >= 1 such that the motion fits in s times the time; inf if none does.

    With x = 1 / s the torque is a parabola f(x) = standing + viscous x + inertial x^2 for every
    sample and joint, see ``Demand``. Where |f| is beyond its limit L at some x, the fastest slower
    motion that may fit has the largest root of |f| = L below x, which is taken in closed form. The
    largest x that all of them allow cannot be above the least of those roots: starting from the
    limits of what goes with a power of x, and going from one to the next finds it, whatever the
    shape of the parabolas. Position limits are not considered: no speed helps there.
    """
    x = min(row.largest_rate() for row in quantities(demand, limits) if row.power)
    most = np.broadcast_to(limits.effort, demand.standing.shape)
    while x > 0.0:
        torque = demand.standing + x * (demand.viscous + x * demand.inertial)
        over = ~(np.abs(torque) <= most * (1.0 + ROUNDING))
        if not over.any():
            return 1.0 / x
        sign = np.sign(torque[over])
        c, b, a = (sign * part[over] for part in (demand.standing, demand.viscous, demand.inertial))
        c -= most[over]
        with np.errstate(divide="ignore", invalid="ignore"):
            half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
            roots = np.stack([half / a, c / half])
        within = (roots >= 0.0) & (roots < x)  # not so for what is no number
        x = float(np.where(within, roots, 0.0).max(axis=0).min())
    return inf


@dataclass(frozen=True, eq=False)
class Feasibility:
    """The result of a check."""

    demand: Demand  # position, speed and torque of the motion
    limits: JointSpace  # those of the arm
    # where it exceeds the limits; velocity jumps, which no motor can follow, last
    excesses: list[Excess]

    @property
    def fits(self) -> bool:
        """Whether the arm can follow."""
        return not self.excesses

    @property
    def jumps(self) -> list[Excess]:
        """The velocity jumps."""
        return [excess for excess in self.excesses if excess.quantity == JUMP]

    @property
    def _leaves_range(self) -> bool:
        return any(excess.quantity == "position" for excess in self.excesses)

    @cached_property
    def slow_down(self) -> float:
        """Smallest factor on time that makes it fit; inf: none does.

        Then the velocity jumps are small, too.
        """
        if self._leaves_range:
            return inf
        with np.errstate(over="ignore", invalid="ignore"):
            factor = slow_down(self.demand, self.limits)
        return max([factor, *(jump.share() for jump in self.jumps)])

    @cached_property
    def standing_excesses(self) -> list[Excess]:
        """Torque beyond a limit at any speed: that of gravity and Coulomb friction alone."""
        rows = quantities(self.demand.slowed(inf), self.limits)
        return excesses((row for row in rows if row.name == "torque"), self.limits)

    def advice(self) -> str:
        """Return one line of advice."""
        if self.jumps:
            smooth = (
                "give the points velocities, for cubics, and accelerations, for quintics, or let "
                "featherstone-ros retime do so"
            )
            if others := [excess for excess in self.excesses if excess.quantity != JUMP]:
                return f"{replace(self, excesses=others).advice()}; besides, {smooth}"
            slower = round_up(self.slow_down)
            return f"{smooth}; or {slower:.4g} times slower the jumps would be small"
        if self._leaves_range:
            hint = self.limits.if_degrees(self.demand.position)
            return f"no speed would keep it within the position limits{hint}"
        if self.slow_down < inf:
            return f"slowed down {round_up(self.slow_down):.4g} times it would fit"
        if self.standing_excesses:
            worst = max(self.standing_excesses, key=Excess.share)
            return f"gravity and friction alone are too much, however slow: {worst}"
        return "no one factor on time would make it fit"

    def __str__(self) -> str:
        """Return one line for a person."""
        if self.fits:
            return "fits"
        worst = {excess.quantity: excess for excess in sorted(self.excesses, key=Excess.share)}
        ordered = sorted(worst.values(), key=lambda excess: excess.quantity == JUMP)
        shown, others = "; ".join(map(str, ordered)), len(self.excesses) - len(worst)
        return f"{shown}{f'; and {others} more' if others else ''}: {self.advice()}"


def check(
    dynamics: Dynamics,
    drives: Drives,
    limits: JointSpace,
    motion: Motion,
    begin: float,
    end: float,
    velocity: Floats,
    step: float = FINEST,
    with_extra_effort: bool = False,
    max_samples: float = inf,
) -> Feasibility:
    """Check a motion from one time to another [s]; ``velocity`` (n,): the desired one until then.

    ``step``: longest time between two samples [s]. Corners are sampled anyway, but for some where
    there are more than ``max_samples``.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is an excess
        time, (q, qd, qdd, extra) = motion.trace(begin, end, step, max_samples)
        asked = Demand.of(dynamics, drives, time, q, qd, qdd)
        if with_extra_effort:
            asked = replace(asked, standing=asked.standing + extra)
        rows = [*quantities(asked, limits), jumps(motion, begin, velocity, limits)]
        return Feasibility(asked, limits, excesses(rows, limits))


def round_up(factor: float) -> float:
    """Return a factor with four significant digits that is not smaller, for people to use."""
    shown = float(f"{factor:.4g}")
    return shown if shown >= factor else float(f"{factor * 1.0005:.4g}")


def check_trajectory(
    dynamics: Dynamics,
    model: Model,
    settings: ControllerSettings,
    motion: Motion,
    begin: float,
    velocity: Floats,
) -> Feasibility:
    """Check a trajectory's whole motion, including the way to its first point."""
    limits, end = JointSpace.of(model, settings.effort_limit), motion.end
    most = MAX_VALUES / model.n
    step = max(FINEST, (end - begin) / most)
    drives = settings.drives
    return check(dynamics, drives, limits, motion, begin, end, velocity, step, True, most)


def is_beyond(verdict: Feasibility, motion: Motion, velocity: Floats) -> bool:
    """Tell whether a trajectory is too fast or leaves the range of a joint: no drives could help.

    One rule for all that moves the joints: a velocity may be ``SET_POINT_SPEED`` times its limit,
    as a set-point's, and while a motion before is blended into the trajectory, which is not the
    sender's, ``BLEND_SPEED`` more. From the first point on, positions may be ``LIMIT_SLACK``
    beyond the limits, as those of points; an arm may come from further outside.

    ``velocity``: (n,) the desired one before.
    """
    demand, first = verdict.demand, float(motion.corners[0])
    blended = demand.time < (first if velocity.any() else motion.blended_until)
    follows = demand.time >= max(first, motion.blended_until)
    return any(
        excess.quantity == quantity and not excess.share() <= max_share
        for samples, quantity, max_share in (
            (~blended, "velocity", SET_POINT_SPEED),
            (blended, "velocity", SET_POINT_SPEED + BLEND_SPEED),
            (follows, "position", 0.0),
        )
        if samples.any()
        for excess in excesses(quantities(demand.where(samples), verdict.limits), verdict.limits)
    )


def check_set_point(
    dynamics: Dynamics, model: Model, settings: ControllerSettings, state: MotionState
) -> str:
    """Return why the motors cannot follow a streamed set-point, empty if they can."""
    drives = replace(settings.drives, coulomb=np.zeros(model.n), load=0.0)  # it may turn round
    torque = np.abs(drives.torque(dynamics, state.position, state.velocity, state.acceleration))
    worst = int(np.argmax(torque - settings.effort_limit))
    if torque[worst] > settings.effort_limit[worst]:
        return (
            f"{model.joint_names[worst]} needs {torque[worst]:.4g}, its effort limit is "
            f"{settings.effort_limit[worst]:.4g}"
        )
    space, slows = JointSpace.of(model), state.velocity * state.acceleration < 0.0
    limit = np.where(slows, space.deceleration, space.acceleration)
    share = np.abs(state.acceleration) / limit
    worst = int(np.argmax(share))
    if share[worst] <= 1.0 + ROUNDING:
        return ""
    quantity = "deceleration" if slows[worst] else "acceleration"
    return (
        f"{space.names[worst]} has {quantity} {abs(state.acceleration[worst]):.4g} "
        f"{space.unit(worst, quantity)}, its limit is {limit[worst]:.4g}"
    )
