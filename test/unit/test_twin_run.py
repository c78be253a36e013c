"""When a twin advances: real time, pause, single steps, lockstep. Time is an argument."""

import numpy as np
import pytest
from test_twin import ARM, START

import featherstone_ros as fr
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.simulation import Noise, Twin, TwinSettings
from featherstone_ros.simulation.pacing import CATCH_UP, Pace
from featherstone_ros.simulation.run import FIRST_REPEAT, LOCKSTEP_REPEAT, Run


def make(**settings) -> Run:
    settings = TwinSettings(**{"initial_positions": START, **settings})
    return Run(Twin(fr.Model.from_urdf(ARM), settings), now=0.0)


def published(run: Run, now: float) -> int:
    return sum(1 for _ in run.tick(now))


# Pace.


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_pace_keeps_the_factor_whatever_the_jitter(factor):
    pace = Pace(0.001, factor, now=10.0)
    random = np.random.default_rng(0)
    calls = 10.0 + pace.tick * np.arange(1, 10_001) + 0.4 * pace.tick * random.uniform(size=10_000)
    counts = [len(pace.due(now)) for now in calls]
    assert sum(counts) == pytest.approx(factor * 1000 * 10_000 * pace.tick, abs=2)
    assert pace.overruns == 0


def test_pace_gives_one_period_per_punctual_call_in_spite_of_jitter():
    pace = Pace(0.001, 1.0, now=0.0)
    random = np.random.default_rng(0)
    calls = 0.001 * np.arange(1, 1001) + 0.0003 * random.uniform(size=1000)
    assert {len(pace.due(now)) for now in calls} == {1}


def test_pace_makes_good_a_short_stall_little_by_little():
    pace = Pace(0.001, 1.0, now=0.0)
    counts = [len(pace.due(0.05 + 0.001 * k)) for k in range(100)]
    assert max(counts) == 2
    assert sum(counts) == 149
    assert counts[-1] == 1
    assert pace.overruns == 0


def test_pace_tells_when_each_period_was_due():
    pace = Pace(0.001, 1.0, now=7.0)
    calls = [7.0011, 7.0021, 7.03, 7.0301, 7.0302]
    due = [now - lag for now in calls for lag in pace.due(now)]
    np.testing.assert_allclose(due, 7.0 + 0.001 * np.arange(1, len(due) + 1), atol=1e-9)
    assert len(due) == 8


def test_pace_gives_up_what_a_long_stall_missed_and_counts_it():
    pace = Pace(0.001, 1.0, now=0.0)
    counts = [len(pace.due(5.0 + 0.001 * k)) for k in range(300)]
    assert sum(counts) == pytest.approx(CATCH_UP * 1000 + 300, abs=2)
    assert pace.overruns == 1


def test_pace_as_fast_as_possible_is_one_period_per_call():
    pace = Pace(0.001, 0.0, now=0.0)
    assert pace.tick == 0.0
    assert [pace.due(0.0) for _ in range(5)] == [[0.0]] * 5


# Run.


def test_run_advances_with_real_time():
    run = make(rate=100.0, real_time_factor=2.0)
    count = sum(published(run, now) for now in 0.005 * np.arange(1, 201))
    assert count == 200
    assert run.twin.time == 2_000_000_000


def test_paused_run_repeats_its_state_and_goes_on_without_a_jump():
    run = make(rate=100.0, command_timeout=0.5)
    run.command([1.0, 1.0], now=0.0)
    run.pause(True, now=0.0)
    q = run.twin.q
    assert sum(published(run, now) for now in 0.01 * np.arange(1, 1001)) == 1000
    np.testing.assert_array_equal(run.twin.q, q)
    assert run.twin.time == 0
    run.pause(False, now=10.0)
    assert published(run, 10.01) == 1
    assert run.twin.time == 10_000_000
    assert not run.twin.is_braked


def test_step_advances_a_paused_run_only():
    run = make(rate=100.0)
    with pytest.raises(FeatherstoneError, match="pause"):
        run.step(5, now=0.0)
    assert run.twin.time == 0
    run.pause(True, now=0.0)
    run.step(5, now=0.0)
    assert run.twin.time == 5_000_000


def test_lockstep_advances_one_period_per_command_and_only_so():
    run = make(rate=100.0, lockstep=True)
    for k in range(1, 6):
        assert published(run, now=100.0 * k) == 1
        assert run.twin.time == (k - 1) * 10_000_000
        assert run.command([0.0, 0.0], now=100.0 * k)
        assert run.twin.time == k * 10_000_000


def test_lockstep_repeats_a_state_only_if_no_command_comes():
    run = make(rate=100.0, lockstep=True)
    assert published(run, now=0.02) == 1
    assert run.command([0.0, 0.0], now=0.03)
    counts = [published(run, now=0.03 + 0.02 * k) for k in range(1, 26)]
    assert sum(counts) == 0.5 // LOCKSTEP_REPEAT
    assert not any(counts[: int(LOCKSTEP_REPEAT / 0.02) - 1])


def test_lockstep_repeats_the_first_state_slower():
    run = make(rate=100.0, lockstep=True)
    times = [now for now in 0.02 * np.arange(1, 101) if published(run, now)]
    np.testing.assert_allclose(np.diff(times), FIRST_REPEAT, atol=0.021)
    assert len(times) == 4


def test_refused_command_does_not_advance_lockstep():
    run = make(lockstep=True)
    with pytest.raises(ValueError):
        run.command([np.nan, 0.0], now=0.0)
    assert run.twin.time == 0


def test_lockstep_is_reproducible_bit_for_bit_whatever_the_real_time():
    noise = Noise(position=1e-4, velocity=1e-3, effort=1e-2, seed=3)
    random = np.random.default_rng(1)

    def record(times: np.ndarray) -> list[bytes]:
        run = make(lockstep=True, noise=noise, command_timeout=0.1, wrench_timeout=0.02)
        rows = []
        for k, now in enumerate(times):
            published(run, now)
            if k == 10:
                run.twin.apply_wrench("tool", np.ones(6))
            q, qd = run.twin.position, run.twin.velocity
            run.command(-20 * (q - START) - 2 * qd + [np.sin(k), 0], now)
            rows.append(np.r_[run.twin.time, run.twin.position, run.twin.effort].tobytes())
        return rows

    steady = record(0.001 * np.arange(500))
    erratic = record(np.cumsum(random.exponential(0.5, size=500)))
    assert steady == erratic


def test_command_after_a_fault_is_not_answered():
    run = make(lockstep=True, rate=10.0, time_step=0.1, damping=5.0, hold_until_command=False)
    run.twin.set_state(START, [1.0, 1.0])
    answers = [run.command([0.0, 0.0], now=0.0) for _ in range(1000)]
    assert run.twin.fault
    assert answers[0]
    assert not answers[-1]
    assert published(run, now=1e6) == 0


def test_reset_of_a_run_starts_time_and_brakes_again():
    run = make(rate=100.0)
    run.command([1.0, 1.0], now=0.0)
    for now in 0.01 * np.arange(1, 11):
        published(run, now)
    run.reset(now=0.1)
    assert run.twin.time == 0
    assert run.twin.is_braked
    np.testing.assert_array_equal(run.twin.q, START)
    assert published(run, 0.11) == 1
