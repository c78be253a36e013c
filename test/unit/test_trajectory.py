"""Trajectories: what is accepted, what is refused and why, and the motion that comes of them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featherstone_ros import Model
from featherstone_ros.arrays import Floats
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import MotionState
from featherstone_ros.control.settings import Interpolation
from featherstone_ros.control.spline import spline_velocities
from featherstone_ros.control.trajectory import (
    Point,
    Trajectory,
    TrajectoryError,
    plan_start,
    set_point,
    start_delay,
    timed,
)
from featherstone_ros.model.robots import robot_names

NAMES = ("shoulder", "elbow", "wrist")
SPACE = JointSpace(
    NAMES,
    ("revolute",) * 3,
    np.full(3, -3.0),
    np.full(3, 3.0),
    np.array([2.0, 2.0, np.inf]),
    np.full(3, np.inf),
)
HOME = np.array([0.1, 0.2, 0.3])


def rest(position: np.ndarray = HOME) -> MotionState:
    return MotionState(np.asarray(position, dtype=float), *np.zeros((3, len(position))))


def jump(a: MotionState, b: MotionState) -> float:
    """Largest difference in position, velocity, acceleration and effort."""
    return np.abs(a.rows() - b.rows()).max()


# Accepted


def test_names_in_any_order():
    trajectory = Trajectory(("wrist", "shoulder", "elbow"), [Point(1.0, [3.0, 1.0, 2.0])], SPACE)
    assert_allclose(trajectory.state(0).position, [1.0, 2.0, 3.0])


def test_points_of_a_policy_without_times_come_at_its_frequency():
    points = [Point(0.0, HOME + 0.01 * k, (), (), ()) for k in range(4)]
    chunk = timed(points, 20.0)
    assert [point.time for point in chunk] == [0.0, 0.05, 0.1, 0.15]
    assert all(new.positions is old.positions for new, old in zip(chunk, points, strict=True))
    given = [replace(point, time=0.1 * k) for k, point in enumerate(points)]
    assert timed(given, 20.0) is given and timed(points, 0.0) is points
    assert timed(points[:1], 20.0)[0].time == 0.0 and not timed([], 20.0)


def test_degree_of_a_piece_is_what_both_its_points_have():
    points = [
        Point(1.0, [0.0] * 3),
        Point(2.0, [1.0] * 3, [0.5] * 3),
        Point(3.0, [0.0] * 3, [0.0] * 3, [0.0] * 3),
    ]
    motion = Trajectory(NAMES, points, SPACE).motion(0.0, rest(np.zeros(3)), 0.25)
    assert_allclose(motion.state(1.2).position, 0.2)  # line
    assert_allclose(motion.state(2.5).position, 0.5 + 0.5 / 8)  # cubic


def test_efforts_beyond_the_limits_are_refused_and_named():
    space = replace(SPACE, effort=np.array([np.inf, 12.0, 87.0]))
    within, beyond = [1e6, -12.0, 87.0], [0.0, -12.1, 0.0]
    points = [Point(0.0, [0.0] * 3, effort=within), Point(1.0, [0.0] * 3, effort=beyond)]
    with pytest.raises(
        TrajectoryError, match=r"point 1: effort of joint 'elbow' is -12.1.*most 12"
    ):
        Trajectory(NAMES, points, space)
    with pytest.raises(TrajectoryError, match="point 0: effort of joint 'elbow'"):
        set_point(points[1], space, np.zeros(3))
    Trajectory(NAMES, points[:1], space)


def test_efforts_are_interpolated_linearly_and_stay_at_the_end():
    points = [
        Point(1.0, [0.0] * 3, effort=[0.0, 0.0, 2.0]),
        Point(2.0, [0.0] * 3, effort=[0.0, 0.0, 4.0]),
    ]
    motion = Trajectory(NAMES, points, SPACE).motion(0.0, rest(), 0.25)
    assert_allclose(motion.state(0.5).effort, [0.0, 0.0, 1.0])
    assert_allclose(motion.state(1.5).effort, [0.0, 0.0, 3.0])
    assert_allclose(motion.state(9.0).effort, [0.0, 0.0, 4.0])


def test_start_in_the_past_enters_the_path_where_it_is_by_now():
    points = [Point(0.0, [0.0] * 3, [0.0] * 3), Point(2.0, [1.0] * 3, [0.0] * 3)]
    trajectory = Trajectory(NAMES, points, SPACE)
    untouched = trajectory.motion(0.0, rest(np.zeros(3)), 0.25)
    late = trajectory.motion(1.0, rest(np.full(3, 0.45)), 0.25)
    assert jump(late.state(1.0), rest(np.full(3, 0.45))) < 1e-12
    assert jump(late.state(1.9), untouched.state(1.9)) < 1e-12


# Replacement


@pytest.mark.parametrize(
    "points",
    [
        [Point(0.5, [0.0] * 3), Point(1.0, [0.3] * 3)],
        [Point(0.5, [0.0] * 3, [0.2] * 3), Point(1.0, [0.3] * 3, [0.0] * 3)],
        [Point(0.5, [0.0] * 3, [0.2] * 3, [0.1] * 3), Point(1.0, [0.3] * 3, [0.0] * 3, [0.0] * 3)],
        [Point(0.0, [0.5] * 3, [0.2] * 3), Point(1.0, [0.3] * 3, [0.0] * 3)],
        [Point(0.0, [0.5] * 3)],
    ],
    ids=["line", "cubic", "quintic", "begun", "single point"],
)
def test_running_motion_is_replaced_without_a_jump(points):
    moving = MotionState(HOME, np.array([0.5, -0.4, 0.3]), np.array([1.0, 2.0, -1.0]), np.ones(3))
    motion = Trajectory(NAMES, points, SPACE).motion(0.0, moving, 0.25)
    assert jump(motion.state(0.0), moving) < 1e-9
    assert jump(motion.state(13.0), rest(np.asarray(points[-1].positions))) < 1e-12


# Refused


def point(time: float = 1.0, **fields) -> Point:
    return Point(time, **{"positions": [0.0, 0.0, 0.0], **fields})


BAD_POINTS = {
    "no points": ([], "no points"),
    "no positions": ([point(positions=[], velocities=[0.0] * 3)], "point 0: no positions"),
    "accelerations alone": ([point(accelerations=[0.0] * 3)], "accelerations without velocities"),
    "short positions": ([point(positions=[0.0, 0.0])], "point 0: 2 positions, expected 3"),
    "long velocities": ([point(velocities=[0.0] * 4)], "point 0: 4 velocities, expected 3"),
    "short effort": ([point(effort=[0.0])], "point 0: 1 effort, expected 3"),
    "nan": ([point(positions=[0.0, np.nan, 0.0])], "positions of joint 'elbow' is nan"),
    "inf": ([point(), point(2.0, velocities=[np.inf, 0.0, 0.0])], "point 1: velocities of joint"),
    "decreasing times": ([point(2.0), point(1.0)], "point 0 at 2 s, point 1 at 1 s"),
    "equal times": ([point(1.0), point(1.0)], "times do not increase"),
    "negative time": ([point(-1.0)], "time_from_start is -1"),
    "time not a number": ([point(np.nan)], "time_from_start is nan"),
    "beyond limits": ([point(positions=[0.0, 0.0, 3.5])], r"joint 'wrist' at 3.5 .* \[-3, 3\]"),
    "moving end": ([point(velocities=[0.0, 0.1, 0.0])], "velocity of joint 'elbow' is 0.1"),
    "overflow": (
        [
            point(velocities=[0.0] * 3, accelerations=[1e300] * 3),
            point(1.0 + 1e-9, velocities=[0.0] * 3, accelerations=[0.0] * 3),
        ],
        "no finite interpolation from point 0 at 1 s",
    ),
}


@pytest.mark.parametrize("case", BAD_POINTS)
def test_trajectory_raises_if_points_are_bad(case):
    points, message = BAD_POINTS[case]
    with pytest.raises(TrajectoryError, match=message):
        Trajectory(NAMES, points, SPACE)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("shoulder", "elbow", "finger"), "unknown joint 'finger'; the joints are shoulder"),
        (("shoulder", "elbow"), "no values for joint wrist"),
        (("shoulder", "elbow", "elbow"), "joint 'elbow' is named more than once"),
        ((), "no values for joint shoulder, elbow, wrist"),
    ],
)
def test_trajectory_raises_if_names_are_not_the_joints(names, message):
    with pytest.raises(TrajectoryError, match=message):
        Trajectory(names, [Point(1.0, [0.0] * len(names))], SPACE)


FAR = [Point(0.0, [0.0, 0.0, 1.0]), Point(1.0, [0.0] * 3)]
SOON = [Point(0.5, [1.5, 0.2, 3.0])]  # 1.4 rad away, 1.0 rad + 0.2 rad allowed
LATE = [Point(0.0, [0.0] * 3), Point(1.0, [1.0] * 3)]


@pytest.mark.parametrize(
    ("points", "elapsed", "arm", "message"),
    [
        (FAR, 0.0, HOME, r"far from the arm: joint 'wrist' at 1 while .* 0.3"),
        (SOON, 0.0, HOME, r"joint .shoulder. at 1\.5"),
        (SOON, 0.0, [0.4, 0.2, 0.3], ""),
        ([Point(0.5, HOME)], 2.0, HOME, r"ends 1.500 s in the past"),
        (LATE, 0.5, np.zeros(3), "far from the arm"),
        (LATE, 0.5, np.full(3, 0.5), ""),  # where it is by now
    ],
)
def test_check_start_raises_unless_the_path_begins_where_the_arm_can_be(
    points, elapsed, arm, message
):
    trajectory = Trajectory(NAMES, points, SPACE)
    with pytest.raises(TrajectoryError, match=message) if message else nullcontext():
        trajectory.check_start(elapsed, np.array(arm), 0.2)


@pytest.mark.parametrize("lag", [-0.1, 0.1])
def test_a_trajectory_takes_the_short_way_from_what_is_asked_for_not_from_where_the_arm_lags(lag):
    unlimited = np.array([np.inf])
    space = JointSpace(("a",), ("continuous",), -unlimited, unlimited, unlimited, unlimited)
    trajectory = Trajectory(("a",), [Point(1.0, [3.1 * np.sign(-lag)])], space)
    desired = rest(np.zeros(1))
    moment = SimpleNamespace(time=0.0, q=np.array([lag]), desired=desired.rows())
    plan_start(trajectory, moment, SimpleNamespace(start_tolerance=10.0, stop_time=0.25))
    assert_allclose(trajectory.state(0).position, 3.1 * np.sign(-lag))


# Accelerations between points


def wiggling(gap: float, acceleration: float) -> list[Point]:
    """Points that stand still, with an acceleration of alternating sign."""
    count = 20
    zero = np.zeros(3)
    rows = [acceleration * (-1.0) ** k * np.array([1.0, 0.0, 0.0]) for k in range(count)]
    return [
        Point(gap * (k + 1), HOME, zero, row if k < count - 1 else zero)
        for k, row in enumerate(rows)
    ]


CUBIC = [Point(1.0, HOME, np.zeros(3)), Point(1.02, HOME + np.eye(3)[0] * 0.1, np.zeros(3))]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (
            wiggling(0.02, 1000.0),
            r"acceleration of joint 'shoulder' is 1000 between point 0 at 0\.02 s and the next at "
            r"0\.04 s, expected at most 200, 100 times",
        ),
        (CUBIC, "acceleration of joint 'shoulder' is 1500 between"),
        (wiggling(0.02, 199.0), ""),
    ],
)
def test_accelerations_that_no_arm_has_are_refused_with_joint_point_and_value(points, message):
    trajectory = Trajectory(NAMES, points, SPACE)
    with pytest.raises(TrajectoryError, match=message) if message else nullcontext():
        trajectory.check_accelerations()


def test_rounded_numbers_of_a_dense_plan_are_no_accelerations():
    """At 1 kHz with four decimals, as recorders write them; joints without limits have no bound."""
    t = np.arange(0.0, 2.0, 1e-3)
    path = np.round(np.outer(1.0 - np.cos(np.pi * t), [0.5, 0.5, 30.0]), 4)
    speed = np.round(np.outer(np.pi * np.sin(np.pi * t), [0.5, 0.5, 30.0]), 4)
    speed[-1] = 0.0
    wide = replace(SPACE, upper=np.full(3, 100.0))
    rows = zip(t, path, speed, strict=True)
    Trajectory(NAMES, [Point(*row) for row in rows], wide).check_accelerations()


@pytest.mark.parametrize("acceleration", [1.0, 40.0])
@pytest.mark.parametrize("robot", robot_names())
def test_the_quickest_plan_of_a_real_arm_passes(robot, acceleration):
    """Full speed by constant acceleration, a point every 20 ms: MoveIt's without limits has 1."""
    space = JointSpace.of(Model.from_robot(robot))
    up = np.minimum(space.velocity / acceleration, np.sqrt(0.4 / acceleration)).min()
    t = np.linspace(0.0, 2.0 * up, max(int(2.0 * up / 0.02), 2) // 2 * 2 + 1)
    left = np.minimum(t, 2.0 * up - t)
    middle, qd = np.clip(0.0, space.lower + 0.5, space.upper - 0.5), acceleration * left
    way = np.where(t < up, qd * left / 2.0, acceleration * up**2 - qd * left / 2.0)
    qdd = np.where(t < up, acceleration, -acceleration)
    rows = zip(t, *np.multiply.outer([way, qd, qdd], np.ones(len(middle))), strict=True)
    points = [Point(1.0 + at, middle + q, *rates) for at, q, *rates in rows]
    Trajectory(space.names, points, space).check_accelerations()


@pytest.mark.parametrize(
    ("start", "stamp", "now", "delay"),
    [
        (101.0, 99.998, 100.0, 1.002),  # one clock: by the state
        (101.0, 0.0, 100.0, 1.0),  # no stamp: by the clock
        (101.0, 7.0, 100.0, 1.0),  # the state's clock is another than the sender's
        (8.0, 7.0, 1.7e9, 1.0),  # both are a simulation's
        (99.0, 99.998, 100.0, -0.998),
        (100.0, 99.52, 100.0, 0.48),  # a state half a second old may be by another clock
        (100.0, 99.48, 100.0, 0.0),
    ],
)
def test_start_delay(start, stamp, now, delay):
    assert start_delay(start, stamp, now) == pytest.approx(delay)


def test_a_goal_that_is_moved_by_whole_turns_is_told():
    unlimited = np.full(2, np.inf)
    kinds = ("continuous", "revolute")
    space = JointSpace(("a", "b"), kinds, -unlimited, unlimited, unlimited, unlimited)
    trajectory = Trajectory(("a", "b"), [Point(5.0, (160.0, 160.0))], space)
    assert trajectory.shorter_ways() == ""
    trajectory.turn_towards(5.0, np.zeros(2))
    assert trajectory.shorter_ways() == "'a' goes to 2.92 instead of 160, 25 whole turns nearer"


# Splines through points that have positions alone.


FREE = np.full(2, np.inf)
FREE_SPACE = JointSpace(("a", "b"), ("revolute",) * 2, -FREE, FREE, FREE, FREE)


def random_points(count: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(count)
    return np.cumsum(rng.uniform(0.01, 0.3, count)), rng.normal(size=(count, 2))


@pytest.mark.parametrize("count", [2, 3, 17, 400])
def test_velocities_are_those_of_scipys_spline(count):
    interpolate = pytest.importorskip("scipy.interpolate")
    times, positions = random_points(count)
    spline = interpolate.CubicSpline(times, positions, bc_type=((2, [0.0, 0.0]), (1, [0.0, 0.0])))
    assert_allclose(spline_velocities(times, positions), spline(times, 1), rtol=1e-9, atol=1e-9)


def test_the_motion_has_no_step_of_velocity_or_acceleration_and_ends_at_rest():
    times, positions = random_points(12)
    positions *= 1e-4  # slow enough to stop where they end
    points = [Point(t, q) for t, q in zip(times, positions, strict=True)]
    path = Trajectory(
        FREE_SPACE.names, points, FREE_SPACE, interpolation=Interpolation.SPLINE
    ).compiled()
    for t, q in zip(times[:-1], positions[:-1], strict=True):
        before, after = path.sample(t - 1e-9), path.sample(t + 1e-9)
        assert_allclose(before[0], q, atol=1e-6)
        assert_allclose(before[:3], after[:3], rtol=1e-5, atol=1e-5)
    rest = np.zeros(2)
    assert_allclose(path.sample(times[-1] - 1e-9)[:3], [positions[-1], rest, rest], atol=1e-3)


@pytest.mark.parametrize("count", [1, 2, 12])
@pytest.mark.parametrize("first", [0.0, 0.04, 0.7])
def test_from_rest_the_acceleration_has_no_step(first, count):
    times, positions = random_points(12)
    times = times[:count] - times[0] + first
    points = [Point(t, q) for t, q in zip(times, positions[:count], strict=True)]
    trajectory = Trajectory(
        FREE_SPACE.names, points, FREE_SPACE, interpolation=Interpolation.SPLINE
    )
    rest = MotionState(positions[0], *np.zeros((3, 2)))
    motion = trajectory.motion(0.0, rest, 0.25)
    steps = []
    for period in (1e-3, 1e-4):
        acceleration = motion.sample(np.arange(-period, motion.end + period, period))[2]
        steps.append(np.abs(np.diff(acceleration, axis=0)).max())
    assert motion.sample(np.zeros(1))[2] == pytest.approx(0.0, abs=1e-9)
    assert steps[1] <= 0.2 * steps[0]
    assert_allclose(motion.state(motion.end).position, positions[count - 1])


@pytest.mark.parametrize(
    ("position", "velocity", "time"),
    [
        (0.0, 0.3, 0.05),  # 1.25 of the points' periods
        (0.005, 0.02, 0.25),  # noise, mostly
        (0.005, 0.3, 0.2 / 3),  # 4 x / v
        (0.005, 0.0, 0.25),
    ],
)
def test_a_chunk_takes_over_soon_if_it_asks_for_another_velocity(position, velocity, time):
    space = replace(FREE_SPACE, velocity=np.full(2, 4.0))
    points = [Point(0.04 * k, [0.0, 0.0]) for k in range(30)]
    chunk = Trajectory(space.names, points, space, interpolation=Interpolation.SPLINE)
    asked = MotionState(*np.array([[position, 0.0], [velocity, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    position, *rates, _ = chunk.motion(0.0, asked, 0.25).sample(np.array([0.9, 1.0]) * time)
    assert np.abs(position[0]).max() > 0.0
    assert_allclose([position[1], rates[0][1], rates[1][1]], 0.0, atol=1e-9)


def test_points_with_velocities_are_taken_as_they_are():
    points = [Point(0.5, [0.0, 0.0], [1.0, 1.0]), Point(1.0, [1.0, 2.0], [0.0, 0.0])]
    paths = [
        Trajectory(FREE_SPACE.names, points, FREE_SPACE, interpolation=kind)
        for kind in Interpolation
    ]
    coefficients = [path.compiled().coefficients for path in paths]
    assert_allclose(*coefficients, rtol=0.0)
