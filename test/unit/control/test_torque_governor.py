"""The torque governor: clamp, rate limit, bumpless transfer, priority."""

import numpy as np
import pytest
from compiled import control_parts
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from studies import study

from featherstone_ros.control.controller import cut
from featherstone_ros.control.joint_space import default_torque_rate

DT = 0.001
efforts = arrays(float, 2, elements=st.floats(-1e3, 1e3))


def governor(start=(0.0, 0.0), limit=20.0, rate=200.0):
    it = control_parts.TorqueGovernor(np.full(2, limit), np.full(2, rate))
    it.start(np.array(start))
    return it


def test_start_beyond_the_limits_is_clamped():
    it = governor([50.0, -30.0])
    assert_allclose(it.command, [20.0, -20.0])


def test_fade_leads_to_what_is_asked_for_in_the_time_given():
    it = governor([5.0, -3.0])
    it.begin_transfer(0.2)
    asked = np.array([9.0, 9.0])
    commands = [it.govern(asked, DT).copy() for _ in range(202)]
    assert_allclose(commands[-1], asked)
    assert np.abs(commands[100] - asked).max() > 1.0
    assert (np.abs(np.diff(commands, axis=0)) < 0.1).all()


def test_fade_during_a_fade_begins_at_the_last_command():
    it = governor()
    it.begin_transfer(0.2)
    for _ in range(100):
        it.govern(np.full(2, 10.0), DT)
    before = it.command.copy()
    it.begin_transfer(0.2)
    assert_allclose(it.govern(np.full(2, -10.0), DT), before)


@pytest.mark.parametrize("velocity", [0.06, -0.06, 0.04, 0.0])
def test_fade_drives_no_joint_on_that_moves(velocity):
    it = governor([5.0, -3.0])
    it.begin_transfer(0.2, np.full(2, velocity))
    first = it.govern(np.zeros(2), DT).copy()
    step = 200.0 * DT
    assert_allclose(first, [5.0 - step * (velocity > 0.05), -3.0 + step * (velocity < -0.05)])
    it.begin_transfer(0.2)  # which forgets the velocity
    assert_allclose(it.govern(np.zeros(2), DT), first)


def test_steps_that_are_cut_together_keep_their_direction():
    it = governor([1.0, 2.0])
    assert_allclose(it.govern(np.array([9.0, 4.0]), DT, together=True), [1.2, 2.05])
    assert_allclose(it.govern(np.array([1.2, 99.0]), DT, together=True), [1.2, 2.25])
    assert_allclose(it.govern(np.array([1.4, 2.3]), DT, together=True), [1.4, 2.3])
    assert it.counts() == (1, 2)
    assert_allclose(
        it.govern(np.array([99.0, 2.3]), DT, np.array([5.0, 0.0]), together=True), [1.6, 2.3]
    )


def test_start_in_the_middle_of_a_fade_forgets_it():
    it = governor()
    it.begin_transfer(0.2)
    it.govern(np.full(2, 10.0), DT)
    it.govern(np.full(2, 10.0), DT)
    held = np.array([5.0, -3.0])
    it.start(held)
    assert_allclose(it.govern(held, DT), held)


@pytest.mark.parametrize(
    ("limit", "rate", "dt", "added", "asked", "expected"),
    [
        (20.0, 200.0, DT, 0.0, [15.0, -15.0], [0.2, -0.2]),
        (20.0, 200.0, 5.0, 0.0, [15.0, -15.0], [1.0, -1.0]),  # however long the gap
        (20.0, 1e6, 0.01, 12.0, [15.0, -30.0], [8.0, -30.0]),  # with what the drives add
        (np.inf, 1e6, DT, 0.0, [500.0, -500.0], [500.0, -500.0]),
    ],
)
def test_a_step_goes_as_far_as_limit_and_rate_let_it(limit, rate, dt, added, asked, expected):
    it = governor(limit=limit, rate=rate)
    assert_allclose(it.govern(np.array(asked), dt, added=np.full(2, added)), expected)


