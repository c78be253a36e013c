"""Which joint states are believed."""

import numpy as np
import pytest
from compiled._control_parts import JointStateValidator
from numpy.testing import assert_allclose

from featherstone_ros.control.events import REJECTIONS
from featherstone_ros.control.trajectory import start_delay

(
    _,
    NOT_FINITE,
    NOT_NEWER,
    JUMP,
    ABSURD,
    TOO_FAST,
    DISTRUSTED,
    REPEATED,
    CONTRADICTORY,
    LATE,
) = range(len(REJECTIONS))
MOST_IMPLAUSIBLE = 10
LIMIT = np.array([2.0, np.inf])
Q = np.array([0.5, -0.5])
ZERO = np.zeros(2)


class Source:
    """Feeds a validator, 1 ms from state to state unless told otherwise."""

    def __init__(self) -> None:
        self.validator = JointStateValidator(LIMIT)
        self.now = 10.0

    def give(self, q=Q, qd=ZERO, stamp=0.0, after=0.001, **more) -> bool:
        self.now += after
        return self.validator.accept(self.now, stamp, np.asarray(q, float), qd, **more)


@pytest.fixture
def source() -> Source:
    source = Source()
    assert source.give(stamp=5.0)
    return source


def test_first_state_takes_no_time(source):
    assert source.validator.dt == 0.0
    assert source.validator.time == 0.0


def test_time_goes_by_the_stamps(source):
    assert source.give(stamp=5.02, after=0.5)
    assert source.validator.dt == pytest.approx(0.02)


def test_time_goes_by_the_arrival_without_stamps():
    source = Source()
    source.give()
    assert source.give(after=0.03)
    assert source.validator.dt == pytest.approx(0.03)


@pytest.mark.parametrize("stamp", [5.0, 4.99])
def test_duplicated_and_older_stamps_are_refused(source, stamp):
    assert not source.give(q=Q + 0.01, stamp=stamp)
    assert source.validator.rejected[NOT_NEWER] == 1
    assert_allclose(source.validator.q, Q)


@pytest.mark.parametrize("stamp", [1e9, 0.001])
def test_another_clock_does_not_stop_it(source, stamp):
    assert source.give(stamp=stamp, after=0.004)
    assert source.validator.dt == pytest.approx(0.004)
    assert source.give(stamp=stamp + 0.002)
    assert source.validator.dt == pytest.approx(0.002, abs=1e-6)


def test_simulation_may_begin_at_time_zero():
    source = Source()
    source.give(stamp=0.0)
    assert source.give(stamp=0.002, after=0.5)
    assert source.validator.dt == pytest.approx(0.002)


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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("field", ["q", "qd"])
def test_what_is_not_finite_is_refused(source, bad, field):
    if field == "qd" and np.isnan(bad):
        assert source.give(qd=np.array([0.5, bad]))  # it was not measured
        return
    assert not source.give(**{field: np.array([0.5, bad])})
    assert source.validator.rejected[NOT_FINITE] == 1
    assert_allclose(source.validator.q, Q)


def test_a_jump_is_refused_until_forgotten(source):
    there = Q + np.array([0.15, 0.0])
    assert not source.give(q=there)
    assert source.validator.rejected[JUMP] == 1
    source.validator.forget()
    assert source.give(q=there)
    assert source.validator.dt == 0.0


def test_twice_the_velocity_limit_is_believed(source):
    assert source.give(q=Q + np.array([0.1 + 2 * 2.0 * 0.05 - 1e-6, 0.0]), qd=None, after=0.05)


def test_a_jump_that_stays_is_not_believed_by_waiting(source):
    assert source.give()
    there = Q + np.array([0.3, 0.0])  # after 50 ms twice the velocity limit could lead there
    for _ in range(100):
        assert not source.give(q=there)
    assert source.validator.rejected[JUMP] == 100
    assert any(source.give() for _ in range(MOST_IMPLAUSIBLE))


