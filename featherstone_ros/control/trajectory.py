"""Joint trajectories: checked like joint_trajectory_controller does, then turned into motions.

As in joint_trajectory_controller (ros2_controllers) with its default parameters:
names in any order, every joint of the controller exactly once (no partial goals); interpolation
between two points by the fields both of them have: positions give a line, with velocities a cubic,
with accelerations too a quintic; the same rule leads from the present desired state to a first
point in the future; the last point is held; it must have zero velocity; a trajectory that ends in
the past is refused, one that only begins there is entered at its present point; efforts are
feedforward in addition to the model's, interpolated linearly between points that both have them,
and the last point's stay.

The differences, because the commands are torques: where joint_trajectory_controller's desired state
would jump (a first point at time zero that is not the present desired state, or a moving arm given
points without velocities), a quintic removes the difference smoothly; points need positions, and
accelerations need velocities; numbers must be finite, positions within the joint limits, and the
start within reach of the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from featherstone_ros._control import CompiledPath
from featherstone_ros.arrays import Floats
from featherstone_ros.control.motion import (
    Motion,
    MotionState,
    cubic,
    lead_in_duration,
    linear,
    quintic,
    stopping_position,
    straight,
)
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model

LIMIT_SLACK = 1e-3  # [rad] or [m] a point may stand beyond a limit: encoders are no better
LONG_LEAD = 10.0  # stop times; first points further ahead are approached from rest, see motion.pxd
SPEED_SLACK = 0.05  # share by which a set-point may exceed the velocity limit
SPEED_UP = 100.0  # [1/s] largest acceleration of a set-point, in velocity limits per second
TURN = 2.0 * np.pi  # [rad]
HALF_TURN_SLACK = 1e-9  # turns: this close to half a turn, a position is taken as given
REST_SPEED = float(np.finfo(np.float32).eps)  # as joint_trajectory_controller


class TrajectoryError(FeatherstoneError, ValueError):
    """A trajectory or set-point that is refused; the message says why."""


class JointsError(TrajectoryError):
    """It does not name the joints."""


class TrajectoryOverError(TrajectoryError):
    """It ends in the past."""


@dataclass(frozen=True)
class JointSpace:
    """Joints and limits for the checks of a trajectory; arrays are (n,) in joint order.

    Attributes:
        names: Joint names.
        lower: Lower position limits, -inf where there is none.
        upper: Upper position limits, inf where there is none.
        velocity_limit: Velocity limits, inf where there is none.
        continuous: Which joints turn without end; None: none.
        effort_limit: Effort limits, inf where there is none; None: nowhere.
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    velocity_limit: Floats
    continuous: NDArray[np.bool_] | None = None
    effort_limit: Floats | None = None

    @classmethod
    def of(cls, model: Model) -> JointSpace:
        """Return a model's; a velocity or effort limit of 0 means none."""
        speed, effort = (
            np.where(limit > 0.0, limit, np.inf)
            for limit in (model.velocity_limit, model.effort_limit)
        )
        continuous = np.array([kind == "continuous" for kind in model.joint_types])
        return cls(model.joint_names, model.lower, model.upper, speed, continuous, effort)

    def turns(self, distance: Floats) -> Floats:
        """Return the whole turns (n,) [rad] in a distance (n,): half a turn at most is left.

        Only of joints that turn without end.
        """
        if self.continuous is None:
            return np.zeros_like(distance)
        count = np.ceil(np.abs(distance) / TURN - 0.5 - HALF_TURN_SLACK)
        return np.where(self.continuous, TURN * np.sign(distance) * np.maximum(count, 0.0), 0.0)