def test_command_leaves_a_lowered_limit_at_the_rate_limit():
    it = governor([20.0, 20.0])
    it.configure(np.full(2, 10.0), np.full(2, 200.0))
    assert_allclose(it.govern(np.full(2, 20.0), DT), 19.8)
    for _ in range(100):
        it.govern(np.full(2, 20.0), DT)
    assert_allclose(it.command, 10.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_and_changes_nothing(bad):
    it = governor([5.0, -3.0])
    assert it.govern(np.array([0.0, bad]), DT) is None
    assert_allclose(it.command, [5.0, -3.0])


def counts(it) -> tuple[int, int]:
    return it.saturated, it.interventions


def test_a_command_as_asked_for_is_no_intervention():
    it = governor([5.0, -3.0])
    it.begin_transfer(0.2)
    assert it.govern(np.array([9.3, 0.7]), 0.0) is not None  # a transfer begins at the last command
    for _ in range(300):
        it.govern(np.array([9.3, 0.7]), DT)
    it.govern(it.command + 0.19, DT)
    assert counts(it) == (0, 0)


def test_clamped_command_is_saturated_and_an_intervention():
    it = governor([20.0, 0.0])
    it.govern(np.array([20.0, 0.0]), DT)
    assert counts(it) == (0, 0)
    it.govern(np.array([20.1, 0.0]), DT)
    it.govern(np.array([20.0, 0.0]), DT, added=np.array([0.1, 0.0]))
    assert counts(it) == (2, 2)


def test_rate_limited_command_is_an_intervention_only():
    it = governor()
    it.govern(np.array([0.0, 0.3]), DT)
    assert counts(it) == (0, 1)
    it.govern(np.array([0.0, 0.3]), DT)
    assert counts(it) == (0, 1)


def test_refused_command_is_not_counted():
    it = governor()
    it.govern(np.array([np.nan, 1e9]), DT)
    assert counts(it) == (0, 0)


@pytest.mark.parametrize("limit", [study(20.0), np.inf])
@given(st.lists(arrays(float, 2, elements=st.floats(-1.7e308, 1.7e308)), min_size=3, max_size=9))
def test_commands_stay_finite_however_large_what_is_asked_for(limit, asked):
    it = governor(limit=limit)
    for target in asked:
        it.begin_transfer(0.0015)
        for _ in range(4):
            assert np.isfinite(it.govern(target, DT)).all()


@given(st.lists(efforts, min_size=1, max_size=20), st.floats(0.0, 0.1))
def test_commands_stay_within_limits_and_rate_whatever_is_asked_for(asked, duration):
    it = governor([5.0, -3.0])
    it.begin_transfer(duration)
    last = it.command.copy()
    for target in asked:
        command = it.govern(target, DT)
        assert (np.abs(command) <= 20.0).all()
        assert (np.abs(command - last) <= 0.2 + 1e-12).all()
        last = command.copy()


def test_default_torque_rate_where_there_is_a_limit_and_where_not():
    rate = default_torque_rate(np.array([20.0, 0.0, np.inf]))
    assert_allclose(rate, [1000.0, 5000.0, 5000.0])


def test_fade_weight_falls_from_one_to_zero():
    weights = [control_parts.transfer_weight_at(x) for x in np.linspace(-0.5, 1.5, 101)]
    assert weights[0] == 1.0 and weights[-1] == 0.0
    assert (np.diff(weights) <= 0.0).all()


def test_fade_begins_and_ends_without_a_kink():
    assert 0.0 < 1.0 - control_parts.transfer_weight_at(1e-3) < 1e-5
    assert 0.0 < control_parts.transfer_weight_at(1.0 - 1e-3) < 1e-5


@given(efforts, efforts, efforts, st.floats(0.1, 500.0))
def test_cutting_by_priority_leaves_the_clamped_sum(gravity, feedforward, feedback, limit):
    parts = cut(gravity, feedforward, feedback, np.full(2, limit))
    total = np.clip(gravity + feedforward + feedback, -limit, limit)
    assert_allclose(sum(parts), total, atol=1e-9)


def test_feedback_is_cut_before_feedforward_and_gravity_last():
    limit = np.full(3, 10.0)
    gravity = np.array([6.0, 6.0, 12.0])
    feedforward, feedback = np.array([3.0, 6.0, 4.0]), np.array([5.0, 5.0, 5.0])
    left = cut(gravity, feedforward, feedback, limit)
    assert_allclose(left, [[6.0, 6.0, 10.0], [3.0, 4.0, 0.0], [1.0, 0.0, 0.0]])


# The speed limit, of an arm with this inertia.

INERTIA = np.array([[0.8, 0.2], [0.2, 0.1]])
SPEED = np.array([2.0, 3.0])
WEIGHT = np.array([6.0, -2.0])


def drive(it, asked: np.ndarray, qd: np.ndarray, duration: float) -> np.ndarray:
    """Let what is asked for drive the arm; return its velocities."""
    inverse = np.linalg.inv(INERTIA)
    velocities = [qd]
    for _ in range(round(duration / DT)):
        command = it.govern(asked, DT, motion=(SPEED, velocities[-1], inverse, WEIGHT))
        velocities.append(velocities[-1] + DT * inverse @ (command - WEIGHT))
    return np.array(velocities)


@pytest.mark.parametrize("asked", [(20.0, 20.0), (20.0, -20.0), (-20.0, 5.0), (0.0, 20.0)])
def test_torque_is_taken_back_before_it_drives_a_joint_beyond_its_speed(asked):
    it = governor(WEIGHT, rate=1000.0)
    share = np.abs(drive(it, np.array(asked), np.zeros(2), 3.0)) / SPEED
    assert share.max() <= 0.851
    assert share[-1].max() > 0.8, "as fast as it may be"


def test_joint_that_is_pushed_beyond_its_speed_is_braked():
    it = governor(WEIGHT, rate=1000.0)
    velocity = drive(it, WEIGHT, 1.2 * SPEED, 0.2)
    assert (np.abs(velocity[-1]) < 0.86 * SPEED).all()
    assert (velocity[-1] > 0.5 * SPEED).all(), "no more than it takes"


def test_slow_joints_have_what_is_asked_for():
    it = governor(WEIGHT, rate=1000.0)
    asked = WEIGHT + np.array([0.5, -0.3])
    motion = (SPEED, 0.3 * SPEED, np.linalg.inv(INERTIA), WEIGHT)
    assert_allclose(it.govern(asked, DT, motion=motion), asked, rtol=0, atol=0)


def test_joints_without_a_speed_limit_have_what_is_asked_for():
    it = governor(WEIGHT, rate=1e9)
    motion = (np.full(2, np.inf), np.full(2, 50.0), np.linalg.inv(INERTIA), WEIGHT)
    assert_allclose(it.govern(np.array([20.0, -20.0]), DT, motion=motion), [20.0, -20.0])


def test_a_joint_is_braked_within_two_steps_at_least_or_it_would_be_thrown_back():
    it = governor(WEIGHT, 200.0, 1e6)
    inverse, qd, dt = np.linalg.inv(INERTIA), 1.2 * SPEED, 0.02
    for _ in range(20):
        qd = qd + dt * inverse @ (
            it.govern(WEIGHT, dt, motion=(SPEED, qd, inverse, WEIGHT)) - WEIGHT
        )
        assert (qd > 0.849 * SPEED).all()
    assert (qd < 0.86 * SPEED).all()
