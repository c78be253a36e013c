"""When a twin advances: real time, pause, single steps, lockstep. Time is an argument."""

import time
from dataclasses import replace

import numpy as np
import pushed_twin
import pytest
from cdr_messages import float64_multi_array, joint_state
from compiled import codec
from pushed_twin import ARM, START, apply_wrench, set_state

import featherstone_ros as fr
from featherstone_ros._twin import INPUTS, OUTPUTS
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.simulation import Noise, SimulatorSettings, Twin

SECOND = 1_000_000_000
LOCKSTEP_REPEAT = 0.08  # [s] between two publications of a state that nobody answers
CATCH_UP = 0.1  # [s] of real time that is made good after a stall


def make(**settings) -> Twin:
    twin = pushed_twin.make(fr.Model.from_urdf(ARM), **settings)
    twin.start(0.0)
    twin.reset(0.0)
    return twin


def stamps(published: list) -> list[float]:
    """Return the stamps [s] of the joint states among what was published."""
    decoder = codec.JointStateDecoder(["shoulder", "elbow"])
    found = []
    for output, data in published:
        if output == OUTPUTS["joint_states"]:
            decoder.decode(data)
            found.append(decoder.stamp)
    return found


def tick(twin: Twin, now: float) -> list[float]:
    """Let a twin do what is due now; return the stamps of its states, ROS time is ``now``."""
    nanoseconds = round(now * SECOND)
    if nanoseconds < twin.due:
        return []
    return stamps(twin.tick(nanoseconds, nanoseconds)[0])


def published(twin: Twin, now: float) -> int:
    return len(tick(twin, now))


def command(twin: Twin, effort: list[float], now: float, written: int = 0) -> int:
    """Send a command, published at a time of the system; return how many states answer it."""
    data = float64_multi_array(effort)
    found, _ = twin.message(INPUTS["commands"], data, round(now * SECOND), written=written)
    return len(stamps(found))


# Real time.


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_twin_keeps_the_factor_whatever_the_jitter(factor):
    twin = make(real_time_factor=factor)
    period = max(0.001, 0.001 / factor)
    random = np.random.default_rng(0)
    times = period * np.arange(1, 5001) + 0.4 * period * random.uniform(size=5000)
    count = sum(published(twin, now) for now in times)
    assert count == pytest.approx(factor * 1000 * 5000 * period, abs=2)
    assert twin.time == count * 1_000_000
    assert twin.overruns == 0


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_each_look_at_the_clock_finds_periods_that_are_due(factor):
    twin = make(real_time_factor=factor)
    counts = [published(twin, twin.due / SECOND) for _ in range(100)]
    assert set(counts) == {max(1, round(factor))}


@pytest.mark.parametrize("stall", [0.05, CATCH_UP])
def test_a_short_stall_is_made_good_little_by_little(stall):
    twin = make()
    counts = [published(twin, stall + 0.001 * k) for k in range(200)]
    assert max(counts) == 2
    assert sum(counts) == round(1000 * stall) + 199
    assert counts[-1] == 1
    assert twin.overruns == 0


def test_states_are_stamped_with_the_times_when_they_were_due():
    twin = make()
    twin.start(7.0)
    times = [7.0011, 7.0021, 7.03, 7.0305, 7.031]
    due = [stamp for now in times for stamp in tick(twin, now)]
    np.testing.assert_allclose(due, 7.0 + 0.001 * np.arange(1, len(due) + 1), atol=1e-8)
    assert len(due) == 8


def test_stamps_are_the_clocks_where_that_is_somebody_elses_time():
    twin = make(follows_ros_time=True)
    for now, expected in ((0.0014, [0.0014]), (0.0044, [0.0024, 0.0034, 0.0044])):
        np.testing.assert_allclose(tick(twin, now), expected, atol=1e-9)


def test_what_a_long_stall_missed_is_given_up_and_counted():
    twin = make()
    counts = [published(twin, 5.0 + 0.001 * k) for k in range(300)]
    assert sum(counts) == pytest.approx(CATCH_UP * 1000 + 300, abs=2)
    assert twin.overruns == 1


