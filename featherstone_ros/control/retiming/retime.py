"""Time a path anew: as fast as the arm can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics
from featherstone_ros._control import LIMIT_SLACK
from featherstone_ros.arrays import Floats, positive_number
from featherstone_ros.control.feasibility import Feasibility, check
from featherstone_ros.control.joint_space import JointSpace, default_torque_rate
from featherstone_ros.control.retiming import BLEND
from featherstone_ros.control.retiming.demands import (
    MADE_UP,
    ArmOnPath,
    bounds_on,
    too_fast,
)
from featherstone_ros.control.retiming.path import Stretch, of_corners, of_motion
from featherstone_ros.control.retiming.timing import RetimingError as RetimingError
from featherstone_ros.control.retiming.timing import durations, fastest
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.errors import needed
from featherstone_ros.model import Model
from featherstone_ros.model.arguments import finite_joint_array
from featherstone_ros.model.drives import Drives
from featherstone_ros.progress import Progress

SPACING = 0.008  # [s] between the points of a timing: five in the time that the torque may turn in
COARSE = 4 * SPACING  # of a first
EVEN_JERK = 3 ** (1 / 3)  # times as long as with an even acceleration
FINER = 3.0  # times closer are the points of a timing where a path has as many knots
MAX_INTERVALS = 100_000  # at most
REGRIDDED, OTHER = 4, 0.2  # rounds in which an interval that takes so much else makes a new grid
ROUNDS = 12  # timings of a stretch, each judged and corrected
ENOUGH = 2e-3  # share of the duration that is not worth another round
CLOSE = 1e-6  # share by which a last timing is slower than what just fits
LAST_ATTEMPTS = 5  # to slow down by factors that are all but 1


@dataclass(frozen=True, eq=False, repr=False)
class Retimed:
    """A path timed anew: quintics between K points, at rest in the first and the last.

    Attributes:
        names: Joint names, the order of the arrays' columns.
        times: (K,) from 0 [s].
        positions: (K, n) [rad or m].
        velocities: (K, n) [rad/s or m/s].
        accelerations: (K, n) [rad/s^2 or m/s^2].
        verdict: Of the same check that the controller and preflight make.
    """

    names: tuple[str, ...]
    times: Floats
    positions: Floats
    velocities: Floats
    accelerations: Floats
    verdict: Feasibility

    def __repr__(self) -> str:
        """Return the duration, the joints, and which limits bind."""
        joints = ", ".join(self.names)
        return f"<Retimed {joints}: {self.duration:g} s, {len(self.times)} points; {self.used()}>"

    @property
    def duration(self) -> float:
        """Time from the first to the last point [s]."""
        return float(self.times[-1])

    def points(self, begin: float = 0.0) -> list[Point]:
        """Return the points of a trajectory, the first at a time [s]."""
        rows = (self.positions, self.velocities, self.accelerations)
        return [
            Point(begin + time, *(tuple(row.tolist()) for row in fields))
            for time, *fields in zip(self.times.tolist(), *rows, strict=True)
        ]

    def used(self) -> str:
        """Return the largest share of each kind of limits, and whose it is, in words."""
        asked, limits = self.verdict.demand, self.verdict.limits
        max_rates, found = np.maximum(limits.acceleration, limits.deceleration), []
        for quantity, values, limit in (
            ("velocity", asked.velocity, limits.velocity),
            ("acceleration", asked.acceleration, max_rates),
            ("torque", asked.torque, limits.effort),
        ):
            share = np.abs(values).max(axis=0) / limit
            worst = int(np.argmax(share))
            if share[worst] > 0.0:
                found.append(f"{quantity} {share[worst]:.1%} (joint {limits.names[worst]!r})")
        return ", ".join(found)


def retime(
    model: Model,
    path: Trajectory | ArrayLike,
    *,
    drives: Drives | None = None,
    limits: JointSpace | None = None,
    acceleration: float | None = None,
    effort: float = 1.0,
    torque_rate: Floats | None = None,
    link_speed: Mapping[str, float] | None = None,
    blend: float = BLEND,
    report: Progress = lambda done, total: None,
) -> Retimed:
    """Time a path anew, as fast as the arm can follow it, from rest to rest.

    Velocity, acceleration, jerk and torque, with friction and rotors, stay within their limits
    between the points, too: each timing is judged by the check that the controller makes, corrected
    where it exceeds a limit, and at last slowed down by the little that is left.

    Args:
        model: The arm, with its payload.
        path: Positions (K, n) in joint order [rad or m], joined by straight lines whose corners are
            rounded; or a trajectory, whose curve is kept (straight lines: likewise), its times not.
            Where the curve turns sharply or back, the arm stops; rests in between are left out.
        drives: Friction and armature; None: the model's friction.
        limits: Of the joints; None: the model's. Joints without acceleration limit get that of the
            controller, ``SPEED_UP`` velocity limits per second.
        acceleration: Instead of acceleration and deceleration limits [rad/s^2 or m/s^2].
        effort: Share of the effort limits that may be used.
        torque_rate: (n,) greatest change of torque, dry friction apart [N m/s or N/s]; None: what
            the controller's torque governor allows by default.
        link_speed: Link name to the greatest speed of the link's origin [m/s].
        blend: Greatest distance of any joint from corners of straight lines [rad or m]; 0: the arm
            stops at each.
        report: Called with the rounds done and their number at most.

    Raises:
        RetimingError: The path leads nowhere or leaves the range of a joint, gravity and friction
            alone exceed a limit, or nothing limits the speed of a joint.
        FeatherstoneError: SciPy is missing.
        ValueError: An argument is out of range.
        UnknownNameError: There is no such link.
    """
    if model.floating:
        raise ValueError("the model's base is floating, expected a fixed one")
    space = _space(model, limits, acceleration, effort)
    rate = _torque_rate(space, torque_rate)
    drives = Drives.of_model(model) if drives is None else drives
    for name, values in vars(drives).items():
        finite_joint_array(values, model, name)
    speeds = dict(link_speed or {})
    for link, speed in speeds.items():
        positive_number(f"link_speed of {link!r}", speed)
    arm = ArmOnPath(model, Dynamics(model), drives, space, rate, speeds)
    for part in ("interpolate", "optimize", "sparse"):
        needed(f"scipy.{part}")
    stretches = _stretches(path, space, blend)
    _check(arm, stretches)
    total = ROUNDS * len(stretches)
    timings: list[TimedStretch] = []
    for stretch in stretches:
        timings.append(_timed(arm, stretch, partial(_report, report, ROUNDS * len(timings), total)))
    report(total, total)
    return _joined(arm, timings)


def _report(report: Progress, before: int, total: int, done: int) -> None:
    report(before + done, total)


def _space(
    model: Model, limits: JointSpace | None, acceleration: float | None, effort: float
) -> JointSpace:
    """Return the limits that the arguments ask for."""
    if not 0.0 < effort <= 1.0:
        raise ValueError(f"effort is {effort:g}, expected a share of the limits, above 0 up to 1")
    if acceleration is not None and not acceleration > 0.0:
        raise ValueError(f"acceleration is {acceleration:g}, expected more than 0")
    space = JointSpace.of(model) if limits is None else limits
    space = replace(space, effort=effort * space.effort)
    if acceleration is None:
        return space
    max_rates = np.full(model.n, acceleration)
    return replace(space, acceleration=max_rates, deceleration=max_rates)


def _torque_rate(space: JointSpace, given: Floats | None) -> Floats:
    """Return by how much torques may change per second (n,)."""
    if given is None:
        return default_torque_rate(space.effort)
    rate = np.asarray(given, float)
    if rate.shape != space.effort.shape or not (rate > 0.0).all():
        raise ValueError(f"torque_rate is {rate.tolist()}, expected {len(space.names)} above 0")
    return rate


def _stretches(path: Trajectory | ArrayLike, space: JointSpace, blend: float) -> list[Stretch]:
    """Return the stretches of a path."""
    if not 0.0 <= blend < np.inf:
        raise ValueError(f"blend is {blend:g}, expected a distance of at least 0")
    if not isinstance(path, Trajectory):
        found = of_corners(_positions(path, space), blend)
    elif path.is_lines:
        found = of_corners(path.positions, blend)
    else:
        motion = path.motion(path.times[0], path.state(0), ControllerSettings.stop_time)
        found = of_motion(motion, path.times[0], path.times[-1])
    if not found:
        raise RetimingError(
            "the path leads nowhere: all its points are at one place; expected where it begins as "
            "the first point, and where it leads as another"
        )
    return found


def _positions(path: ArrayLike, space: JointSpace) -> Floats:
    """Return the positions (K, n) of a path."""
    positions = np.asarray(path, float)
    if positions.ndim != 2 or positions.shape[1] != len(space.names):
        raise ValueError(f"path has shape {positions.shape}, expected (K, {len(space.names)})")
    if not np.isfinite(positions).all():
        k, j = np.argwhere(~np.isfinite(positions))[0]
        raise ValueError(f"path: joint {space.names[j]!r} of point {k} is {positions[k, j]}")
    return positions


def _check(arm: ArmOnPath, stretches: list[Stretch]) -> None:
    """Raise RetimingError where no timing could help: the range, standing, no bound of a speed."""
    space = arm.space
    q = np.concatenate(
        [stretch.at(np.linspace(0, stretch.length, 1000))[0] for stretch in stretches]
    )
    beyond = np.maximum(space.lower - q, q - space.upper)
    i, j = map(int, np.unravel_index(int(beyond.argmax()), q.shape))
    if beyond[i, j] > LIMIT_SLACK:
        raise RetimingError(
            f"the path leads joint {space.names[j]!r} to {q[i, j]:.4g} "
            f"{space.unit(j, 'position')}, outside its limits "
            f"[{space.lower[j]:g}, {space.upper[j]:g}]{space.if_degrees(q)}"
        )
    zero = np.zeros_like(q)
    gravity = arm.dynamics.gravity(q)
    dry = arm.drives.torque(arm.dynamics, q, zero, zero, 1.0) - gravity
    moving = np.ptp(q, axis=0) > 0.0
    standing = np.abs(gravity) + np.where(moving, dry, 0.0)
    worst = int(np.argmax((standing - space.effort).max(axis=0)))
    if standing[:, worst].max() >= space.effort[worst]:
        raise RetimingError(
            f"gravity and friction alone take {standing[:, worst].max():.4g} "
            f"{space.unit(worst, 'torque')} of joint {space.names[worst]!r}, as much as its effort "
            f"limit of {space.effort[worst]:.4g}, or more: no speed would help"
        )
    for j in np.flatnonzero(moving).tolist():
        if np.isinf([space.velocity[j], arm.limits.acceleration[j], space.effort[j]]).all():
            raise RetimingError(
                f"joint {space.names[j]!r} has no limit of velocity, acceleration or effort: "
                "nothing bounds how fast it may be"
            )


@dataclass(frozen=True, eq=False)
class TimedStretch:
    """A stretch with squared speeds x (N + 1,) at the nodes of a grid (N + 1,) of lengths."""

    stretch: Stretch
    grid: Floats
    x: Floats

    @property
    def nodes(self) -> Floats:
        """Times of the nodes (N + 1,) [s]."""
        return np.append(0.0, np.cumsum(durations(self.grid, self.x)))

    def slower(self, factor: float) -> TimedStretch:
        """Return the same in ``factor`` times the time."""
        return replace(self, x=self.x / factor**2)

    def sampled(self, begin: float = 0.0) -> tuple[Floats, Floats, Floats, Floats]:
        """Return times (N + 3,), and positions, velocities, accelerations (N + 3, n) there.

        The speed of the path is a cubic B-spline over time with the speeds at the nodes as its
        control points, so that its second derivative is between those of neighbouring nodes: it
        begins an interval earlier than the timing, and ends one later, without a step.
        Times are whole nanoseconds, as messages have them, counted from a beginning that is added.

        Source: de Boor, A Practical Guide to Splines, 2001, chapters IX and XI.
        """
        from scipy.interpolate import BSpline

        nodes = self.nodes
        first, last = nodes[1], nodes[-1] - nodes[-2]
        more = np.arange(1.0, 6.0)
        knots = np.concatenate([-first * more[::-1], nodes, nodes[-1] + last * more])
        middles = (knots[1:-3] + knots[2:-2] + knots[3:-1]) / 3.0
        control = np.interp(middles, nodes, np.sqrt(self.x))
        speed = BSpline(knots, control, 3)
        begun = knots[4]
        time = knots[4:-4] - begun
        time = (np.round(1e9 * (begin + time)) - np.round(1e9 * begin)) / 1e9
        at = begun + time
        s, v, u = (part(at) for part in (speed.antiderivative(), speed, speed.derivative()))
        s -= s[0]
        v[[0, -1]] = u[[0, -1]] = 0.0
        s, v, u = (self.stretch.length / s[-1] * part for part in (s, v, u))
        q, first, second = self.stretch.at(np.clip(s, 0.0, self.stretch.length))
        v, u = v[:, None], u[:, None]
        return time, q, first * v, first * u + second * v**2


def _timed(arm: ArmOnPath, stretch: Stretch, report: Callable[[int], None]) -> TimedStretch:
    """Return the fastest timing of a stretch, slowed down by what it still exceeds limits.

    Two timings make the grid; those that follow are judged, and limits lowered where they exceed
    them between its nodes.
    """
    grid, x = _rough(arm, stretch)
    best, shortest = None, np.inf
    share = np.ones(len(grid) - 1)
    for k in range(ROUNDS):
        report(k)
        found = fastest(grid, *bounds_on(arm, stretch, grid, x, share), x)
        change = np.abs(np.log(durations(grid, found) / durations(grid, x))).max()
        if k == 0 or (k < REGRIDDED and change > OTHER):
            grid, x = _regridded(stretch, grid, found, SPACING)
            share = np.ones(len(grid) - 1)
            continue
        x = found
        timing = TimedStretch(stretch, grid, x)
        excess, over_all = too_fast(arm, *timing.sampled())
        slowed = timing.slower(over_all)
        duration = slowed.nodes[-1]
        gain = 1.0 - duration / shortest
        if gain > 0.0:
            best, shortest = slowed, duration
        if over_all < 1.0 + ENOUGH and gain < ENOUGH:
            break
        share /= excess**MADE_UP
    if best is None:
        raise RetimingError("no timing was found within the limits")
    return best


def _rough(arm: ArmOnPath, stretch: Stretch) -> tuple[Floats, Floats]:
    """Return a coarse grid that is even in time, and the squared speeds there without rates."""
    grid = stretch.grid
    x = np.ones(len(grid))
    max_squares, bounds = bounds_on(arm, stretch, grid, x, np.ones(len(grid) - 1))
    free = [replace(bound, rate=np.full_like(bound.rate, np.inf)) for bound in bounds]
    found = fastest(grid, max_squares, free, x)
    return _regridded(stretch, grid, found, COARSE)


def _regridded(stretch: Stretch, grid: Floats, x: Floats, spacing: float) -> tuple[Floats, Floats]:
    """Return a grid that is even in time, finer where the path has more knots, and squared speeds.

    From and to rest the acceleration changes evenly, which takes ``EVEN_JERK`` times as long as the
    timing has it, whose acceleration is that of an interval from its beginning.
    """
    took = durations(grid, x)
    took[[0, -1]] *= EVEN_JERK
    longer = EVEN_JERK - 1.0
    spacing = min(spacing, took.sum() / (len(stretch.grid) + 2.0 * longer))
    early = longer * spacing
    time = np.append(0.0, np.cumsum(took)) - early
    end = float(time[-1]) - early
    knots = np.clip(np.interp(stretch.grid, grid, time), 0.0, end)
    lasting = np.diff(knots) / spacing
    number = np.append(0.0, np.cumsum(np.clip(1.0, lasting, FINER * lasting)))
    count = round(min(number[-1], MAX_INTERVALS))
    wanted = np.interp(np.linspace(0.0, number[-1], count + 1), number, knots)
    wanted[[0, -1]] = time[[0, -1]]
    at = np.clip(np.searchsorted(time, wanted, "right") - 1, 0, len(x) - 2)
    share, step, root = (wanted - time[at]) / took[at], np.diff(grid)[at], np.sqrt(x)
    speed = root[at] + share * (root[at + 1] - root[at])
    finer = grid[at] + step * share * (root[at] + speed) / (root[at] + root[at + 1])
    begins, ends = at == 0, at == len(x) - 2
    finer[begins], speed[begins] = grid[1] * share[begins] ** 3, root[1] * share[begins] ** 2
    left = 1.0 - share[ends]
    finer[ends], speed[ends] = grid[-1] - step[ends] * left**3, root[-2] * left**2
    return finer, speed**2


def _verdict(arm: ArmOnPath, samples: tuple[Floats, ...]) -> Feasibility:
    """Return the check of a trajectory as a controller makes it."""
    time, *fields = samples
    rows = zip(time.tolist(), *fields, strict=True)
    n, space = arm.model.n, arm.space
    unlimited = np.full(n, np.inf)
    free = replace(space, lower=-unlimited, upper=unlimited, effort=unlimited)
    trajectory = Trajectory(space.names, [Point(*row) for row in rows], free)
    motion = trajectory.motion(0.0, trajectory.state(0), ControllerSettings.stop_time)
    return check(arm.dynamics, arm.drives, space, motion, 0.0, motion.end, np.zeros(n))


def _joined(arm: ArmOnPath, timings: list[TimedStretch]) -> Retimed:
    """Return stretches one after the other, slowed down together by the little that is missing."""
    for _ in range(LAST_ATTEMPTS):
        samples = _sampled(timings)
        verdict = _verdict(arm, samples)
        _, own = too_fast(arm, *samples)
        if verdict.fits and own <= 1.0 + CLOSE:
            return Retimed(arm.model.joint_names, *samples, verdict)
        factor = max(verdict.slow_down, own) * (1.0 + CLOSE)
        if np.isinf(factor):
            break
        timings = [timing.slower(factor) for timing in timings]
    raise RetimingError(str(verdict))


def _sampled(timings: list[TimedStretch]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return times (K,), positions, velocities and accelerations (K, n) of all stretches."""
    begin = 0.0
    parts: list[list[Floats]] = []
    for timing in timings:
        time, *fields = timing.sampled(begin)
        first = 1 if parts else 0  # where one ends, the next begins
        parts.append([array[first:] for array in (begin + time, *fields)])
        begin += time[-1]
    times, q, qd, qdd = (np.concatenate(part) for part in zip(*parts, strict=True))
    return times, q, qd, qdd
