"""The controller's time, and which joint states are old or late: class 1 of docs/faults.md."""

import numpy as np
import pytest
from compiled import control_parts

IN_TIME, OLD, LATE = 0, 2, 7  # in the order of Rejection
PERIOD = 0.001  # [s]
TIMEOUT = 0.1  # [s] that a state may be on its way


class Source:
    """States with stamps, or without, on a clock that has seen one at stamp 5."""

    def __init__(self, first: float = 5.0) -> None:
        self.clock, self.now = control_parts.JointStateClock(TIMEOUT), 10.0
        assert self.give(first) == IN_TIME

    def give(self, stamp: float = 0.0, after: float = PERIOD, on_its_way: float = np.nan) -> int:
        self.now += after
        return self.clock.take(self.now, stamp, on_its_way)

    def on_their_way(self, duration: float, count: int = 10) -> list[int]:
        return [self.give(on_its_way=duration) for _ in range(count)]


def test_the_first_state_takes_no_time():
    source = Source()
    assert (source.clock.dt, source.clock.time) == (0.0, 0.0)


def test_time_goes_by_the_stamps_however_states_arrive():
    source, random = Source(), np.random.default_rng(3)
    for stamp in 5.0 + np.cumsum(random.uniform(1e-4, 0.4, 100)):
        before = source.clock.time
        assert source.give(stamp, random.uniform(0.0, 0.4)) == IN_TIME
        assert source.clock.time == pytest.approx(stamp - 5.0, abs=1e-12)
        assert source.clock.dt == pytest.approx(source.clock.time - before, abs=1e-9)


@pytest.mark.parametrize("ahead", [0.02, 0.09, 0.17, 0.4])
def test_a_clock_that_is_set_ahead_takes_no_time(ahead):
    """Where it is known how long states are on their way."""
    source = Source()
    for k in range(1, 40):
        shift = ahead if k >= 20 else 0.0
        assert source.give(5.0 + k * PERIOD + shift, on_its_way=1e-4 - shift) == IN_TIME
        assert source.clock.dt == pytest.approx(PERIOD, abs=1e-9)
    assert source.clock.time == pytest.approx(39 * PERIOD, abs=1e-9)


def test_time_goes_by_the_arrival_without_stamps():
    source = Source(0.0)
    for after in (0.02, 0.001, 0.3, 2.0):
        assert source.give(after=after) == IN_TIME
        assert source.clock.dt == pytest.approx(after)
    assert source.clock.time == pytest.approx(2.321)


def test_states_that_arrive_at_once_take_some_time_nevertheless():
    source = Source(0.0)
    assert source.give(after=0.0) == IN_TIME
    assert 0.0 < source.clock.dt < 1e-5