def test_as_fast_as_possible_is_one_period_per_call():
    twin = make(real_time_factor=0.0)
    assert twin.due == 0
    assert [published(twin, 0.0) for _ in range(5)] == [1] * 5
    assert twin.due == 0


# Pause.


def test_paused_twin_repeats_its_state_as_the_old_one_and_goes_on_without_a_jump():
    twin = make(rate=100.0, command_timeout=0.5)
    command(twin, [1.0, 1.0], now=0.0)
    (before,) = tick(twin, 0.01)
    twin.pause(True, now=0.01)
    q, time = twin.q, twin.time
    seen = [stamp for now in 0.01 * np.arange(2, 1001) for stamp in tick(twin, now)]
    assert 10 <= len(seen) <= 25  # for who comes late, and no more
    assert set(seen) == {before}
    np.testing.assert_array_equal(twin.q, q)
    assert twin.time == time
    twin.pause(False, now=10.0)
    assert published(twin, 10.01) == 1
    assert twin.time == time + 10_000_000
    assert not twin.is_braked


def test_state_that_changes_while_paused_is_published_at_once_as_a_new_one():
    twin = make(rate=100.0)
    tick(twin, 0.01)
    twin.pause(True, now=0.01)
    assert tick(twin, 0.02) == []
    state = joint_state(["shoulder", "elbow"], [0.1, 0.5])
    twin.message(INPUTS["set_state"], state, 20_000_000)
    assert tick(twin, 0.03) == [pytest.approx(0.03)]
    np.testing.assert_array_equal(twin.q, [0.1, 0.5])


def test_step_advances_a_paused_twin_only():
    twin = make(rate=100.0)
    with pytest.raises(FeatherstoneError, match="pause"):
        twin.step(5, now=0.0)
    assert twin.time == 0
    twin.pause(True, now=0.0)
    twin.step(5, now=0.0)
    assert twin.time == 5_000_000


# Lockstep.


def test_lockstep_advances_one_period_per_command_and_only_so():
    twin = make(rate=100.0, lockstep=True)
    for k in range(1, 6):
        assert published(twin, now=100.0 * k) == 1
        assert twin.time == (k - 1) * 10_000_000
        assert command(twin, [0.0, 0.0], now=100.0 * k) == 1
        assert twin.time == k * 10_000_000


def test_lockstep_waits_after_a_start_until_others_can_have_found_it():
    twin = make(rate=100.0, lockstep=True)
    twin.start(5.0)
    assert published(twin, 5.4) == 0
    assert published(twin, 5.51) == 1


def test_lockstep_repeats_a_state_only_if_no_command_comes():
    twin = make(rate=100.0, lockstep=True)
    assert published(twin, now=1.02) == 1
    assert command(twin, [0.0, 0.0], now=1.03) == 1
    counts = [published(twin, now=1.03 + 0.02 * k) for k in range(1, 26)]
    assert sum(counts) == 0.5 // LOCKSTEP_REPEAT
    assert not any(counts[: int(LOCKSTEP_REPEAT / 0.02) - 1])


def test_a_command_that_came_in_a_pause_counts_when_time_goes_on():
    """Who answered the state does not answer its repetition."""
    twin = make(rate=100.0, lockstep=True)
    published(twin, now=1.0)
    twin.pause(True, now=1.0)
    assert command(twin, [0.0, 0.0], now=1.1) == 0
    assert twin.time == 0
    twin.pause(False, now=5.0)
    assert published(twin, now=5.0) == 1
    assert twin.time == 10_000_000
    assert command(twin, [0.0, 0.0], now=5.1) == 1
    twin.pause(True, now=5.2)
    assert command(twin, [0.0, 0.0], now=5.2) == 0
    twin.step(1, now=5.3)  # a state that nobody has answered yet
    time = twin.time
    twin.pause(False, now=5.4)
    published(twin, now=5.4)
    assert twin.time == time


