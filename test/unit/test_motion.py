"""Motions between points: what pieces meet, stops, corrections."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import few_or_all

from featherstone_ros._control import CompiledPath, stopping_position
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import MotionState
from featherstone_ros.control.trajectory import Point, Trajectory

UNLIMITED = np.full(3, np.inf)
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
    rng, count = np.random.default_rng(6), 2000
    lower, upper = np.full(count, -1.0), np.full(count, 1.0)
    near = 10.0 ** rng.uniform(-3.0, 0.0, count)
    fastest = np.sqrt(20.0 * near)  # that can still be stopped
    state = rng.uniform(-1.0, 1.0, (4, count)) * np.array([near, fastest, 5.0 * near, near])
    state[0] = 1.0 - near
    limits = lower, upper
    path = CompiledPath([0.0], state[None], [2], [False], duration, *limits)
    rest, lasts = stopping_position(state, duration, *limits)
    times = np.linspace(0.0, duration, 2001)
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
    space = JointSpace(("a", "b", "c"), ("revolute",) * n, lower, upper, limit, UNLIMITED)
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


def test_correction_leads_in_without_a_jump_and_is_slow():
    position, moving = np.random.default_rng(4).normal(size=(2, 3))
    limit = np.array([1.0, 1.0, np.inf])
    space = JointSpace(("a", "b", "c"), ("revolute",) * 3, -UNLIMITED, UNLIMITED, limit, UNLIMITED)
    hold = Trajectory(space.names, [Point(0.0, position)], space)
    before = MotionState(position + np.array([0.2, 0.0, 0.0]), np.zeros(3), np.zeros(3), moving)
    motion = hold.motion(5.0, before, 0.1)
    assert_allclose(motion.state(5.0).rows(), before.rows(), atol=1e-12)
    assert motion.end == pytest.approx(5.0 + 1.875 * 0.2 / 0.25)
    speeds = np.abs(motion.sample(np.linspace(5.0, motion.end, 201))[1, :, 0])
    assert speeds.max() == pytest.approx(0.25, rel=1e-3)
    assert_allclose(motion.state(motion.end).rows(), [position, *np.zeros((3, 3))], atol=1e-12)


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("wait", [0.002, 0.01, 0.05])
def test_a_first_point_that_is_too_near_in_time_is_led_in_slowly(moving, degree, wait):
    """Trajectories that were planned from where the arm was a while ago, and sampled finely."""
    rng, limit, n = np.random.default_rng(5), np.array([1.0, 2.0, 3.0]), 3
    space = JointSpace(("a", "b", "c"), ("revolute",) * n, -UNLIMITED, UNLIMITED, limit, UNLIMITED)
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
