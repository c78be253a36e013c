"""Makes trajectories of what was led by hand, and fits them to the limits of an arm.

Marks divide what was taught: each part between two of them is a trajectory from rest to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from featherstone_ros.arrays import Floats, ends_of_motion
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.feasibility import round_up
from featherstone_ros.control.goal_tolerances import with_others
from featherstone_ros.control.trajectory import Point, Trajectory, TrajectoryError, joint_order
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.identification.filtering import ZeroPhase
from featherstone_ros.identification.recording import pause
from featherstone_ros.tools.trajectory_check import (
    check_file,
    started,
    trajectory_of,
    without_limits,
)
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

STILL = 2e-3  # [rad or m] from rest: less is no motion
TOLERANCE = 1e-3  # [rad or m] from the smoothed motion
CUT_OFF = 5.0  # [Hz] of the filter; a hand that leads an arm is slower
REST = 0.5  # [s] before and after a part, in which the filter settles
SPACING = 0.005  # [s] between two samples, at most
SHARE, FASTEST = 0.25, 0.5  # of the velocity limits, [rad/s or m/s]: on the way to a start
PEAK = 15.0 / 8.0  # largest speed of a quintic from rest to rest, relative to its mean
MIN_DURATION = 1.0  # [s] for the way to a start
CLOSE = 1e-3  # [s] between two samples of a curve that is to stay within limits
TRIES = 8  # of how much earlier an arm is to stop


def taught(
    arm: ControlledArm,
    time: Sequence[float],
    position: Sequence[Floats] | Floats,
    marks: Sequence[float] = (),
) -> list[UncheckedTrajectory]:
    """Return the trajectories of what was recorded, one for each part in which the arm moved.

    Rest at both ends of a part is left out. The points have velocities and accelerations, so the
    controller joins them by quintics: no step of the torque.

    ``arm``: its joints are those of the positions, in that order. ``time`` (N,) stamps of the joint
    states [s]. ``position``: N times (n,) [rad or m]. ``marks``: when a part ended and the next one
    began [s].
    """
    stamps, first = np.unique(time, return_index=True)
    positions = np.reshape(position, (len(time), arm.model.n))[first]
    positions = np.clip(positions, arm.limits.lower, arm.limits.upper)  # a stop may give way
    borders = np.searchsorted(stamps, marks)
    parts = zip(np.split(stamps, borders), np.split(positions, borders), strict=True)
    moves = [moving for part in parts if (moving := in_motion(*part)) is not None]
    if not moves:
        duration = stamps[-1] - stamps[0] if len(stamps) else 0.0
        raise FeatherstoneError(
            f"nothing was taught: no joint moved by more than {STILL:g} rad or m in "
            f"{len(stamps)} joint states, {duration:.3g} s"
        )
    return [within_limits(arm, *moving) for moving in moves]


def smoothed(
    trajectory: UncheckedTrajectory, arm: ControlledArm, notify: Callable[[str], None]
) -> UncheckedTrajectory:
    """Return the motion of joint states that were recorded; any other trajectory as it is.

    ``arm``: whose motion it is; other joints are left out.
    """
    if not trajectory.is_measured:
        return trajectory
    names, joints = trajectory.names, arm.model.joint_names
    joint_order([name for name in names if name in joints], joints)
    position = np.reshape([point.positions for point in trajectory.points], (-1, len(names)))
    time = [point.time for point in trajectory.points]
    (motion,) = taught(arm, time, position[:, [names.index(joint) for joint in joints]])
    notify(f"The motion as joint states tell it, smoothed at {CUT_OFF:g} Hz, without rests")
    for gap in gaps(time):
        notify(gap)
    return motion


def gaps(time: Sequence[float]) -> list[str]:
    """Say when no joint states have come, by the stamps (N,) of those that have [s]."""
    stamps = np.unique(time)
    steps = np.diff(stamps)
    longest = pause(steps) if len(steps) else 0.0
    return [
        f"[bold yellow]No joint states for {step:.3g} s, from {at - stamps[0]:.3f} s on: there the "
        "motion is a guess[/]"
        for at, step in zip(stamps[:-1], steps, strict=True)
        if step > longest
    ]


def of_arm(found: list[UncheckedTrajectory], arm: ControlledArm) -> list[UncheckedTrajectory]:
    """Return what an arm is to follow: of joint states, a gripper's on their own, say, one motion.

    ``found``: all of a file or recording, at least one; of joint states those with most first.
    """
    if not found[0].is_measured:
        return found
    joints = set(arm.model.joint_names)
    return [next((one for one in found if joints <= {*one.names}), found[0])]


def of_all_joints(
    trajectory: UncheckedTrajectory, arm: ControlledArm, position: Floats
) -> UncheckedTrajectory:
    """Return a trajectory with all joints, if its arm's controller takes one of some.

    ``position``: (n,) where the others stay; a stop may have given way.
    """
    if not arm.values["allow_partial_joints_goal"]:
        return trajectory
    space = arm.limits
    stay = np.clip(position, space.lower, space.upper)
    names, points = with_others(trajectory.names, trajectory.points, space.names, stay)
    return replace(trajectory, names=tuple(names), points=tuple(points))


def within_limits(arm: ControlledArm, time: Floats, position: Floats) -> UncheckedTrajectory:
    """Return a smooth trajectory whose whole curve is within the position limits.

    Before a stop at which the arm comes to rest suddenly, a smooth motion overshoots: then it ends
    as much earlier. The arguments are those of ``smooth``.
    """
    lower, upper = arm.limits.lower, arm.limits.upper
    first, last = lower.copy(), upper.copy()
    for _ in range(TRIES):
        part = few_points(arm, *smooth(time, np.clip(position, first, last)))
        motion = started(trajectory_of(part, arm))
        curve = motion.sample(np.arange(0.0, motion.end, CLOSE))[0]
        below, above = lower - curve.min(axis=0), curve.max(axis=0) - upper
        if max(below.max(), above.max()) <= 0.0:
            break
        first, last = first + np.maximum(below, 0.0), last - np.maximum(above, 0.0)
    return part


def in_motion(time: Floats, position: Floats) -> tuple[Floats, Floats] | None:
    """Return the samples from the last one at rest before the motion to the first one after it."""
    ends = ends_of_motion(position, STILL) if len(time) else None
    if ends is None:
        return None
    moves = slice(ends[0] - 1, ends[1] + 2)
    return time[moves], position[moves]


def smooth(time: Floats, position: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Filter a motion forward and backward, so that it is not delayed; both ends are at rest.

    ``time`` (N,) strictly increasing [s]. ``position`` (N, n) [rad or m]; before and after, the arm
    stands. Returns time from the start (M,), position, velocity and acceleration (M, n).
    """
    period = min(float(np.median(np.diff(time))), SPACING)
    even = np.arange(time[0] - REST, time[-1] + REST + period, period)
    held = np.stack([np.interp(even, time, joint) for joint in position.T], axis=1)
    q = ZeroPhase(CUT_OFF, period)(held)
    qd = np.gradient(q, period, axis=0)
    qdd = np.gradient(qd, period, axis=0)
    for rates in (qd, qdd):
        rates[[0, -1]] = 0.0
    some = np.unique([*range(0, len(even), round(SPACING / period)), len(even) - 1])
    return even[some] - even[0], q[some], qd[some], qdd[some]


