"""Trajectories: what is accepted, what is refused and why, and the motion that comes of them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusals import refusals
from studies import few_or_all

from featherstone_ros._control import CompiledPath, stopping_position
from featherstone_ros.arrays import Floats
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import Interpolation
from featherstone_ros.control.trajectory import (
    MotionState,
    Point,
    Trajectory,
    TrajectoryError,
    plan_start,
    set_point,
    spline_velocities,
    start_delay,
    timed,
)

NAMES = ("shoulder", "elbow", "wrist")
UNLIMITED = np.full(3, np.inf)


def free_space(velocity, lower=-UNLIMITED, upper=UNLIMITED):
    return JointSpace(NAMES, ("revolute",) * 3, lower, upper, velocity, UNLIMITED)


def unbounded(*kinds):
    """Return joints a and b of these kinds, or a alone."""
    free = np.full(len(kinds), np.inf)
    return JointSpace(("a", "b")[: len(kinds)], kinds, -free, free, free, free)


SPACE = free_space(np.array([2.0, 2.0, np.inf]), np.full(3, -3.0), np.full(3, 3.0))
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
    points = [Point(0.0, HOME + 0.01 * k, None, None) for k in range(4)]
    assert points[0].velocities == points[0].accelerations == ()
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


def planned(points, names=NAMES):
    return Trajectory(names, points, SPACE)


STANDING = {"velocities": [0.0] * 3, "accelerations": [0.0] * 3}
FASTER = [point(**STANDING | {"accelerations": [1e300] * 3}), point(1.0 + 1e-9, **STANDING)]
WEAK = replace(SPACE, effort=np.array([np.inf, 12.0, 87.0]))
STRONG = [point(0.0, effort=[1e6, -12.0, 87.0]), point(1.0, effort=[0.0, -12.1, 0.0])]
test_what_is_no_trajectory_is_refused = refusals(
    ("no points", []),
    ("point 0: no positions", [point(positions=[], velocities=[0.0] * 3)]),
    ("accelerations without velocities", [point(accelerations=[0.0] * 3)]),
    ("point 0: 2 positions, expected 3", [point(positions=[0.0, 0.0])]),
    ("point 0: 4 velocities, expected 3", [point(velocities=[0.0] * 4)]),
    ("point 0: 1 effort, expected 3", [point(effort=[0.0])]),
    ("positions of joint 'elbow' is nan", [point(positions=[0.0, np.nan, 0.0])]),
    ("point 1: velocities of joint", [point(), point(2.0, velocities=[np.inf, 0.0, 0.0])]),
    ("point 0 at 2 s, point 1 at 1 s", [point(2.0), point(1.0)]),
    ("times do not increase", [point(1.0), point(1.0)]),
    ("time_from_start is -1", [point(-1.0)]),
    ("time_from_start is nan", [point(np.nan)]),
    (r"joint 'wrist' at 3.5 .* \[-3, 3\]", [point(positions=[0.0, 0.0, 3.5])]),
    ("velocity of joint 'elbow' is 0.1", [point(velocities=[0.0, 0.1, 0.0])]),
    ("no finite interpolation from point 0 at 1 s", FASTER),
    *((text, lambda names=names: planned([Point(1.0, [0.0] * len(names))], names))
      for text, names in (
        ("unknown joint 'finger'; the joints are sh", ("shoulder", "elbow", "finger")),
        ("no values for joint wrist", ("shoulder", "elbow")),
        ("joint 'elbow' is named more than once", ("shoulder", "elbow", "elbow")),
        ("no values for joint shoulder, elbow, wrist", ()))),
    ("point 1: effort of joint 'elbow' is -12.1.*most 12", lambda: Trajectory(NAMES, STRONG, WEAK)),
    ("point 0: effort of joint 'elbow'", lambda: set_point(STRONG[1], WEAK, np.zeros(3))),
    error=TrajectoryError, of=lambda points=STRONG: planned(points),
)  # fmt: skip


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
    trajectory = Trajectory(("a",), [Point(1.0, [3.1 * np.sign(-lag)])], unbounded("continuous"))
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


@pytest.mark.parametrize(
    ("start", "stamp", "now", "delay"),
    [
        (101.0, 99.998, 100.0, 1.002),  # one clock: by the state
        (101.0, 0.0, 100.0, 1.0),  # no stamp: by the clock
        (1.2, 0.0, 0.2, 1.0),  # also where a simulation's has just begun
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
    space = unbounded("continuous", "revolute")
    trajectory = Trajectory(space.names, [Point(5.0, (160.0, 160.0))], space)
    assert trajectory.shorter_ways() == ""
    trajectory.turn_towards(5.0, np.zeros(2))
    assert trajectory.shorter_ways() == "'a' goes to 2.92 instead of 160, 25 whole turns nearer"


# Splines through points that have positions alone.


FREE_SPACE = unbounded("revolute", "revolute")


def random_points(count: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(count)
    return np.cumsum(rng.uniform(0.01, 0.3, count)), rng.normal(size=(count, 2))


@pytest.mark.parametrize("count", [2, 3, 17, 400])
def test_velocities_are_those_of_scipys_spline(count):
    from scipy.interpolate import CubicSpline

    times, positions = random_points(count)
    spline = CubicSpline(times, positions, bc_type=((2, [0.0, 0.0]), (1, [0.0, 0.0])))
    assert_allclose(spline_velocities(times, positions), spline(times, 1), rtol=1e-9, atol=1e-9)


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


# Motions between points: what pieces meet, stops, corrections.


ALL = np.array([True, True])


def random_path(rng: np.random.Generator, degree: int = 2) -> CompiledPath:
    """Two points that move, then a stop."""
    states = rng.normal(size=(2, 4, 3))
    return CompiledPath([1.0, 1.7], states, [degree] * 2, ALL, 0.3, -UNLIMITED, UNLIMITED)


def values(coefficients: np.ndarray, t: float) -> np.ndarray:
    """Position, velocity and acceleration by numpy's own polynomials."""
    polynomials = [np.polynomial.Polynomial(column) for column in coefficients.T]
    return np.array([[p.deriv(k)(t) if k else p(t) for p in polynomials] for k in range(3)])


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_piece_meets_both_ends_in_the_fields_they_have(degree):
    path = random_path(np.random.default_rng(1), degree)
    for point, t in enumerate((0.0, 0.7)):
        found, expected = values(path.coefficients[0], t), path.points[point, :3]
        assert_allclose(found[: degree + 1], expected[: degree + 1], atol=1e-10)
        assert_allclose(path.effort[0, 0] + t * path.effort[0, 1], path.points[point, 3])


