"""Which joint states are believed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featherstone_ros.control.state import (
    ABSURD,
    DOUBTFUL,
    JUMP,
    MOST_DOUBT,
    NOT_FINITE,
    NOT_NEWER,
    TOO_FAST,
    StateGate,
    start_delay,
)

LIMIT = np.array([2.0, np.inf])
Q = np.array([0.5, -0.5])
ZERO = np.zeros(2)


class Source:
    """Feeds a gate, 1 ms from state to state unless told otherwise."""

    def __init__(self) -> None:
        self.gate = StateGate(LIMIT)
        self.now = 10.0

    def give(self, q=Q, qd=ZERO, stamp=0.0, after=0.001) -> bool:
        self.now += after
        return self.gate.accept(self.now, stamp, np.asarray(q, float), qd, 0.1, 30.0)


@pytest.fixture
def source() -> Source:
    source = Source()
    assert source.give(stamp=5.0)
    return source


def test_first_state_takes_no_time(source):
    assert source.gate.dt == 0.0
    assert source.gate.time == 0.0


def test_time_goes_by_the_stamps(source):
    assert source.give(stamp=5.02, after=0.5)
    assert source.gate.dt == pytest.approx(0.02)


def test_time_goes_by_the_arrival_without_stamps():
    source = Source()
    source.give()
    assert source.give(after=0.03)
    assert source.gate.dt == pytest.approx(0.03)


@pytest.mark.parametrize("stamp", [5.0, 4.99])
def test_duplicated_and_older_stamps_are_refused(source, stamp):
    assert not source.give(q=Q + 0.01, stamp=stamp)
    assert source.gate.refused[NOT_NEWER] == 1
    assert_allclose(source.gate.q, Q)


@pytest.mark.parametrize("stamp", [1e9, 0.001])
def test_another_clock_does_not_stop_it(source, stamp):
    assert source.give(stamp=stamp, after=0.004)
    assert source.gate.dt == pytest.approx(0.004)
    assert source.give(stamp=stamp + 0.002)
    assert source.gate.dt == pytest.approx(0.002, abs=1e-6)


def test_simulation_may_begin_at_time_zero():
    source = Source()
    source.give(stamp=0.0)
    assert source.give(stamp=0.002, after=0.5)
    assert source.gate.dt == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("start", "stamp", "now", "delay"),
    [
        (101.0, 99.998, 100.0, 1.002),  # one clock: by the state
        (101.0, 0.0, 100.0, 1.0),  # no stamp: by the clock
        (101.0, 7.0, 100.0, 1.0),  # the state's clock is another than the sender's
        (8.0, 7.0, 1.7e9, 1.0),  # both are a simulation's
        (99.0, 99.998, 100.0, -0.998),
    ],
)
def test_start_delay(start, stamp, now, delay):
    assert start_delay(start, stamp, now) == pytest.approx(delay)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("field", ["q", "qd"])
def test_what_is_not_finite_is_refused(source, bad, field):
    assert not source.give(**{field: np.array([0.5, bad])})
    assert source.gate.refused[NOT_FINITE] == 1
    assert_allclose(source.gate.q, Q)


def test_a_jump_is_refused_until_forgotten(source):
    there = Q + np.array([0.15, 0.0])
    assert not source.give(q=there)
    assert source.gate.refused[JUMP] == 1
    source.gate.forget()
    assert source.give(q=there)
    assert source.gate.dt == 0.0


def test_twice_the_velocity_limit_is_believed(source):
    assert source.give(q=Q + np.array([0.1 + 2 * 2.0 * 0.05 - 1e-6, 0.0]), after=0.05)


def test_a_jump_that_stays_is_not_believed_by_waiting(source):
    there = Q + np.array([0.3, 0.0])  # after 50 ms twice the velocity limit could lead there
    for _ in range(100):
        assert not source.give(q=there)
    assert source.gate.refused[JUMP] == 100
    assert any(source.give() for _ in range(MOST_DOUBT))


def test_a_source_that_is_often_wrong_has_to_make_up_for_it(source):
    for _ in range(3):
        assert not source.give(q=Q + 0.3)
    assert [source.give() for _ in range(4)] == [False, False, True, True]
    assert source.gate.refused[DOUBTFUL] == 2
    for _ in range(100):
        assert not source.give(qd=np.array([1e3, 0.0]))
    assert [source.give() for _ in range(MOST_DOUBT)] == [False] * (MOST_DOUBT - 1) + [True]


def test_a_single_mistake_among_good_states_costs_no_other(source):
    for _ in range(50):
        assert not source.give(q=Q + 0.3)
        assert source.give()


def test_what_is_said_after_lies_must_fit_together_even_if_it_follows_on_nothing(source):
    random = np.random.default_rng(0)
    for forgotten in range(200):
        if forgotten % 20 == 10:
            source.gate.forget()
        assert not source.give(q=Q + random.choice([-1.0, 1.0], 2) * random.uniform(0.5, 3.0, 2))
    there = Q + 0.7
    assert any(source.give(q=there) for _ in range(MOST_DOUBT + 1))
    assert_allclose(source.gate.q, there)


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_velocity_spike_is_refused(source, forgotten):
    if forgotten:
        source.gate.forget()
    assert not source.give(qd=np.array([1e3, 0.0]))
    assert source.gate.refused[TOO_FAST] == 1
    assert source.give()


def test_a_high_velocity_is_believed_if_the_positions_show_it(source):
    qd = np.array([20.0, 0.0])  # ten times the limit
    source.gate.forget()
    assert not source.give(q=Q, qd=qd)
    assert source.give(q=Q + 0.001 * qd, qd=qd)


@pytest.mark.parametrize(
    ("q", "qd"), [(Q, [1.0, 0.0]), (Q + 0.05, [0.0, 0.0])], ids=["velocity", "position"]
)
def test_the_surest_state_is_the_one_before_if_the_last_contradicts_it(source, q, qd):
    moving = np.array([0.1, -0.2])
    assert source.give(qd=moving, after=0.005)
    assert source.give(q, np.asarray(qd), after=0.005)
    surest_q, surest_qd = source.gate.surest()
    assert_allclose(surest_q, Q + 0.005 * moving)
    assert_allclose(surest_qd, moving)
    assert source.give(q, np.asarray(qd), after=0.005)  # it was right after all
    assert_allclose(source.gate.surest(), (q, qd))


def test_the_surest_state_of_a_hard_acceleration_is_the_last(source):
    qd = np.array([20.0 * 0.005, 0.0])  # 10 times the speed limit per second
    q = Q + 0.5 * 0.005 * qd
    assert source.give(q, qd, after=0.005)
    assert_allclose(source.gate.surest(), (q, qd))
    source.gate.forget()
    assert source.give(q + 1.0, qd + 3.0)
    assert_allclose(source.gate.surest(), (q + 1.0, qd + 3.0))


def test_a_velocity_limit_of_zero_is_none():
    gate = StateGate(np.zeros(2))
    assert gate.accept(1.0, 0.0, Q, np.array([5.0, 5.0]), 0.1, 30.0)


def test_velocity_is_estimated_where_there_is_none():
    source = Source()
    for i in range(200):
        assert source.give(q=Q + 0.001 * i * np.array([1.0, -0.5]), qd=None)
    assert_allclose(source.gate.qd, [1.0, -0.5], rtol=1e-3)


def test_estimated_velocity_is_low_pass_filtered():
    source = Source()
    source.give(qd=None)
    source.give(q=Q + 0.001, qd=None)
    weight = 1.0 - np.exp(-2.0 * np.pi * 30.0 * 0.001)
    assert_allclose(source.gate.qd, weight * 1.0, rtol=1e-6)


def test_estimated_velocity_begins_at_rest_after_a_gap():
    source = Source()
    for i in range(50):
        source.give(q=Q + 0.001 * i, qd=None)
    source.gate.forget()
    source.give(q=ZERO, qd=None)
    assert_allclose(source.gate.qd, 0.0)


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
    source.gate = StateGate(LIMIT, np.array([-1.0, -np.inf]), np.array([2.0, np.inf]))
    if not fresh:
        assert source.give()
    assert not source.give(q, qd)
    assert source.gate.refused[reason] == 1
    assert source.give(q=Q + 0.01, qd=np.array([4.5, 35.0]))


def test_continuous_joint_may_be_anywhere():
    source = Source()
    source.gate = StateGate(LIMIT, np.array([-1.0, -np.inf]), np.array([2.0, np.inf]))
    assert source.give([0.0, 1e6])