def test_an_answer_that_comes_again_to_a_repeated_state_counts_once():
    """Whoever was only late: its command had been sent when the state was repeated."""
    twin = make(rate=100.0, lockstep=True)
    written = time.time_ns()
    counts = [published(twin, now) for now in (1.0, 1.6, 2.2)]
    assert counts == [1, 1, 1]
    assert command(twin, [1.0, 0.0], 2.3, written) == 1
    for _ in range(2):  # as often as it was repeated
        assert command(twin, [1.0, 0.0], 2.3, time.time_ns()) == 0
    assert twin.time == 10_000_000
    assert command(twin, [1.0, 0.5], 2.3, time.time_ns()) == 1  # the other one has been lost
    assert command(twin, [1.0, 0.5], 2.3, time.time_ns()) == 1  # an arm that stands
    assert twin.time == 30_000_000


def paced(
    twin: Twin, times: np.ndarray, wait: float = 0.0, **who: bool
) -> list[tuple[float, float]]:
    """Answer each state, ``wait`` [s] later; return when each came, by the wall, and its stamp."""
    came, asked_at = [], None
    for now in times:
        at, nanoseconds = WALL + round(now * SECOND), round(now * SECOND)
        found = stamps(twin.tick(nanoseconds, at, **who)[0]) if nanoseconds >= twin.due else []
        if asked_at is not None and now >= asked_at + wait:
            data, asked_at = float64_multi_array([0.0, 0.0]), None
            found += stamps(twin.message(INPUTS["commands"], data, nanoseconds, ros_time=at)[0])
        if found:
            asked_at = now
            came += [(at / SECOND, stamp) for stamp in found]
    return came


WALL = 1_790_000_000_300_000_000  # [ns]


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_a_paced_lockstep_goes_by_the_wall_where_answers_come_in_time(factor):
    twin = make(rate=100.0, lockstep=True, paced=True, wall_time=True, real_time_factor=factor)
    times, stamped = np.transpose(paced(twin, np.arange(0.0, 3.0, 0.001))[1:])
    np.testing.assert_allclose(np.diff(stamped), 0.01, atol=1e-6)
    assert (stamped[0] - 0.01) % 0.125 == pytest.approx(0.0, abs=1e-6)
    lag = (times - times[0]) - (stamped - stamped[0]) / factor
    assert np.abs(lag).max() < 0.003
    assert abs(times[0] - stamped[0]) < 0.003 + abs(1.0 - 1.0 / factor) * 0.01


def test_a_paced_lockstep_is_slower_where_answers_are_and_then_catches_up():
    twin = make(rate=100.0, lockstep=True, paced=True, wall_time=True)
    paced(twin, np.arange(0.0, 1.0, 0.001))
    slow = np.transpose(paced(twin, np.arange(1.0, 1.8, 0.001), wait=0.02))
    assert np.diff(slow[1]) == pytest.approx(0.01, abs=1e-6)
    assert 0.3 < (slow[0] - slow[1])[-1] < 0.8
    times, stamped = np.transpose(paced(twin, np.arange(1.8, 3.0, 0.001)))
    np.testing.assert_allclose(np.diff(stamped), 0.01, atol=1e-6)
    assert abs(times[-1] - stamped[-1]) < 0.003
    assert twin.overruns == 0


def test_a_paced_lockstep_that_stood_still_makes_up_for_a_second_and_no_more():
    twin = make(rate=100.0, lockstep=True, paced=True)
    came, stamped = paced(twin, np.arange(0.0, 1.0, 0.001))[-1]
    times, later = np.transpose(paced(twin, np.arange(11.0, 15.0, 0.001)))
    lost = (times - came) - (later - stamped)
    assert lost[-1] == pytest.approx(9.0, abs=0.02)
    assert lost.min() > 9.0 - 0.02