@dataclass(frozen=True)
class Point:
    """One point as received, fields in the order of the trajectory's own names.

    Attributes:
        time: Time from the trajectory's start [s].
        positions: One value per joint.
        velocities: One value per joint, or empty.
        accelerations: One value per joint, or empty.
        effort: One value per joint, or empty.
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


class Trajectory:
    """A checked joint trajectory of K points."""

    def __init__(
        self,
        names: Sequence[str],
        points: Sequence[Point],
        space: JointSpace,
        allow_moving_end: bool = False,
    ) -> None:
        """Check everything that does not depend on the arm's state.

        Args:
            names: Joint names of the points' fields, in any order.
            points: At least one, times strictly increasing.
            space: Joints and limits.
            allow_moving_end: Accept a last point with velocity; the arm is stopped after it.

        Raises:
            TrajectoryError: With the joint or point and the value at fault.
        """
        order = joint_order(names, space.names)
        if not points:
            raise TrajectoryError("no points")
        self._space = space
        self.times = check_times([point.time for point in points])
        for i, point in enumerate(points):
            check_fields(i, point)
        position, _ = gather(points, "positions", order, space)
        velocity, self._has_velocity = gather(points, "velocities", order, space)
        acceleration, self._has_acceleration = gather(points, "accelerations", order, space)
        effort, self._has_effort = gather(points, "effort", order, space)
        check_limits(position, space)
        check_effort(effort, space)
        if not allow_moving_end:
            check_rest(velocity[-1], space.names)
        self._states = MotionState(position, velocity, acceleration, effort)
        with np.errstate(over="ignore", invalid="ignore"):
            self._position_pieces, self._effort_pieces = self._pieces()
        check_pieces(self._position_pieces, self._effort_pieces, self.times)

    @property
    def duration(self) -> float:
        """Time from the start to the last point [s]."""
        return self.times[-1]

    def state(self, index: int) -> MotionState:
        """Return a point, zeros for what it does not have."""
        return self._states.at(index)

    def turn_towards(self, elapsed: float, q: Floats) -> None:
        """Move joints that turn without end by whole turns: the way to the start is the shortest.

        As joint_trajectory_controller does; from point to point the way is as given.

        Args:
            elapsed: Time since the trajectory's start [s], negative if it lies ahead.
            q: Position it will begin from (n,) [rad] or [m].
        """
        turns = self._space.turns(self._pass_through(0.0).state(elapsed).position - q)
        self._states = replace(self._states, position=self._states.position - turns)
        self._position_pieces[:, 0] -= turns

    def check_start(self, elapsed: float, arm: Floats, tolerance: float) -> None:
        """Check that the trajectory begins within reach.

        A point still to come may be as far away as the velocity limits allow until then, plus the
        tolerance; where the trajectory is already under way, the tolerance alone counts.

        Args:
            elapsed: Time since the trajectory's start [s], negative if it lies ahead.
            arm: Position it will begin from (n,) [rad] or [m].
            tolerance: [rad] or [m].

        Raises:
            TrajectoryError: It ends in the past, or begins too far away.
        """
        if elapsed > self.duration:
            raise TrajectoryOverError(f"ends {elapsed - self.duration:.3f} s in the past")
        wait = max(self.times[0] - elapsed, 0.0)
        begin = self._pass_through(0.0).state(elapsed).position
        reach = self._space.velocity_limit * wait if wait else np.zeros_like(arm)
        allowed = tolerance + reach
        distance = np.abs(begin - arm)
        worst = int(np.argmax(distance - allowed))
        if distance[worst] > allowed[worst]:
            raise TrajectoryError(
                f"starts too far from the arm: joint {self._space.names[worst]!r} at "
                f"{begin[worst]:.4g} while the arm is at {arm[worst]:.4g}; at most "
                f"{allowed[worst]:.4g} away can be reached in time (start_tolerance {tolerance:g})"
            )

    def compiled(self, transition: float, tolerance: Floats | None = None) -> CompiledPath:
        """Return the trajectory as the compiled controller follows it.

        Args:
            transition: Time in which one that ends with velocity is stopped [s].
            tolerance: (2, n) how far position and velocity may be off on the way, 0 for no bound.
        """
        path = self._pass_through(0.0, transition)
        lead = int(self._has_velocity[0]) + int(self._has_velocity[0] and self._has_acceleration[0])
        return CompiledPath(
            path.times,
            path.coefficients,
            path.extra_effort,
            self._states.at(0).rows(),
            lead,
            bool(self._has_effort[0]),
            self.duration,
            tolerance,
        )

    def motion(self, start: float, now: float, desired: MotionState, transition: float) -> Motion:
        """Return the motion that follows this trajectory from the present desired state on.

        Args:
            start: Time at which the trajectory starts [s], may lie in the past.
            now: Time at which the motion takes over [s].
            desired: The desired state at ``now`` before the takeover.
            transition: Shortest time in which a difference at ``now`` is removed, and in which a
                trajectory that ends with velocity is stopped [s].
        """
        lead = desired
        if start + self.times[0] - now > LONG_LEAD * transition:
            lower, upper = self._space.lower, self._space.upper
            lead = MotionState.rest(stopping_position(desired, transition, lower, upper))
            lead = replace(lead, effort=desired.effort)
        path = self._pass_through(start, transition, (now, lead))
        offset = desired.minus(path.state(now))
        if desired.is_rest() and not offset.position.any():
            # From rest, the fields alone decide how the path is reached, as in
            # joint_trajectory_controller.
            zero = np.zeros_like(offset.effort)
            offset = MotionState(zero, zero, zero, offset.effort)
        if any(field.any() for field in vars(offset).values()):
            duration = lead_in_duration(offset, self._space.velocity_limit, transition)
            path.lead_in(now, offset, duration)
        return path

    def _pieces(self) -> tuple[Floats, Floats]:
        """Return (K, 6, n) position and (K, 2, n) effort coefficients, the last piece a rest."""
        states, rest = self._states, self._rest()
        before, after = states.at(slice(None, -1)), states.at(slice(1, None))
        duration = np.diff(self.times)[:, None]
        position = straight(before, after, duration)
        both = self._has_velocity[:-1] & self._has_velocity[1:]
        position[both] = cubic(before.at(both), after.at(both), duration[both])
        both &= self._has_acceleration[:-1] & self._has_acceleration[1:]
        position[both] = quintic(before.at(both), after.at(both), duration[both])
        effort = linear(before.effort, after.effort, duration)
        effort[~(self._has_effort[:-1] & self._has_effort[1:])] = 0.0
        return np.concatenate([position, rest[0]]), np.concatenate([effort, rest[1]])

    def _rest(self) -> tuple[Floats, Floats]:
        """Return the coefficients, (1, 6, n) and (1, 2, n), of the last point held for ever."""
        position = np.zeros((1, 6, len(self._space.names)))
        position[0, 0] = self._states.position[-1]
        effort = np.zeros((1, 2, len(self._space.names)))
        effort[0, 0] = self._states.effort[-1]
        return position, effort

    def _pass_through(
        self, start: float, transition: float = 0.0, lead: tuple[float, MotionState] | None = None
    ) -> Motion:
        """Return the motion through all points, beginning at a state before the first one."""
        times = [start + time for time in self.times]
        position, effort = [self._position_pieces], [self._effort_pieces]
        if lead is not None and lead[0] < times[0]:
            first = self._lead(lead[1], times[0] - lead[0])
            times.insert(0, lead[0])
            position.insert(0, first[0])
            effort.insert(0, first[1])
        if transition and self._states.velocity[-1].any():
            position[-1] = position[-1].copy()
            last, space = self._states.at(-1), self._space
            target = stopping_position(last, transition, space.lower, space.upper)
            rest = MotionState.rest(target)
            position[-1][-1] = quintic(last, rest, transition)
            position.append(Motion.hold(target).coefficients)
            effort.append(self._effort_pieces[-1:])
            times.append(times[-1] + transition)
        efforts = np.concatenate(effort)
        return Motion(times, np.concatenate(position), efforts if efforts.any() else None)

    def _lead(self, desired: MotionState, duration: float) -> tuple[Floats, Floats]:
        """Return the coefficients, (1, 6, n) and (1, 2, n), from a state to the first point."""
        first = self._states.at(0)
        if not self._has_velocity[0]:
            position = straight(desired, first, duration)
        elif not self._has_acceleration[0]:
            position = cubic(desired, first, duration)
        else:
            position = quintic(desired, first, duration)
        effort = linear(desired.effort, first.effort, duration)
        return position[None], effort[None] if self._has_effort[0] else np.zeros_like(effort)[None]


def set_point(point: Point, space: JointSpace, near: Floats) -> MotionState:
    """Return a streamed set-point, checked as far as it does not depend on the arm's state.

    Args:
        point: Set-point in joint order; its time is not used.
        space: Joints and limits.
        near: Position (n,) from which joints that turn without end go the shortest way.

    Raises:
        TrajectoryError: It is refused.
    """
    state = Trajectory(space.names, [replace(point, time=0.0)], space, True).state(0)
    state = replace(state, position=state.position - space.turns(state.position - near))
    check_speed(state.velocity, space.velocity_limit, "velocity", space)
    check_speed(state.acceleration, SPEED_UP * space.velocity_limit, "acceleration", space)
    return state


def check_speed(values: Floats, limit: Floats, field: str, space: JointSpace) -> None:
    """Check the velocity or acceleration (n,) of a set-point, which lasts until the next one.

    Raises:
        TrajectoryError: One is beyond its limit.
    """
    excess = np.abs(values) - (1.0 + SPEED_SLACK) * limit
    worst = int(np.argmax(excess))
    if excess[worst] > 0.0:
        raise TrajectoryError(
            f"set-point: {field} of joint {space.names[worst]!r} is {values[worst]:.4g}, "
            f"expected at most {limit[worst]:.4g}"
        )


def joint_order(names: Sequence[str], joints: tuple[str, ...]) -> NDArray[np.intp]:
    """Return each joint's index among a trajectory's names.

    Raises:
        JointsError: Unless the names are the joints, each once.
    """
    place: dict[str, int] = {}
    for i, name in enumerate(names):
        if name not in joints:
            raise JointsError(f"unknown joint {name!r}; the joints are {', '.join(joints)}")
        if name in place:
            raise JointsError(f"joint {name!r} is named more than once")
        place[name] = i
    missing = [joint for joint in joints if joint not in place]
    if missing:
        raise JointsError(f"no values for joint {', '.join(missing)}; every joint is required")
    return np.array([place[joint] for joint in joints], dtype=np.intp)


def check_times(times: list[float]) -> list[float]:
    """Return the times if they begin at 0 or later and increase strictly.

    Raises:
        TrajectoryError: They do not.
    """
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
    """Check which fields a point has.

    Raises:
        TrajectoryError: One is missing.
    """
    if not len(point.positions):
        raise TrajectoryError(f"point {index}: no positions; they are required")
    if len(point.accelerations) and not len(point.velocities):
        raise TrajectoryError(f"point {index}: accelerations without velocities")


def gather(
    points: Sequence[Point], field: str, order: NDArray[np.intp], space: JointSpace
) -> tuple[Floats, NDArray[np.bool_]]:
    """Collect one field of all points.

    Returns:
        (K, n) values in joint order, 0 where a point does not have the field; (K,) who has it.

    Raises:
        TrajectoryError: Wrong length, or a number is not finite.
    """
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
    finite = np.isfinite(values)
    if not finite.all():
        i, j = np.argwhere(~finite)[0]
        raise TrajectoryError(f"point {i}: {field} of joint {space.names[j]!r} is {values[i, j]}")
    return values, present


def check_pieces(position: Floats, effort: Floats, times: list[float]) -> None:
    """Check that the interpolation between all points can be computed.

    Raises:
        TrajectoryError: It overflows.
    """
    good = np.isfinite(position).all(axis=(1, 2)) & np.isfinite(effort).all(axis=(1, 2))
    if not good.all():
        i = int(np.argmin(good))
        raise TrajectoryError(
            f"no finite interpolation from point {i} at {times[i]:g} s to the next: "
            "its values are too large, or the time is too short"
        )


def check_limits(position: Floats, space: JointSpace) -> None:
    """Check (K, n) positions against the joint limits.

    Raises:
        TrajectoryError: One is outside.
    """
    outside = (position < space.lower - LIMIT_SLACK) | (position > space.upper + LIMIT_SLACK)
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise TrajectoryError(
            f"point {i}: joint {space.names[j]!r} at {position[i, j]:.6g} is outside its limits "
            f"[{space.lower[j]:g}, {space.upper[j]:g}]"
        )


def check_effort(effort: Floats, space: JointSpace) -> None:
    """Check (K, n) efforts: one that the drive does not have is in another unit.

    Raises:
        TrajectoryError: One is beyond its limit.
    """
    if space.effort_limit is None:
        return
    beyond = np.abs(effort) > space.effort_limit
    if beyond.any():
        i, j = np.argwhere(beyond)[0]
        raise TrajectoryError(
            f"point {i}: effort of joint {space.names[j]!r} is {effort[i, j]:.6g}, expected at "
            f"most {space.effort_limit[j]:g}, its effort limit"
        )


def check_rest(velocity: Floats, names: tuple[str, ...]) -> None:
    """Check that the last point stands still.

    Raises:
        TrajectoryError: It does not.
    """
    worst = int(np.argmax(np.abs(velocity)))
    if abs(velocity[worst]) > REST_SPEED:
        raise TrajectoryError(
            f"last point: velocity of joint {names[worst]!r} is {velocity[worst]:g}, expected 0 "
            "(or set allow_nonzero_velocity_at_trajectory_end)"
        )
