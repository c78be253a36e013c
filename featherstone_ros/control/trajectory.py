"""Joint trajectories: checked like joint_trajectory_controller does, then turned into motions.

As in joint_trajectory_controller (ros2_controllers) with its default parameters:
names in any order, every joint of the controller exactly once (no partial goals); interpolation
between two points by the fields both of them have: positions give a line (or, if so set and no
point has more, all of them a spline), with velocities a cubic, with accelerations too a quintic;
the same rule leads from the present desired state to a first point in the future; the last point
is held; it must have zero velocity; a trajectory that ends in the past is refused, one that only
begins there is entered at its present point; efforts are feedforward in addition to the model's,
interpolated linearly between points that both have them, and the last point's stay, but for those
that are the model's own torque: see ``without_own_torque``.

The differences, because the commands are torques: where joint_trajectory_controller's desired state
would jump (a first point at time zero that is not the present desired state, or a moving arm given
points without velocities), a quintic removes the difference smoothly; points need positions, and
accelerations need velocities; numbers must be finite, positions within the joint limits, and the
start within reach of the arm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros._control import (
    CLOCK_JUMP,
    LIMIT_SLACK,
    SET_POINT_SPEED,
    SPEED_MEMORY,
    CompiledMotion,
    CompiledPath,
)
from featherstone_ros._enumerations import Refusal
from featherstone_ros.arrays import Floats
from featherstone_ros.control.joint_space import TURN, JointSpace
from featherstone_ros.control.settings import ControllerSettings, Interpolation
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.drives import Drives

FINEST = 5000  # samples of a piece of a motion at most: memory goes by the number of pieces
SPEED_UP = 100.0  # [1/s] largest acceleration, in velocity limits per second
WITHIN_PIECE = (0.0, 0.25, 0.5, 0.75, 1.0)  # where a quintic's acceleration is looked at
OWN_TORQUE = 0.05  # share of the model's torque within which an effort is that
STREAM_INTERVAL = 0.25  # [s] between single points that are a stream, at most
OVERSHOOT = 0.9  # v^2 over the deceleration, of what comes back to the last point: motion.pxi
REST_SPEED = float(np.finfo(np.float32).eps)  # as joint_trajectory_controller


class TrajectoryError(FeatherstoneError, ValueError):
    """A trajectory or set-point that is refused; the message says why."""


class LimitsError(TrajectoryError):
    """It asks for more than the arm's limits allow: with more time, it might not."""


class JointsError(TrajectoryError):
    """It does not name the joints."""


class TrajectoryOverError(TrajectoryError):
    """It ends in the past."""


class MotionState(NamedTuple):
    """The state of a motion at one time; arrays are (n,) in joint order, or (K, n) for several."""

    position: Floats  # [rad] or [m]
    velocity: Floats  # [rad/s] or [m/s]
    acceleration: Floats  # [rad/s^2] or [m/s^2]
    effort: Floats  # feedforward effort in addition to the model's [N m] or [N]

    def at(self, index: int) -> MotionState:
        """Return one of several states."""
        return MotionState(*(part[index] for part in self))

    def rows(self) -> Floats:
        """Return the fields as (..., 4, n)."""
        return np.stack(self, axis=-2)