@pytest.mark.parametrize("stall", [0.5, 4.0])
def test_time_begins_when_somebody_can_answer_and_never_leaps_from_then_on(stall):
    """However long the controller takes to start; and then to answer, on a busy machine."""
    twin = make(rate=100.0, lockstep=True, paced=True, wall_time=True)
    alone, seen = (
        np.transpose(paced(twin, np.arange(*span, 0.01), wait=np.inf, is_fed=is_fed))
        for span, is_fed in (((0.0, 20.0), False), ((20.0, 20.0 + stall), True))
    )
    assert np.abs(alone[0] - alone[1]).max() < 0.15
    np.testing.assert_array_equal(seen[1], alone[1][-1])
    times, stamped = np.transpose(paced(twin, np.arange(20.0 + stall, 24.0 + stall, 0.001)))
    assert stamped[0] == seen[1][-1]
    np.testing.assert_allclose(np.diff(stamped), 0.01, atol=1e-6)
    assert times[-1] - stamped[-1] == pytest.approx(max(stall - 1.0, 0.0), abs=0.15)


def test_settings_and_a_reset_leave_a_paced_lockstep_at_the_wall():
    twin = make(rate=100.0, lockstep=True, paced=True, wall_time=True)
    stamped = [paced(twin, np.arange(0.0, 1.0, 0.001))]
    stamped += [paced(twin, np.arange(1.0, 1.5, 0.001), wait=0.02)]  # it falls behind
    twin.use(replace(twin.settings, wrench_timeout=1.0), 1.5)
    stamped += [paced(twin, np.arange(1.5, 2.5, 0.001))]
    behind = [time - stamp for time, stamp in (part[-1] for part in stamped)]
    assert behind[1] > 0.15 and max(behind[0], behind[2]) < 0.003
    twin.reset(2.5)
    times, again = np.transpose(paced(twin, np.arange(2.5, 3.5, 0.001)))
    assert again[0] > stamped[-1][-1][1] and twin.time < SECOND
    assert abs(times[-1] - again[-1]) < 0.003


def test_refused_command_does_not_advance_lockstep():
    twin = make(lockstep=True)
    assert command(twin, [np.nan, 0.0], now=0.0) == 0
    assert twin.time == 0
    assert twin.refused == 1


def test_lockstep_is_reproducible_bit_for_bit_whatever_the_real_time():
    noise = Noise(position=1e-4, velocity=1e-3, effort=1e-2, seed=3)
    random = np.random.default_rng(1)

    def record(times: np.ndarray) -> list[bytes]:
        twin = make(lockstep=True, noise=noise, command_timeout=0.1, wrench_timeout=0.02)
        rows = []
        for k, now in enumerate(times):
            published(twin, now)
            if k == 10:
                apply_wrench(twin, "tool", np.ones(6))
            q, qd = twin.position, twin.velocity
            command(twin, list(-20 * (q - START) - 2 * qd + [np.sin(k), 0]), now)
            rows.append(np.r_[twin.time, twin.position, twin.effort].tobytes())
        return rows

    steady = record(0.001 * np.arange(500))
    erratic = record(np.cumsum(random.exponential(0.5, size=500)))
    assert steady == erratic


def test_fault_is_recorded_once_until_a_reset():
    twin = make(rate=10.0, time_step=0.1, viscous=5.0, integrator="rk4", hold_until_command=False)
    set_state(twin, START, [1.0, 1.0])

    def faults(first: float) -> int:
        ticks = (twin.tick(round((first + 0.1 * k) * SECOND)) for k in range(1000))
        return sum(len(records) for _, records in ticks)

    assert faults(0.0) == 1
    assert twin.due == 2**63 - 1
    twin.reset(100.0)
    assert twin.fault == ""
    set_state(twin, START, [1.0, 1.0])
    assert faults(100.0) == 1


def test_clock_is_published_before_each_state_with_its_stamp():
    model = fr.Model.from_urdf(ARM)
    twin = Twin(model, SimulatorSettings(rate=100.0, simulation_stamps=True), clock=True)
    twin.start(0.0)
    (clock, state), _ = twin.tick(10_000_000)
    assert (clock[0], state[0]) == (OUTPUTS["clock"], OUTPUTS["joint_states"])
    assert clock[1] == b"\0\1\0\0" + bytes(4) + (10_000_000).to_bytes(4, "little")
    assert stamps([state]) == [0.01]