def few_points(
    arm: ControlledArm, time: Floats, q: Floats, qd: Floats, qdd: Floats
) -> UncheckedTrajectory:
    """Return a trajectory through some of the samples, as few as keep it within ``TOLERANCE``.

    From each point the next one is as far away as the controller's interpolation between the two
    allows.

    ``time`` (N,) [s], from 0. ``q`` (N, n) [rad or m]. ``qd`` (N, n) [rad/s or m/s]. ``qdd`` (N, n)
    [rad/s^2 or m/s^2].
    """
    rows = [tuple(map(tuple, (q[i], qd[i], qdd[i]))) for i in range(len(time))]
    space = without_limits(arm.limits)

    def keeps(i: int, k: int) -> bool:
        between = time[i : k + 1] - time[i]
        pair = [Point(0.0, *rows[i]), Point(float(between[-1]), *rows[k])]
        path = started(Trajectory(space.names, pair, space, allow_moving_end=True))
        off = path.sample(between, np.full(len(between), between[-1] / 2.0))[0] - q[i : k + 1]
        return bool(np.abs(off).max() <= TOLERANCE)

    chosen, last = [0], len(time) - 1
    while (i := chosen[-1]) < last:
        good = 1  # the next sample always will do
        while i + 2 * good <= last and keeps(i, i + 2 * good):
            good *= 2
        bad = min(2 * good, last - i + 1)
        while bad - good > 1:
            half = (good + bad) // 2
            good, bad = (half, bad) if keeps(i, i + half) else (good, half)
        chosen.append(i + good)
    points = tuple(Point(float(time[i]), *rows[i]) for i in chosen)
    return UncheckedTrajectory(arm.model.joint_names, points)


