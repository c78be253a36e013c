"""The loop's time in simulated time: never back, no leaps, the same whatever overtakes what."""

import random
import time

import pytest
from compiled import loop_clock

MS, SECOND = 1_000_000, 1_000_000_000
LEAP = SECOND // 2


def started(at: int = 5 * SECOND):
    """Return a clock that has been told the time by a joint state."""
    clock = loop_clock.Clock(True)
    assert clock.hear_stamp(at) == at
    return clock


def test_without_simulation_it_is_the_steady_clock():
    before = time.monotonic_ns()
    now = loop_clock.Clock(False).now
    assert before <= now <= time.monotonic_ns()


def test_time_begins_with_the_first_joint_state_and_goes_by_their_stamps():
    clock = loop_clock.Clock(True)
    assert clock.now == 0
    assert clock.hear_stamp(0) == 0  # a state without a stamp
    assert [clock.hear_stamp(7 * SECOND + k * MS) for k in (0, 2, 4)] == [
        7 * SECOND + k * MS for k in (0, 2, 4)
    ]


def test_a_time_on_the_clock_counts_with_the_next_one():
    clock = started()
    assert clock.hear_clock(5 * SECOND + MS) == 5 * SECOND
    assert clock.ros_time == 5 * SECOND + MS
    assert clock.hear_clock(5 * SECOND + MS) == 5 * SECOND  # it is repeated: the clock stands
    assert clock.hear_clock(5 * SECOND + 2 * MS) == 5 * SECOND + MS


def test_whether_a_state_overtakes_the_clock_makes_no_difference():
    """What the cycle is told with each state, and between them, is the same in any order."""

    def told(seed: int) -> list[int]:
        clock, order = loop_clock.Clock(True), random.Random(seed)
        times = []
        for k in range(1, 200):
            stamp = 2 * MS * k
            messages = [clock.hear_clock, clock.hear_stamp]
            order.shuffle(messages)
            before = [clock.now]
            for take in messages:
                now = take(stamp)
                before.append(now)
            times.append(before[-1])
            assert set(before) <= {stamp - 2 * MS, stamp}  # a tick due at it waits for the state
        return times

    assert all(told(seed) == [2 * MS * k for k in range(1, 200)] for seed in range(20))


def test_a_state_that_is_older_than_the_clock_takes_no_time_back():
    clock = started()
    clock.hear_clock(5 * SECOND + 30 * MS)
    assert clock.hear_stamp(5 * SECOND + 10 * MS) == 5 * SECOND + 10 * MS
    assert clock.hear_stamp(5 * SECOND + 4 * MS) == 5 * SECOND + 10 * MS
    assert clock.hear_stamp(5 * SECOND + 40 * MS) == 5 * SECOND + 40 * MS


def test_a_clock_that_stands_lets_no_time_pass():
    clock = started()
    clock.hear_clock(5 * SECOND)
    time.sleep(0.01)
    assert clock.now == 5 * SECOND
    assert [clock.hear_clock(5 * SECOND) for _ in range(5)] == [5 * SECOND] * 5


@pytest.mark.parametrize("to", [-3 * SECOND, 0, SECOND, 60 * SECOND, 2_000_000_000 * SECOND])
def test_time_goes_on_where_the_clock_is_set(to):
    clock = started()
    clock.hear_clock(5 * SECOND)
    for k in range(6):
        clock.hear_clock(to + 2 * MS * k)
    passed = clock.now - 5 * SECOND
    ahead = to > 5 * SECOND
    assert passed == (LEAP if ahead else 0) + 4 * MS  # two of these six, and the first counts later
    assert clock.ros_time == to + 10 * MS


@pytest.mark.parametrize("wrong", [0.0, 1e-3, 4.3, 9.0, 1.7e9, -2.0])
@pytest.mark.parametrize("in_a_row", [1, 2])
def test_wrong_stamps_now_and_then_tell_no_time(wrong, in_a_row):
    clock = started()
    for k in range(1, 100):
        stamp = 5 * SECOND + 2 * MS * k
        if k % 20 < in_a_row:
            before = clock.now
            clock.hear_stamp(round(wrong * SECOND))
            assert clock.now == before
        else:
            assert clock.hear_stamp(stamp) == stamp


def test_two_owners_of_time_do_not_make_it_run_away():
    clock = started(SECOND)
    for k in range(100):
        clock.hear_clock(SECOND + MS * k)
        clock.hear_clock(500 * SECOND + MS * k)
    assert clock.now <= SECOND + 99 * MS
    assert clock.leapt == 100


def test_the_source_of_time_changes_without_a_step():
    clock = loop_clock.Clock(False)
    before = clock.now
    assert 0 <= clock.follow(True) - before < SECOND
    standing = clock.now
    clock.hear_clock(12 * SECOND)
    assert clock.hear_clock(12 * SECOND + 5 * MS) == standing
    assert clock.hear_clock(12 * SECOND + 9 * MS) == standing + 5 * MS
    assert 0 <= clock.follow(False) - (standing + 5 * MS) < SECOND