def test_sample_agrees_with_numpy_polynomials():
    path = random_path(np.random.default_rng(2))
    for t, piece, since in ((0.5, 0, 0.0), (1.0, 0, 0.0), (1.6, 0, 0.6), (1.7, 1, 0.0), (9, 2, 7)):
        assert_allclose(path.sample(t)[:3], values(path.coefficients[piece], since), atol=1e-12)


def test_stop_begins_in_the_last_state_and_ends_at_rest():
    path = random_path(np.random.default_rng(3))
    assert_allclose(path.sample(1.7), path.points[1], atol=1e-12)
    end = path.sample(2.0)
    assert not end[1:3].any()
    assert_allclose(path.sample(2.0 - 1e-9)[:2], end[:2], atol=1e-7)
    assert_allclose(end[0], stopping_position(path.points[1], 0.3, -UNLIMITED, UNLIMITED)[0])


@pytest.mark.parametrize(
    ("position", "velocity", "end"),
    [([0.9, -0.9, 0.0], [2.0, -2.0, 0.4], [1.0, -1.0, 0.1]), ([1.2, 0, 0], [0, 0, 0], [1.2, 0, 0])],
    ids=["within the limits", "beyond a limit it stays there"],
)
def test_stop_ends_within_position_limits(position, velocity, end):
    state = np.array([position, velocity, np.zeros(3), np.zeros(3)])
    assert_allclose(stopping_position(state, 0.5, np.full(3, -1.0), np.full(3, 1.0))[0], end)


@pytest.mark.parametrize("duration", few_or_all([0.01, 3.0], [0.01, 0.25, 3.0, 10.0]))
def test_all_of_a_stop_is_within_the_limits_and_no_longer_than_it_need_be(duration):
    """From any state in which the arm can be: near a limit, moving to it or away, braking already.

    A joint stops sooner where its range ends; the others take their time.
    """
    rng, count = np.random.default_rng(6), 1000
    lower, upper = np.full(count, -1.0), np.full(count, 1.0)
    near = 10.0 ** rng.uniform(-3.0, 0.0, count)
    fastest = np.sqrt(20.0 * near)  # that can still be stopped
    state = rng.uniform(-1.0, 1.0, (4, count)) * np.array([near, fastest, 5.0 * near, near])
    state[0] = 1.0 - near
    limits = lower, upper
    path = CompiledPath([0.0], state[None], [2], [False], duration, *limits)
    rest, lasts = stopping_position(state, duration, *limits)
    times = np.linspace(0.0, duration, 1001)
    q = np.array([path.sample(t)[0] for t in times])
    assert (np.abs(q) <= 1.0 + 2e-9).all()
    assert_allclose(q[-1], rest, atol=1e-12)
    calm = (np.abs(state[2]) * duration < 3.0 * np.abs(state[1])) & (np.abs(rest) < 0.9)
    assert_allclose(lasts[calm], duration)
    if duration > 0.25:  # it goes on no longer than it would with its speed, or soon stands
        way = np.abs(q - state[0]).max(axis=0)
        assert (way <= 0.76 * np.abs(state[1]) * lasts + 0.25**2 / 12 * np.abs(state[2])).all()