def slowed(trajectory: UncheckedTrajectory, factor: float) -> UncheckedTrajectory:
    """Return the same path in ``factor`` times the time, without extra effort.

    It begins at time 0; a single point keeps the time for the way to it.
    """
    begin = trajectory.points[0].time if len(trajectory.points) > 1 else 0.0

    def at(point: Point) -> Point:
        velocities = tuple(v / factor for v in point.velocities)
        accelerations = tuple(a / factor**2 for a in point.accelerations)
        return Point((point.time - begin) * factor, point.positions, velocities, accelerations)

    return replace(trajectory, points=tuple(map(at, trajectory.points)))


def fitted(
    trajectory: UncheckedTrajectory, arm: ControlledArm
) -> tuple[UncheckedTrajectory, float]:
    """Return a trajectory slowed down as far as the arm's limits ask, and by which factor."""
    verdict = check_file(trajectory, arm).verdict
    if verdict.fits:
        return trajectory, 1.0
    if verdict.slow_down == inf:
        raise TrajectoryError(f"the arm cannot follow: {verdict}")
    factor = round_up(verdict.slow_down)
    return slowed(trajectory, factor), factor


def slower(trajectory: UncheckedTrajectory, factor: float) -> str:
    """Return in words that a trajectory was slowed down, and what would be faster, if anything."""
    faster = ""
    if not any(len(point.velocities) for point in trajectory.points):
        faster = ": its points have positions alone; featherstone-ros retime would be faster"
    return f"{factor:.4g} times slower, to fit{faster}"


def way_to(
    goal: Floats, position: Floats, arm: ControlledArm, duration: float | None = None
) -> UncheckedTrajectory:
    """Return a trajectory from rest to rest within the arm's limits.

    ``goal`` (n,) [rad or m]; joints that turn without end go the shortest way. ``position`` (n,)
    where the arm is; a stop may have given way. ``duration``: at least [s]; None: at bounded speed.
    """
    position = np.clip(position, arm.limits.lower, arm.limits.upper)
    displacement = arm.limits.shortest(goal - position)
    if duration is None:
        speed = np.minimum(SHARE * arm.limits.velocity, FASTEST)
        duration = max(MIN_DURATION, PEAK * float((np.abs(displacement) / speed).max()))
    rest = (0.0,) * len(displacement)
    points = tuple(
        Point(time, tuple(q.tolist()), rest, rest)
        for time, q in ((0.0, position), (duration, position + displacement))
    )
    return fitted(UncheckedTrajectory(arm.model.joint_names, points), arm)[0]