def test_a_state_may_be_far_from_the_last_good_one_after_one_that_jumped(source):
    assert not source.give(q=Q + 0.3)
    assert source.give(after=0.002)
    assert source.give(q=Q + np.array([0.25, 0.0]), qd=None, after=0.05)


def test_a_source_that_is_often_wrong_has_to_make_up_for_it(source):
    assert source.give()
    for _ in range(3):
        assert not source.give(q=Q + 0.3)
    assert [source.give() for _ in range(4)] == [False, False, True, True]
    assert source.validator.rejected[DISTRUSTED] == 2
    for _ in range(100):
        assert not source.give(qd=np.array([1e3, 0.0]))
    assert [source.give() for _ in range(MOST_IMPLAUSIBLE)] == [False] * (MOST_IMPLAUSIBLE - 1) + [
        True
    ]


def test_positions_where_no_arm_is_have_to_be_made_up_for_too(source):
    source.validator = JointStateValidator(LIMIT, np.full(2, -2.0), np.full(2, 2.0))
    assert source.give()
    for _ in range(3):
        assert not source.give(q=Q + 50.0)
    assert [source.give() for _ in range(4)] == [False, False, True, True]
    assert source.validator.rejected[ABSURD] == 3


def test_positions_that_jump_are_no_evidence_against_velocities(source):
    assert source.give()
    for _ in range(3):
        assert not source.give(q=Q + 1.0 / LIMIT, after=0.02)
    assert not source.give(q=Q - 0.3 / LIMIT, after=0.02)
    assert (source.validator.rejected[DISTRUSTED], source.validator.rejected[CONTRADICTORY]) == (
        1,
        0,
    )


def test_a_single_mistake_among_good_states_costs_no_other(source):
    for _ in range(50):
        assert not source.give(q=Q + 0.3)
        assert source.give()


def test_what_is_said_after_lies_must_fit_together_even_if_it_follows_on_nothing(source):
    random = np.random.default_rng(0)
    for forgotten in range(200):
        if forgotten % 20 == 10:
            source.validator.forget()
        assert not source.give(q=Q + random.choice([-1.0, 1.0], 2) * random.uniform(0.5, 3.0, 2))
    there = Q + 0.7
    assert any(source.give(q=there) for _ in range(MOST_IMPLAUSIBLE + 1))
    assert_allclose(source.validator.q, there)


def test_a_distrusted_position_is_what_the_next_one_must_fit_to(source):
    source.validator.forget()
    assert not source.give(Q + 1.0)
    assert not source.give(Q + 2.0, qd=None)
    moved = Q + 2.0 + np.array([0.3, 0.0])  # after 60 ms twice the velocity limit may lead there
    assert not source.give(moved, qd=None, after=0.06)
    assert source.validator.rejected[DISTRUSTED] == 1
    assert not source.give(Q + 2.0, qd=None)  # but not back within 1 ms
    assert (source.validator.rejected[JUMP], source.validator.rejected[DISTRUSTED]) == (3, 1)


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_velocity_spike_is_refused(source, forgotten):
    if forgotten:
        source.validator.forget()
    assert not source.give(qd=np.array([1e3, 0.0]))
    assert source.validator.rejected[TOO_FAST] == 1
    assert source.give()


def test_a_high_velocity_is_believed_if_the_positions_show_it(source):
    qd = np.array([20.0, 0.0])  # ten times the limit
    source.validator.forget()
    assert not source.give(q=Q, qd=qd)
    assert source.give(q=Q + 0.001 * qd, qd=qd)


def test_a_high_velocity_is_believed_at_once_if_it_leads_on_from_the_last_good_state(source):
    qd = np.array([20.0, 0.0])  # ten times the limit
    assert source.give(q=Q + 0.001 * qd, qd=qd)


MOVING = np.array([0.2, -0.2])


def moving_source(states: int = 10) -> Source:
    """Return a source of which the last state was at Q."""
    source = Source()
    for i in reversed(range(states)):
        assert source.give(Q - 0.005 * i * MOVING, MOVING, after=0.005)
    return source