@pytest.mark.parametrize("place", [1.0, 1.2, -1.0, -1.3, 0.0])
def test_a_stop_at_a_limit_or_beyond_it_is_finite_and_goes_no_further(place):
    """Whichever way the joint moves, and accelerates."""
    v, a = np.meshgrid([-1.0, -1e-9, 0.0, 1e-9, 1.0], [-20.0, -0.1, 0.0, 0.1, 20.0])
    state = np.array([np.full(25, place), v.ravel(), a.ravel(), np.zeros(25)])
    lower, upper = np.full(25, -1.0), np.full(25, 1.0)
    for duration in (0.01, 0.25, 10.0):
        rest, lasts = stopping_position(state, duration, lower, upper)
        assert ((lasts >= 0.01) & (lasts <= duration)).all()
        assert (rest >= min(place, -1.0)).all() and (rest <= max(place, 1.0)).all()


def test_a_lead_in_and_a_blend_stay_within_the_range_of_the_joints():
    """Towards a limit at speed, and from there into paths that begin elsewhere, or at any time."""
    rng, n = np.random.default_rng(7), 3
    limit, lower, upper = np.full(n, 2.0), np.full(n, -1.0), np.full(n, 1.0)
    space = free_space(limit, lower, upper)
    for k in range(300):
        wait, stop_time = rng.choice([0.0, 0.05, 0.4, 2.0]), rng.choice([0.1, 0.25, 2.0])
        start, goal = rng.uniform(-0.9, 0.9, (2, n))
        fields = [np.zeros(n)] * (k % 3)
        points = [Point(wait, start, *fields), Point(wait + 3.0, goal, *fields)]
        position = rng.choice([-1.0, 1.0], n) * (1.0 - 10.0 ** rng.uniform(-3.0, -1.0, n))
        velocity = rng.uniform(-1.0, 1.0, n)
        stoppable = np.sqrt(20.0 * np.abs(np.sign(velocity) - position))  # at 10 rad/s^2
        velocity = np.clip(velocity, -stoppable, stoppable)
        before = MotionState(position, velocity, np.zeros(n), np.zeros(n))
        motion = Trajectory(space.names, points, space).motion(0.0, before, stop_time)
        q = motion.sample(np.linspace(0.0, motion.end, 1001))[0]
        assert np.abs(q).max() < 1.0 + 0.02


@pytest.mark.parametrize("joint", [0, 2])
def test_correction_leads_in_without_a_jump_and_is_slow(joint):
    position, moving = np.random.default_rng(4).normal(size=(2, 3))
    space = free_space(np.array([1.0, np.inf, 1.0]))
    hold = Trajectory(space.names, [Point(0.0, position)], space)
    before = rest(position + 0.2 * np.eye(3)[joint])._replace(effort=moving)
    motion = hold.motion(5.0, before, 0.1)
    assert_allclose(motion.state(5.0).rows(), before.rows(), atol=1e-12)
    assert motion.end == pytest.approx(5.0 + 1.875 * 0.2 / 0.25)
    speeds = np.abs(motion.sample(np.linspace(5.0, motion.end, 201))[1, :, joint])
    assert speeds.max() == pytest.approx(0.25, rel=1e-3)
    assert_allclose(motion.state(motion.end).rows(), [position, *np.zeros((3, 3))], atol=1e-12)


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("wait", [0.002, 0.01, 0.05])
def test_a_first_point_that_is_too_near_in_time_is_led_in_slowly(moving, degree, wait):
    """Trajectories that were planned from where the arm was a while ago, and sampled finely."""
    rng, limit, n = np.random.default_rng(5), np.array([1.0, 2.0, 3.0]), 3
    space = free_space(limit)
    start, slow = rng.normal(size=n), 0.1 * limit
    fields = [slow, np.zeros(n)][:degree]
    points = [Point(t, start + slow * t, *fields) for t in wait + np.linspace(0.0, 2.0, 201)]
    trajectory = Trajectory(space.names, points, space, allow_moving_end=True)
    velocity = 0.2 * limit * rng.uniform(-1.0, 1.0, n) if moving else np.zeros(n)
    away = start + 0.2 * rng.choice([-1.0, 1.0], n)
    before = MotionState(away, velocity, np.zeros(n), np.zeros(n))
    motion = trajectory.motion(0.0, before, 0.25)
    assert_allclose(motion.state(0.0).rows(), before.rows(), atol=1e-12)
    times = np.linspace(0.0, 2.0, 2001)
    speeds = motion.sample(times)[1]
    assert (np.abs(speeds) < 0.6 * limit).all()
    step = np.abs(np.diff(speeds, axis=0))
    assert (step < 10.0 * limit * times[1]).all()  # no jump: 10 limits per second
    assert_allclose(motion.state(2.0).position, trajectory.compiled().sample(2.0)[0], atol=1e-9)