def test_stamps_that_come_and_go_leave_no_leap_in_time():
    source, arrived = Source(), 10.0 + PERIOD
    for k in range(300):
        source.give(5.0 + 2e-3 * (k + 1) if k // 50 % 2 else 0.0, after=2e-3)
        assert source.clock.time == pytest.approx(source.now - arrived, abs=1e-9)


def test_a_simulation_may_begin_at_time_zero():
    source = Source(0.0)
    assert source.give(0.01, after=0.5) == IN_TIME
    assert source.clock.dt == pytest.approx(0.01)


def test_rounding_errors_of_stamps_do_not_add_up():
    """Seconds since 1970 have 0.2 microseconds left."""
    begin = 1.7e9
    source = Source(begin)
    for k in range(1, 100_001):
        source.give(begin + 1e-3 * k)
    assert source.clock.time == pytest.approx(100.0, abs=1e-6)


@pytest.mark.parametrize("stamp", [5.0, 4.99, 4.53])
def test_doubled_and_older_stamps_are_old(stamp):
    source = Source()
    assert source.give(stamp) == OLD
    assert source.clock.time == 0.0
    assert source.give(5.001) == IN_TIME


def test_of_states_in_any_order_those_count_that_are_newer_than_all_before():
    source, random = Source(), np.random.default_rng(4)
    newest = 5.0
    for k in range(1, 500):
        stamp = 5.0 + 1e-3 * (k + random.integers(-20, 20))
        assert source.give(stamp) == (IN_TIME if stamp > newest else OLD)
        newest = max(newest, stamp)
        assert source.clock.time == pytest.approx(newest - 5.0, abs=1e-9)


def test_a_stamp_is_old_after_that_of_a_late_state_too():
    source = Source()
    for k in range(1, 6):
        assert source.give(5.0 + 1e-3 * k, on_its_way=0.0) == IN_TIME
    assert source.give(5.010, on_its_way=0.3) == LATE
    assert source.give(5.009, on_its_way=0.0) == OLD
    assert source.give(5.011, on_its_way=0.0) == IN_TIME


@pytest.mark.parametrize(
    ("leap", "dt"), [(0.47, 0.47), (0.53, PERIOD), (-0.53, PERIOD), (1e9, PERIOD), (-4.999, PERIOD)]
)
def test_stamps_within_half_a_second_are_of_one_clock(leap, dt):
    """A leap by more is a clock that was set: such states go by their arrival."""
    source = Source()
    assert source.give(5.0 + leap) == IN_TIME
    assert source.clock.dt == pytest.approx(dt, abs=1e-9)
    assert source.clock.time == pytest.approx(dt, abs=1e-9)
    assert source.give(5.0 + leap + 0.002) == IN_TIME
    assert source.clock.dt == pytest.approx(0.002, abs=1e-6)


# On the way


@pytest.mark.parametrize("offset", [0.0, -37.0, 1e6])
@pytest.mark.parametrize(("more", "judged"), [(0.06, IN_TIME), (0.098, IN_TIME), (0.102, LATE)])
def test_a_state_is_late_that_was_longer_on_its_way_than_others(offset, more, judged):
    """Whatever the difference of the two computers' clocks."""
    source = Source()
    assert set(source.on_their_way(offset + 0.001)) == {IN_TIME}
    assert source.give(after=0.2, on_its_way=offset + 0.001 + more) == judged


def test_nothing_is_late_that_has_no_stamp():
    source = Source(0.0)
    assert source.give(after=10.0) == IN_TIME


@pytest.mark.parametrize("before", [0, 1, 10])
def test_a_stamp_ahead_of_its_time_makes_no_later_state_late(before):
    source = Source()
    assert set(source.on_their_way(0.001, before)) <= {IN_TIME}
    source.give(on_its_way=-0.4)
    assert set(source.on_their_way(0.001)) == {IN_TIME}
    assert source.give(on_its_way=0.15) == LATE


def test_stamps_that_are_wrong_now_and_then_hide_no_late_state():
    source = Source()
    for _ in range(4):
        assert set(source.on_their_way(0.001, 5)) == {IN_TIME}
        assert source.give(on_its_way=0.4) == LATE
    assert source.give(after=0.2, on_its_way=0.19) == LATE


def test_a_clock_that_is_set_forward_is_believed():
    source = Source()
    assert set(source.on_their_way(0.001) + source.on_their_way(-0.4)) == {IN_TIME}
    assert source.give(on_its_way=-0.25) == LATE


@pytest.mark.parametrize("ahead", [0.15, 0.3, 0.45, 3600.0])
def test_a_clock_that_is_set_back_makes_two_states_late(ahead):
    """A driver's computer that had no time yet; a delay cannot grow by more than the time."""
    source = Source()
    assert set(source.on_their_way(-ahead)) == {IN_TIME}
    assert source.on_their_way(0.001, 6) == [LATE] * 2 + [IN_TIME] * 4
    assert source.give(after=0.2, on_its_way=0.19) == LATE


def test_states_behind_a_stamp_of_a_clock_that_was_set_back_are_old_until_it_is_reached():
    source = Source(50.0)
    for k in range(1, 10):
        assert source.give(50.0 + k * PERIOD, on_its_way=0.0) == IN_TIME
    assert {source.give(49.71 + k * PERIOD, on_its_way=0.3) for k in range(290)} == {OLD}
    assert {source.give(50.01 + k * PERIOD, on_its_way=0.3) for k in range(10)} == {IN_TIME}


@pytest.mark.parametrize("back", [0.02, 0.04, 0.09])
def test_time_goes_on_by_the_arrival_when_a_clock_was_set_back_by_little(back):
    source = Source()
    for k in range(1, 20):
        assert source.give(5.0 + k * PERIOD, on_its_way=-0.2) == IN_TIME
    old = [source.give(5.0 + k * PERIOD - back, on_its_way=back - 0.2) for k in range(20, 150)]
    assert set(old[: round(back / PERIOD) - 1]) == {OLD}
    assert set(old[round(back / PERIOD) :]) == {IN_TIME}
    assert source.clock.time == pytest.approx(149 * PERIOD, abs=1e-9)


def test_time_goes_on_by_the_arrival_after_older_states_in_any_order():
    """For longer than a state may be late."""
    source, random = Source(), np.random.default_rng(7)
    for back in random.uniform(0.0, 0.09, 110):
        assert source.give(5.0 - back, on_its_way=0.1) == OLD
    assert source.give(5.0 + PERIOD, on_its_way=0.1) == IN_TIME
    assert source.clock.time == pytest.approx(111 * PERIOD, abs=1e-9)


def test_a_state_out_of_order_leaves_the_time_to_the_stamps():
    source = Source()
    assert source.give(5.02, 0.02, 0.0) == source.give(5.06, 0.04, 0.0) == IN_TIME
    assert source.give(5.04, 0.001, 0.0) == OLD
    assert source.give(5.08, 0.02, 0.0) == IN_TIME
    assert source.clock.time == pytest.approx(0.08, abs=1e-12)
    assert source.clock.dt == pytest.approx(0.02, abs=1e-9)


def test_states_that_have_piled_up_are_late_for_as_long_as_they_are():
    """Nothing for 0.2 s; then all that was sent, later and later."""
    source = Source()
    source.on_their_way(0.0)
    for k in range(1, 2000):
        late = min(0.2 + PERIOD * k, 0.5)
        assert source.give(after=0.2 if k == 1 else PERIOD, on_its_way=late - PERIOD) == LATE
    assert set(source.on_their_way(0.0)) == {IN_TIME}


@pytest.mark.parametrize("drift", [9e-4, -9e-4])
def test_clocks_that_drift_apart_make_no_state_late(drift):
    """300 s, in which they come to differ by more than a state may be late."""
    source = Source()
    assert {source.give(after=0.05, on_its_way=drift * 0.05 * k) for k in range(6000)} == {IN_TIME}


def test_random_delays_below_the_bound_make_no_state_late():
    source, random = Source(), np.random.default_rng(5)
    for _ in range(5000):
        assert source.give(after=0.005, on_its_way=random.uniform(0.0, 0.098)) == IN_TIME