def test_the_estimated_velocity_is_what_the_last_ones_and_the_positions_agree_on():
    """Two states in a row are wrong, each in one joint."""
    source = moving_source()
    assert source.give(Q + 0.005 * MOVING, [3.0, -0.2], after=0.005)
    assert source.give(Q + 0.010 * MOVING, [0.2, -15.0], after=0.005)
    q, qd = source.validator.best_estimate()
    assert_allclose(q, Q + 0.010 * MOVING)
    assert_allclose(qd, MOVING, atol=0.02)


def test_the_estimated_position_leaves_out_one_that_no_velocity_leads_to():
    source = moving_source()
    wrong = Q + 0.005 * MOVING + [0.05, 0.0]
    assert source.give(wrong, MOVING, after=0.005)
    assert_allclose(source.validator.best_estimate(), (Q + 0.005 * MOVING, MOVING), atol=1e-3)
    assert source.give(wrong + 0.005 * MOVING, MOVING, after=0.005)  # it was right after all
    assert_allclose(source.validator.best_estimate(), (wrong + 0.005 * MOVING, MOVING), atol=1e-3)


def test_one_wrong_position_is_no_speed_to_brake_from():
    source = moving_source()
    assert not source.give(Q + 0.005 * MOVING + [0.11, 0.0], MOVING, after=0.005)
    assert source.validator.rejected[CONTRADICTORY] == 1
    q, qd = source.validator.best_estimate()
    assert_allclose(q, Q + 0.005 * MOVING, atol=1e-3)
    assert_allclose(qd, MOVING, atol=0.05)


@pytest.mark.parametrize("times", [0.5, 1.0, 3.0])
def test_a_velocity_against_the_positions_counts_by_its_size_as_far_as_they_show_it(times):
    """One that counted as none made the damper push: 2.1 times the speed limit."""
    source = moving_source()
    assert source.give(Q + 0.005 * MOVING, -times * MOVING, after=0.005)
    assert_allclose(source.validator.qd, min(times, 1.0) * MOVING, rtol=1e-6)
    assert source.give(Q + 0.010 * MOVING, MOVING, after=0.005)
    assert_allclose(source.validator.qd, MOVING)


def test_of_a_velocity_that_keeps_going_against_the_positions_the_size_counts():
    source = moving_source()
    for k in range(1, 21):
        assert source.give(Q + 0.005 * k * MOVING, -MOVING, after=0.005)
    assert_allclose(source.validator.qd, MOVING, rtol=1e-6)


@pytest.mark.parametrize("dt", [0.005, 0.03])
def test_an_unlikely_velocity_does_not_count_where_states_are_sparse(dt):
    """The command for it would last until the next one: bits flipped, 2.1 times the speed limit."""
    source, velocity = Source(), np.array([1.0, -1.0])
    for k in range(20):
        assert source.give(Q + k * dt * velocity, velocity, after=dt)
    spoiled = np.array([0.0, -1.0])
    assert source.give(Q + 20 * dt * velocity, spoiled, after=dt)
    assert_allclose(source.validator.qd, velocity if dt > 0.02 else spoiled, rtol=1e-6)
    stands = Q + 20 * dt * velocity
    for _ in range(3):  # after a hard stop: one state may not be believed, those that follow are
        assert source.give(stands + 1e-9, np.zeros(2), after=dt)
        stands = stands + 1e-9
    assert_allclose(source.validator.qd, 0.0, atol=1e-6)


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.005])
def test_velocities_are_believed_at_once_after_a_bounce(dt):
    """The damping must not vanish where the arm is fastest."""
    source, q = Source(), Q
    for k in range(200):
        velocity = np.array([2.0, -2.0]) if k < 100 else np.array([-1.5, 1.5])
        q = q + dt * velocity
        assert source.give(q, velocity, after=dt)
        assert_allclose(source.validator.qd, velocity)