class Motion:
    """A motion in joint space: polynomials of the time since the trajectory's start, motion.pxd."""

    def __init__(self, compiled: CompiledMotion) -> None:
        """Take the compiled motion."""
        self._compiled = compiled
        self.corners: Floats = compiled.path.times  # (K,) at which pieces begin, smooth within [s]
        self.end: float = compiled.end  # from then on it stands still [s]

    @property
    def blended_until(self) -> float:
        """When the last of what was asked for before is gone [s]; -inf if there was nothing."""
        return float(self._compiled.correction[1])

    def sample(self, times: Floats, inside: Floats | None = None) -> Floats:
        """Return position, velocity, acceleration and extra effort (4, N, n) at times (N,)."""
        return self._compiled.sample(times, times if inside is None else inside)

    def state(self, time: float) -> MotionState:
        """Return the motion's state at a time."""
        return MotionState(*self.sample(np.array([time]))[:, 0])

    def trace(
        self, begin: float, end: float, step: float, max_samples: float = inf
    ) -> tuple[Floats, Floats]:
        """Evaluate the motion over a stretch of time, on both sides of every corner.

        Times (N,) and samples (4, N, n), two of the same time where a piece or the correction
        begins or ends: there velocity and acceleration may jump. ``step``: longest time between two
        [s], but no piece has more than ``FINEST``; inf: the corners and the middles between. With
        twice ``max_samples`` or more, only every second, third, ... is taken.
        """
        between = [t for t in [*self.corners, *self._compiled.correction] if begin < t < end]
        corners = np.unique([begin, *between, end])
        corners = corners if len(corners) > 1 else np.array([begin, end])
        length = np.diff(corners)
        count = np.clip(np.ceil(length / step), 2.0, FINEST)
        stretch = np.repeat(np.arange(len(length)), count.astype(int) + 1)
        number = np.arange(len(stretch)) - np.searchsorted(stretch, stretch)
        every = max(int(len(stretch) // max_samples), 1)
        stretch, number = stretch[::every], number[::every]
        share = number / count[stretch]
        time = np.where(
            share < 1.0, corners[stretch] + length[stretch] * share, corners[stretch + 1]
        )
        return time, self.sample(time, (corners[:-1] + length / 2.0)[stretch])


@dataclass(frozen=True)
class Point:
    """One point as received: values per joint in the order of the trajectory's names, or none.

    ``None`` stands for no values, too.
    """

    time: float  # from the trajectory's start [s]
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()

    def __post_init__(self) -> None:
        """Have one form of no values."""
        for name in ("velocities", "accelerations", "effort"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, ())


class Trajectory:
    """A checked joint trajectory of K points."""

    def __init__(
        self,
        names: Sequence[str],
        points: Sequence[Point],
        space: JointSpace,
        allow_moving_end: bool = False,
        interpolation: Interpolation = Interpolation.LINEAR,
    ) -> None:
        """Check everything that does not depend on the arm's state.

        ``names``: of the points' fields, in any order. ``allow_moving_end``: accept a last point
        with velocity; the arm is stopped after it. ``interpolation``: between points that have
        positions alone. A TrajectoryError names the joint or point and the value at fault.
        """
        order = joint_order(names, space.names)
        if not points:
            raise TrajectoryError("no points")
        self._space = space
        self.times = check_times([point.time for point in points])
        for i, point in enumerate(points):
            check_fields(i, point)
        position, _ = gather(points, "positions", order, space)
        velocity, has_velocity = gather(points, "velocities", order, space)
        acceleration, has_acceleration = gather(points, "accelerations", order, space)
        is_spline = interpolation is Interpolation.SPLINE and not has_velocity.any()
        steps = len(self.times) - 1
        self._period = (self.times[-1] - self.times[0]) / steps if is_spline and steps else 0.0
        if is_spline:
            velocity, acceleration = self._spline(position)
            has_velocity = has_acceleration = ~has_velocity
        effort, self._has_effort = gather(points, "effort", order, space)
        self._take(MotionState(position, velocity, acceleration, effort))
        check_limits(self._states, space, allow_moving_end or is_spline)
        self._turns = np.zeros(len(space.names))
        self._degrees = has_velocity.astype(int) + has_acceleration
        path = self.compiled()
        check_pieces(path.coefficients, path.effort, self.times)

    def _take(self, states: MotionState) -> None:
        """Go through these points from now on."""
        self._states = states
        self._paths: dict[float, CompiledPath] = {}  # that have no tolerance, by transition

    def _spline(self, position: Floats) -> tuple[Floats, Floats]:
        """Return velocities and accelerations (K, n) of a spline through positions.

        It ends at rest, but for joints of which that asks for more than their deceleration: points
        that end in motion, as those of a policy's chunk do, are no stop. Those come to rest beyond
        the last point, and return to it, where their range lets them.
        """
        velocity = spline_velocities(self.times, position)
        acceleration = spline_accelerations(self.times, position, velocity)
        if len(self.times) > 1:
            bound, duration = self._space.rates[1], self.times[-1] - self.times[-2]
            goes_on = spline_velocities(self.times, position, False)
            end = position[-1] + OVERSHOOT * goes_on[-1] * np.abs(goes_on[-1]) / bound
            rows = np.stack([position, velocity, acceleration, 0.0 * position], axis=1)[-2:]
            limits = self._space.lower, self._space.upper
            last = CompiledPath([0.0, duration], rows, [2, 2], [0, 0], 0.0, *limits)
            along = np.linspace(0.0, duration, 17)[:, None]
            is_hard = np.abs(acceleration_at(last.coefficients[0], along)).max(axis=0) > bound
            has_room = (end <= self._space.upper) & (end >= self._space.lower)
            velocity = np.where(is_hard & has_room, goes_on, velocity)
            acceleration = spline_accelerations(self.times, position, velocity)
        return velocity, acceleration

    @property
    def duration(self) -> float:
        """Time from the start to the last point [s]."""
        return self.times[-1]

    @property
    def is_lines(self) -> bool:
        """Whether its points have positions alone, joined by straight lines."""
        return not self._degrees.any()

    @property
    def has_effort(self) -> bool:
        """Whether efforts are given that add to the model's."""
        return bool(self._states.effort.any())

    def without_own_torque(self, dynamics: Dynamics, drives: Drives) -> Trajectory:
        """Return it without efforts that are the model's own torque; itself if they are not.

        Some planners give the whole torque, which would act twice: it is recognised where every
        point has it, with friction or without, within ``OWN_TORQUE`` of the largest of its joint
        along the trajectory.
        """
        states = self._states
        if not self._has_effort.all() or not self.has_effort:
            return self
        q, qd = states.position, states.velocity
        between = self._accelerations()
        at_rest = np.append(between[:-1], 0.0 * between[-1:], axis=0)  # as preflight fills them in
        for qdd in (states.acceleration, between, at_rest):
            rigid = dynamics.rnea(q, qd, qdd)
            rotors = drives.rotor_torque(qdd)
            whole = rigid + drives.own_torque(q, qd, qdd, None, rigid)
            for torque in (rigid, rigid + rotors, whole):
                largest = np.abs(torque).max(axis=0)
                close = OWN_TORQUE * (largest + OWN_TORQUE * largest.max())
                if (np.abs(states.effort - torque) <= close).all():
                    found = copy(self)
                    found._take(states._replace(effort=np.zeros_like(states.effort)))
                    found._has_effort = np.zeros_like(self._has_effort)
                    return found
        return self

    def _accelerations(self) -> Floats:
        """Return the means of those before and after each point (K, n)."""
        if len(self.times) == 1:
            return self._states.acceleration
        pieces = self.compiled().coefficients[:-1]
        found = np.zeros_like(self._states.acceleration)
        found[:-1] = acceleration_at(pieces, 0.0)
        found[1:] += acceleration_at(pieces, np.diff(self.times)[:, None])
        found[1:-1] /= 2.0
        return found

    @property
    def positions(self) -> Floats:
        """(K, n) of the points [rad or m]."""
        return self._states.position

    def state(self, index: int) -> MotionState:
        """Return a point, zeros for what it does not have."""
        return self._states.at(index)

    def turn_towards(self, elapsed: float, q: Floats) -> None:
        """Move joints that turn without end by whole turns: the way to the start is the shortest.

        As joint_trajectory_controller does; from point to point the way is as given. ``elapsed``:
        since the trajectory's start [s]; q (n,): where it will begin from.
        """
        turns = self._space.turns(self.compiled().sample(elapsed)[0] - q)
        if turns.any():
            self._take(self._states._replace(position=self._states.position - turns))
            self._turns = self._turns + turns

    def shorter_ways(self) -> str:
        """Return what ``turn_towards`` has made of which goals; empty if they are as given."""
        goal = self._states.position[-1]
        return ", ".join(
            f"{name!r} goes to {q:.4g} instead of {q + turn:.4g}, {abs(turn) / TURN:.0f} whole "
            "turns nearer"
            for name, q, turn in zip(self._space.names, goal, self._turns, strict=True)
            if turn
        )

    def go_on_from(self, before: CompiledPath, since: float) -> None:
        """Pass through the only point with the velocity of a stream of such trajectories.

        One point with a position alone says where the arm is to be, not that it is to stand there.
        If no other follows, it comes to rest beyond the point, and returns to it. ``since``: from
        the point before to this one [s].
        """
        if not (len(self.times) == len(before.points) == 1 and 0.0 < since <= STREAM_INTERVAL):
            return
        if self._degrees.any() or (before.points[0, 1].any() and not before.is_stream):
            return
        space, q = self._space, self._states.position[0]
        speed = (q - before.points[0, 0]) / since
        velocity = before.points[0, 1] + since / (since + SPEED_MEMORY) * (
            speed - before.points[0, 1]
        )
        end = q + OVERSHOOT * velocity * np.abs(velocity) / space.rates[1]
        follows = np.abs(speed) <= SET_POINT_SPEED * space.velocity
        follows &= (end >= space.lower) & (end <= space.upper)
        velocity = np.where(follows, velocity, 0.0)[None]
        self._period = since
        self._take(self._states._replace(velocity=velocity))

    def check_accelerations(self) -> None:
        """Check that no piece accelerates a joint as no arm does."""
        times, duration = self.times, np.diff(self.times)[:, None]
        bound = np.maximum(SPEED_UP, 1.0 / duration)
        pieces = self.compiled().coefficients[: len(duration)]
        along = [acceleration_at(pieces, share * duration) for share in WITHIN_PIECE]
        largest, limit = np.abs(along).max(axis=0), bound * self._space.velocity
        if at := first(largest > limit):
            i, j = at
            raise LimitsError(
                f"acceleration of joint {self._space.names[j]!r} is {largest[at]:.4g} between "
                f"point {i} at {times[i]:g} s and the next at {times[i + 1]:g} s, expected at most "
                f"{limit[at]:.4g}, {bound[i, 0]:.4g} times its velocity limit per second"
            )

    def check_start(self, elapsed: float, arm: Floats, tolerance: float) -> None:
        """Check that the trajectory begins within reach of where the ``arm`` (n,) is.

        A point still to come may be as far away as the velocity limits allow until then, plus the
        tolerance; where the trajectory is already under way, the tolerance alone counts.
        """
        arm, velocity = np.ascontiguousarray(arm), np.ascontiguousarray(self._space.velocity)
        why, begin = self.compiled().why_not_start(elapsed, arm, velocity, tolerance)
        if why.code is Refusal.ENDED:
            raise TrajectoryOverError(why.text(self._space.names))
        if why.code:
            is_goal = len(self.times) == 1 and elapsed < self.times[0]
            kind = LimitsError if is_goal else TrajectoryError
            raise kind(
                f"starts too far from the arm: joint {self._space.names[why.joint]!r} at "
                f"{begin[why.joint]:.4g} while the arm is at {arm[why.joint]:.4g}; at most "
                f"{why.bound:.4g} away can be reached in time (start_tolerance {tolerance:g})"
            )

    def compiled(self, transition: float = 0.0, tolerance: Floats | None = None) -> CompiledPath:
        """Return the trajectory as the compiled controller follows it."""
        path = self._paths.get(transition) if tolerance is None else None
        if path is None:
            path = CompiledPath(
                self.times,
                self._states.rows(),
                self._degrees,
                self._has_effort,
                transition,
                self._space.lower,
                self._space.upper,
                tolerance,
                self._period,
                self._space.velocity,
                self._space.rates,
            )
            if tolerance is None:
                self._paths[transition] = path
        return path

    def motion(self, now: float, desired: MotionState, transition: float) -> Motion:
        """Return the motion that follows it from a desired state, ``now`` since its start [s]."""
        space = self._space
        limits = space.lower, space.upper, space.velocity, space.rates
        path = self.compiled(transition)
        return Motion(CompiledMotion(path, now, desired.rows(), *limits, transition))


def plan_start(
    trajectory: Trajectory,
    snapshot: Any,
    settings: ControllerSettings,
    delay: float | None = None,
    inspect: Callable[[Motion, float], None] = lambda motion, begin: None,
    before: CompiledPath | None = None,
) -> float | None:
    """Check that a trajectory can follow, and return its start by the controller's time [s].

    The loop that controls the arm goes on meanwhile; it checks the start again when it adopts the
    trajectory, whose continuous joints are moved by whole turns to the desired positions.

    ``delay``: from the last joint state to its start, negative if that lies in the past [s]; None:
    it starts with the next joint state. ``inspect``: as of ``TorqueController.set_trajectory``.
    ``before``: the path that is followed until then.
    """
    elapsed, desired = -(delay or 0.0), MotionState(*snapshot.desired)
    trajectory.turn_towards(elapsed, desired.position)
    if before is not None and before.number == snapshot.path:
        since = snapshot.elapsed - elapsed + trajectory.times[0] - before.times[0]
        trajectory.go_on_from(before, since)
    trajectory.check_accelerations()
    trajectory.check_start(elapsed, snapshot.q, settings.start_tolerance)
    inspect(trajectory.motion(elapsed, desired, settings.stop_time), elapsed)
    return None if delay is None else snapshot.time + delay


def start_delay(start: float, stamp: float, now: float) -> float:
    """Return how long after the last joint state a trajectory starts [s], negative if before."""
    return start - (stamp if is_same_clock(start, stamp, now) else now)


def is_same_clock(start: float, stamp: float, now: float) -> bool:
    """Tell whether a start time is by the clock that stamps joint states; as ``start_delay``."""
    return stamp > 0.0 and abs(start - stamp) < abs(start - now) + CLOCK_JUMP


def set_point(point: Point, space: JointSpace, near: Floats) -> MotionState:
    """Return a streamed set-point, checked as far as it does not depend on the arm's state."""
    state = Trajectory(space.names, [replace(point, time=0.0)], space, True).state(0)
    state = state._replace(position=state.position - space.turns(state.position - near))
    check_speed(state.velocity, space.velocity, "velocity", space)
    check_speed(state.acceleration, SPEED_UP * space.velocity, "acceleration", space)
    return state


def check_speed(values: Floats, limit: Floats, field: str, space: JointSpace) -> None:
    """Check the velocity or acceleration (n,) of a set-point, which lasts until the next one."""
    excess = np.abs(values) - SET_POINT_SPEED * limit
    worst = int(np.argmax(excess))
    if excess[worst] > 0.0:
        raise TrajectoryError(
            f"set-point: {field} of joint {space.names[worst]!r} is {values[worst]:.4g}, "
            f"expected at most {limit[worst]:.4g}"
        )


def acceleration_at(pieces: Floats, t: Floats | float) -> Floats:
    """Return the acceleration of polynomials (..., 6, n) at a time since they begin [s]."""
    _, _, a, b, c, d = np.moveaxis(pieces, -2, 0)
    return np.asarray(2.0 * a + t * (6.0 * b + t * (12.0 * c + t * 20.0 * d)))


def joint_order(names: Sequence[str], joints: tuple[str, ...]) -> NDArray[np.intp]:
    """Return each joint's index among a trajectory's names."""
    at: dict[str, int] = {}
    for i, name in enumerate(names):
        if name not in joints:
            raise JointsError(f"unknown joint {name!r:.200}; the joints are {', '.join(joints)}")
        if name in at:
            raise JointsError(f"joint {name!r:.200} is named more than once")
        at[name] = i
    missing = [joint for joint in joints if joint not in at]
    if missing:
        raise JointsError(
            f"no values for joint {', '.join(missing)}; every joint is required, unless "
            "allow_partial_joints_goal is true"
        )
    return np.array([at[joint] for joint in joints], dtype=np.intp)


def timed(points: Sequence[Point], frequency: float) -> Sequence[Point]:
    """Return points without times in steps of a frequency [Hz], from 0 on; others as given."""
    if not frequency or len(points) < 2 or any(point.time for point in points):
        return points
    return [replace(point, time=k / frequency) for k, point in enumerate(points)]


def check_times(times: list[float]) -> list[float]:
    """Return the times if they begin at 0 or later, increase strictly and are finite."""
    if times[-1] == np.inf:
        raise TrajectoryError(f"point {len(times) - 1}: time_from_start is inf s, expected a time")
    if not times[0] >= 0.0:
        raise TrajectoryError(f"point 0: time_from_start is {times[0]:g} s, expected >= 0")
    for i in range(1, len(times)):
        if not times[i] > times[i - 1]:
            raise TrajectoryError(
                f"times do not increase: point {i - 1} at {times[i - 1]:g} s, "
                f"point {i} at {times[i]:g} s"
            )
    return times


def check_fields(index: int, point: Point) -> None:
    """Check which fields a point has."""
    if not len(point.positions):
        raise TrajectoryError(f"point {index}: no positions; they are required")
    if len(point.accelerations) and not len(point.velocities):
        raise TrajectoryError(f"point {index}: accelerations without velocities")


def gather(
    points: Sequence[Point], field: str, order: NDArray[np.intp], space: JointSpace
) -> tuple[Floats, NDArray[np.bool_]]:
    """Collect a field of all points (K, n), 0 where one does not have it, and (K,) who has it."""
    values = np.zeros((len(points), len(order)))
    present = np.zeros(len(points), dtype=bool)
    for i, point in enumerate(points):
        given = getattr(point, field)
        if not len(given):
            continue
        if len(given) != len(order):
            raise TrajectoryError(f"point {i}: {len(given)} {field}, expected {len(order)}")
        values[i] = given
        present[i] = True
    values = values[:, order]
    if at := first(~np.isfinite(values)):
        joint = space.names[at[1]]
        raise TrajectoryError(f"point {at[0]}: {field} of joint {joint!r} is {values[at]}")
    return values, present


def check_pieces(position: Floats, effort: Floats, times: list[float]) -> None:
    """Check that the interpolation between all points can be computed."""
    good = np.isfinite(position).all(axis=(1, 2)) & np.isfinite(effort).all(axis=(1, 2))
    if not good.all():
        i = int(np.argmin(good))
        raise TrajectoryError(
            f"no finite interpolation from point {i} at {times[i]:g} s to the next: "
            "its values are too large, or the time is too short"
        )


def check_limits(states: MotionState, space: JointSpace, may_end_moving: bool) -> None:
    """Check K points against the joints' limits, and that the last one stands still."""
    q, effort, last = states.position, states.effort, states.velocity[-1:]
    if at := first((q < space.lower - LIMIT_SLACK) | (q > space.upper + LIMIT_SLACK)):
        raise TrajectoryError(
            f"point {at[0]}: joint {space.names[at[1]]!r} at {q[at]:.6g} is outside its limits "
            f"[{space.lower[at[1]]:g}, {space.upper[at[1]]:g}]{space.if_degrees(q)}"
        )
    if at := first(np.abs(effort) > space.effort):
        raise TrajectoryError(
            f"point {at[0]}: effort of joint {space.names[at[1]]!r} is {effort[at]:.6g}, expected "
            f"at most {space.effort[at[1]]:g}, its effort limit"
        )
    if not may_end_moving and (at := first(np.abs(last) > REST_SPEED)):
        raise TrajectoryError(
            f"last point: velocity of joint {space.names[at[1]]!r} is {last[at]:g}, expected 0 "
            "(or set allow_nonzero_velocity_at_trajectory_end)"
        )


def first(beyond: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Return point and joint of the first of (K, n) values that is beyond its bound."""
    if not beyond.any():
        return None
    i, j = np.argwhere(beyond)[0].tolist()
    return i, j


def spline_velocities(
    times: Sequence[float], positions: Floats, ends_at_rest: bool = True
) -> Floats:
    """Return the velocities (K, n) of the cubic spline through points.

    Its acceleration is zero at the first point: what comes before is a line, or the way that the
    arm is led in; and at the last point, unless it ends at rest.

    Source: de Boor, A Practical Guide to Splines, 2001, chapter IV: continuity of the second
    derivative gives a tridiagonal system, here solved from the first point to the last and back.
    """
    velocities = np.zeros_like(positions)
    if len(times) == 1:
        return velocities
    inverse = 1.0 / np.diff(times)
    mean = 3.0 * inverse[:, None] ** 2 * np.diff(positions, axis=0)
    # Row k: inverse[k-1] v[k-1] + diagonal[k] v[k] + inverse[k] v[k+1] = right[k], for all but the
    # last, whose velocity is zero, or 1.5 times the mean one minus half of the last but one.
    diagonal = 2.0 * np.append(inverse[0], inverse[:-1] + inverse[1:])
    right = mean.copy()
    right[1:] += mean[:-1]
    if not ends_at_rest:
        diagonal[-1] -= 0.5 * inverse[-1]
        right[-1] -= 0.5 * mean[-1]
    for k in range(1, len(diagonal)):
        share = inverse[k - 1] / diagonal[k - 1]
        diagonal[k] -= share * inverse[k - 1]
        right[k] -= share * right[k - 1]
    for k in range(len(diagonal) - 1, -1, -1):
        coupled = inverse[k] * velocities[k + 1]  # 0 at the end: it is in the diagonal already
        velocities[k] = (right[k] - coupled) / diagonal[k]
    if not ends_at_rest:
        velocities[-1] = (mean[-1] / inverse[-1] - velocities[-2]) / 2.0
    return velocities


def spline_accelerations(times: Sequence[float], positions: Floats, velocities: Floats) -> Floats:
    """Return the accelerations (K, n) of the spline at its points; zero at the last one.

    Quintics between points with these are the spline's cubics, but for the last piece: that one
    comes to rest without a step of the acceleration.
    """
    accelerations = np.zeros_like(positions)
    duration = np.diff(times)[:, None]
    mean = np.diff(positions, axis=0) / duration
    accelerations[:-1] = (6.0 * mean - 4.0 * velocities[:-1] - 2.0 * velocities[1:]) / duration
    return accelerations