@pytest.mark.parametrize("times", [1, 2, 5, 8])
def test_velocities_are_believed_after_a_reversal_though_positions_come_several_times(times):
    """A controller manager at 1000 Hz above hardware at 500 Hz, or at 125 Hz."""
    source, dt = Source(), 0.001
    for k in range(1500):
        t = dt * times * (k // times)  # when the hardware measured
        q, qd = Q + 0.2 * np.sin(3.0 * t), 0.6 * np.cos(3.0 * t) * np.ones(2)
        assert source.give(q, qd, after=dt)
        # The filter's lag hides the velocity for a moment while it is small.
        assert_allclose(source.validator.qd, qd, atol=0.05)
    assert source.validator.best_estimate()[1] == pytest.approx(qd, abs=0.05)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_velocity_of_the_wrong_sign_is_put_right_though_positions_come_several_times(times):
    source, dt = Source(), 0.001
    speed = 0.3
    for k in range(200):
        q = Q + speed * dt * times * (k // times)
        source.give(q, speed * np.ones(2), after=dt)
    for k in range(200, 220):
        q = Q + speed * dt * times * (k // times)
        source.give(q, -speed * np.ones(2), after=dt)
        assert_allclose(source.validator.qd, speed, rtol=0.01)


def test_a_coarse_encoder_hides_no_slow_velocity():
    """Positions in steps of 1 mrad: most differences are nothing, and say nothing."""
    source, dt = Source(), 0.001
    for k in range(4000):
        t = dt * k
        q, qd = Q + 0.05 * np.sin(2.0 * t), 0.1 * np.cos(2.0 * t) * np.ones(2)
        source.give(np.round(q, 3), qd, after=dt)
        assert_allclose(source.validator.qd, qd, atol=0.03)


def test_the_estimated_state_of_a_hard_acceleration_is_the_last(source):
    qd = np.array([20.0 * 0.005, 0.0])  # 10 times the speed limit per second
    q = Q + 0.5 * 0.005 * qd
    assert source.give(q, qd, after=0.005)
    assert_allclose(source.validator.best_estimate(), (q, qd))
    source.validator.forget()
    assert source.give(q + 0.05, qd + 3.0, after=1.0)
    assert_allclose(source.validator.best_estimate(), (q + 0.05, qd + 3.0))


@pytest.mark.parametrize("gap", [0.005, 0.12])
def test_a_wrong_position_is_not_likely_even_after_a_gap(source, gap):
    assert source.give(after=0.005)
    if gap > 0.1:
        source.validator.forget()
    wrong = Q + np.array([0.08 if gap < 0.1 else 0.36, 0.0])
    assert source.give(wrong, after=gap)
    assert_allclose(source.validator.best_estimate()[0], Q, atol=1e-9)
    assert source.give(after=gap)  # it is where it was
    assert_allclose(source.validator.best_estimate()[0], Q, atol=1e-9)


def test_a_position_that_the_next_state_confirms_is_likely(source):
    assert source.give(after=0.005)
    there = Q + np.array([0.08, 0.0])
    assert source.give(there, after=0.005)
    assert source.give(there, after=0.005)
    assert_allclose(source.validator.best_estimate()[0], there, atol=1e-9)


def test_a_wrong_velocity_is_not_likely_in_a_state_that_comes_together_with_the_last(source):
    """After ``forget`` the time between both does not keep it out."""
    assert source.give(after=0.01)
    source.validator.forget()
    assert source.give(Q, np.array([1.0, 0.0]), stamp=5.02, after=0.0)
    q, qd = source.validator.best_estimate()
    assert_allclose(q, Q)
    assert_allclose(qd, 0.0)


def test_two_states_that_agree_outweigh_a_first_one_that_nothing_has_confirmed(source):
    there = Q + 1.0
    assert not source.give(there)
    assert source.give(there)
    assert source.validator.dt == 0.0  # it follows on nothing
    assert_allclose(source.validator.q, there)
    assert source.give(there)  # from now on it is confirmed
    assert [source.give(Q) for _ in range(3)] == [False] * 3


@pytest.mark.parametrize("after_a_gap", [True, False])
def test_a_position_where_no_arm_is_does_not_make_the_next_one_believed(after_a_gap):
    source = Source()
    source.validator = JointStateValidator(LIMIT, np.full(2, -1.0), np.full(2, 2.0))
    source.give()
    if after_a_gap:
        source.give()
        source.validator.forget()
    assert not source.give([1e9, 0.0])
    assert source.validator.rejected[ABSURD] == 1
    assert not source.give(Q + 1.0)
    assert source.validator.rejected[JUMP] == 1


def test_an_arm_that_is_elsewhere_after_a_gap_is_believed_if_two_states_say_so(source):
    source.validator.forget()
    assert not source.give(Q + 1.0)
    assert source.validator.rejected[JUMP] == 1
    assert not source.give(Q)  # that was a spike
    assert source.give(Q) or source.give(Q)
    source.validator.forget()
    assert not source.give(Q + 1.0)
    assert source.give(Q + 1.0)
    assert_allclose(source.validator.q, Q + 1.0)


def test_a_velocity_limit_of_zero_is_none():
    validator = JointStateValidator(np.zeros(2))
    assert validator.accept(1.0, 0.0, Q, np.array([5.0, 5.0]), 0.1, 30.0)


def test_velocity_is_estimated_where_there_is_none():
    source = Source()
    for i in range(200):
        assert source.give(q=Q + 0.001 * i * np.array([1.0, -0.5]), qd=None)
    assert_allclose(source.validator.qd, [1.0, -0.5], rtol=1e-3)


def test_estimated_velocity_is_low_pass_filtered():
    source = Source()
    source.give(qd=None)
    source.give(q=Q + 0.001, qd=None)
    weight = 1.0 - np.exp(-2.0 * np.pi * 30.0 * 0.001)
    assert_allclose(source.validator.qd, weight * 1.0, rtol=1e-6)


@pytest.mark.parametrize("dt", [0.001, 0.005, 0.02])
def test_the_way_to_a_wrong_position_and_back_is_no_velocity(dt):
    """It would be 90 rad/s, of which the filter leaves 15."""
    source = Source()
    for _ in range(5):
        assert source.give(qd=None, after=dt)
    for q in (Q + np.array([0.09, 0.0]), Q, Q):
        assert source.give(q, qd=None, after=dt)
        assert_allclose(source.validator.best_estimate(), (Q, ZERO), atol=1e-9)
        assert_allclose(source.validator.qd, ZERO, atol=1e-9)


@pytest.mark.parametrize("dt", [0.001, 0.005, 0.02, 0.05])
def test_a_sudden_motion_is_estimated_though_one_position_alone_would_be_unlikely(dt):
    """Two states show it, and the filter takes its time."""
    source, q = Source(), Q[0]
    for _ in range(5):
        source.give([q, 0.0], qd=None, after=dt)
    for _ in range(2 + round(0.03 / dt)):
        q += 1.9 * dt
        assert source.give([q, 0.0], qd=None, after=dt)
    estimate = source.validator.best_estimate()
    assert_allclose([estimate[0][0], estimate[1][0]], [q, 1.9], rtol=0.02)


def test_estimated_velocity_begins_at_rest_after_a_gap():
    source = Source()
    for i in range(50):
        source.give(q=Q + 0.001 * i, qd=None)
    source.validator.forget()
    assert source.give(q=Q + 0.06, qd=None)
    assert_allclose(source.validator.qd, 0.0)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize(
    ("q", "qd", "reason"),
    [
        ([50.0, 0.0], ZERO, ABSURD),
        ([-50.0, 0.0], ZERO, ABSURD),
        (Q, np.array([21.0, 0.0]), TOO_FAST),
        (Q, -1e300 * np.ones(2), TOO_FAST),
    ],
    ids=["far", "far below", "fast", "faster than any"],
)
def test_absurd_state_is_refused_even_if_it_follows_on_nothing(fresh, q, qd, reason):
    source = Source()
    source.validator = JointStateValidator(
        LIMIT, np.array([-1.0, -np.inf]), np.array([2.0, np.inf])
    )
    if not fresh:
        assert source.give()
    assert not source.give(q, qd)
    assert source.validator.rejected[reason] == 1
    assert source.give(q=Q + 0.01, qd=np.array([4.5, 35.0]))


def test_a_velocity_that_was_not_measured_is_estimated_joint_by_joint():
    source = Source()
    for i in range(200):
        q = Q + 0.001 * i * np.array([1.0, -0.5])
        assert source.give(q=q, qd=np.array([1.0, np.nan]))
    assert_allclose(source.validator.qd, [1.0, -0.5], rtol=1e-3)


# States that repeat, contradict themselves, or are late


def last_states(source, count, qd, stamp=None, **more):
    """Give the same position over and over; return which were believed."""
    stamps = [0.0] * count if stamp is None else stamp + 0.001 * np.arange(1, count + 1)
    return [source.give(qd=np.array(qd), stamp=stamp, **more) for stamp in stamps]


@pytest.mark.parametrize("stamp", [None, 5.0], ids=["arrival", "new stamps"])
def test_a_moving_arm_whose_position_never_changes_is_not_believed(source, stamp):
    believed = last_states(source, 100, [1.0, 0.0], stamp)
    assert sum(believed) < 25  # 20 mrad at 1 rad/s
    assert source.validator.rejected[REPEATED] == 100 - sum(believed)
    source.validator.forget()
    assert not any(last_states(source, 20, [1.0, 0.0], stamp and stamp + 0.1))
    assert source.give(q=Q + 1e-6, stamp=stamp + 0.2 if stamp else 0.0)


def test_the_last_stamp_is_not_newer_after_forgetting_either(source):
    source.validator.forget()
    assert not source.give(stamp=5.0)
    assert source.give(stamp=5.001)


def test_an_arm_at_rest_may_repeat_its_position_for_ever(source):
    assert all(last_states(source, 1000, [0.0, 0.0], 5.0))


def test_a_wrong_velocity_at_rest_does_not_make_it_repeat_for_ever(source):
    source.give(qd=np.array([2.0, 0.0]), after=0.02)
    assert all(last_states(source, 20, [0.0, 0.0]))


def test_an_arm_whose_velocities_were_wrong_for_long_is_believed_once_they_say_it_stands(source):
    assert not last_states(source, 100, [1.0, 0.0])[-1]
    assert source.give()


def test_a_position_that_stays_while_the_arm_is_asked_to_move_is_not_believed(source):
    believed = [source.give(desired=Q + 0.001 * i) for i in range(400)]
    assert 200 <= sum(believed) <= 201
    assert not source.give(desired=Q)


@pytest.mark.parametrize("factor", [-1.0, 0.0, 57.3 / 2])
def test_velocities_that_the_positions_do_not_show_are_named(source, factor):
    speed = np.array([0.06, 0.0]) if factor > 1.0 else np.array([1.0, 0.0])
    believed = [source.give(Q + 0.001 * i * speed, factor * speed) for i in range(500)]
    assert not any(believed[300:])
    assert source.validator.rejected[CONTRADICTORY] > 200


def test_a_filtered_velocity_is_no_contradiction():
    source, qd = Source(), np.zeros(2)
    for i in range(4000):
        t = 0.001 * i
        qd = qd + (1.0 - np.exp(-0.001 / 0.015)) * (2.0 * np.cos(2.0 * t) * np.ones(2) - qd)
        assert source.give(Q + np.sin(2.0 * t), qd), i


def test_a_state_that_was_long_on_its_way_is_late_whatever_the_clocks(source):
    offset = -37.0  # [s] between the two computers
    assert all(source.give(q=Q + 1e-6 * i, on_its_way=offset + 0.001) for i in range(10))
    assert source.give(on_its_way=offset + 0.05)
    assert not source.give(q=Q + 1e-6, on_its_way=offset + 0.15)
    assert source.validator.rejected[LATE] == 1


@pytest.mark.parametrize("before", [0, 1, 10])
def test_a_stamp_ahead_of_its_time_makes_no_later_state_late(source, before):
    assert all(source.give(q=Q + 1e-6 * i, on_its_way=0.001) for i in range(before))
    source.give(q=Q + 2e-5, on_its_way=-0.4)
    assert all(source.give(q=Q + 3e-5 + 1e-6 * i, on_its_way=0.001) for i in range(10))
    assert not source.give(q=Q, on_its_way=0.15)


def test_stamps_that_are_wrong_now_and_then_hide_no_late_state(source):
    for _ in range(4):
        assert all(source.give(q=Q + 1e-6 * i, on_its_way=0.001) for i in range(5))
        assert not source.give(q=Q + 1e-5, on_its_way=0.4)
    assert not source.give(q=Q, after=0.2, on_its_way=0.19)


def test_a_clock_that_is_set_is_believed(source):
    assert all(source.give(q=Q + 1e-6 * i, on_its_way=0.001) for i in range(10))
    assert all(source.give(q=Q + 1e-6 * i, on_its_way=-0.4) for i in range(20, 30))
    assert not source.give(q=Q, on_its_way=-0.25)


@pytest.mark.parametrize("ahead", [0.15, 0.3, 0.45])
def test_a_clock_that_is_set_back_makes_no_state_late_for_long(source, ahead):
    """Ahead at first, as a driver's computer that has no time yet; not even after an hour."""
    assert all(source.give(q=Q + 1e-6 * i, on_its_way=-ahead) for i in range(10))
    believed = [source.give(q=Q + 2e-5 + 1e-6 * i, on_its_way=0.001) for i in range(6)]
    assert believed == [False, False, True, True, True, True]
    assert not source.give(q=Q, after=0.2, on_its_way=0.19)


def test_a_clock_that_is_set_back_behind_the_last_stamp_makes_no_state_late():
    source = Source()
    assert all(source.give(Q + 1e-6 * i, stamp=50 + i * 1e-3, on_its_way=0.0) for i in range(10))
    for i in range(290):
        assert not source.give(Q + 2e-5, stamp=49.71 + i * 1e-3, on_its_way=0.3)
    assert all(source.give(Q + 1e-6 * i, stamp=50.01 + i * 1e-3, on_its_way=0.3) for i in range(10))


def test_states_that_are_later_and_later_are_refused_for_as_long_as_they_are(source):
    assert all(source.give(q=Q + 1e-6 * i, on_its_way=0.0) for i in range(10))
    for i in range(1, 2000):  # nothing for 0.2 s; then what has piled up, as it was sent
        late = min(0.2 + 1e-3 * i, 0.5)
        assert not source.give(q=Q, after=0.2 if i == 1 else 0.001, on_its_way=late - 1e-3)


def test_clocks_that_drift_apart_make_no_state_late(source):
    for i in range(6000):  # 300 s, in which they come to differ by more than state_timeout
        assert source.give(q=Q + 1e-6 * i, after=0.05, on_its_way=5e-4 * 0.05 * i)


def test_where_the_first_state_is_says_nothing_about_the_encoder():
    source = Source()
    near = np.full(2, 1e-6)
    assert source.give(near)
    assert source.give(near, pushed=np.array([0.009, 0.0]))
    assert not source.give(near, pushed=np.array([0.0095, 0.0]))


def test_continuous_joint_may_be_anywhere():
    source = Source()
    source.validator = JointStateValidator(
        LIMIT, np.array([-1.0, -np.inf]), np.array([2.0, np.inf])
    )
    assert source.give([0.0, 1e6])
