"""Each check finds its fault, and nothing in an episode without faults."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from arm import BRAKING, WRONG_COMMANDS, arm
from checks import Traffic, judge
from episodes import SPEED

panda = partial(arm, "panda")
COUNT = 400
BEGIN, END = 100, 150  # of the fault


@pytest.fixture
def calm() -> Traffic:
    """An arm that rests at home, one command per state, a desired position every fourth."""
    n = panda().model.n
    number = np.arange(COUNT)
    return Traffic(
        q=np.tile(panda().home, (COUNT, 1)),
        qd=np.zeros((COUNT, n)),
        effort=np.ones((COUNT, n)),
        command=np.ones((COUNT, n)),
        command_time=number * panda().period,
        command_index=number,
        command_process=np.zeros(COUNT, int),
        given_index=number,
        desired=np.tile(panda().home, (COUNT // 4, 1)),
        desired_index=number[::4],
        fault_begin=BEGIN,
        fault_end=END,
        spoiled=0,
    )


def test_calm_episode_is_without_fault(calm):
    figures = judge(calm, panda(), at_rest=True)
    assert figures.faults == []
    assert figures.step == figures.sag == figures.beyond == 0.0
    assert figures.recovery <= 4 * panda().period


def faults(traffic: Traffic) -> str:
    return "; ".join(judge(traffic, panda(), at_rest=True).faults)


def test_step_of_a_command(calm):
    calm.command[BEGIN:] += 1.01 * panda().torque_step
    assert faults(calm) == "torque step 1.01 times the rate limit's"


def test_first_command_after_a_restart(calm):
    calm.command_process[END:] = 1
    calm.command[END:] += 2.0 * panda().torque_step
    assert faults(calm) == "first command 2.00 steps from what held the arm"
    calm.effort[END - 5 : END] += 2.0 * panda().torque_step  # the brakes carry it
    assert faults(calm) == ""


def test_first_command_after_the_drives_stood_still(calm):
    """No states, commands that nobody took, and the next state: the brakes held the arm."""
    calm.command_index = np.concatenate(
        [np.arange(END), np.full(60, END - 1), np.arange(END, COUNT - 60)]
    )
    calm.effort[END - 5 : END + 5] += 2.0 * panda().torque_step
    calm.command[END + 60 :] += 2.0 * panda().torque_step
    assert faults(calm) == ""
    calm.command[END + 80 :] += 2.0 * panda().torque_step
    assert "torque step 2.00 times the rate limit's" in faults(calm)


def test_command_that_is_not_finite(calm):
    calm.command[BEGIN, 2] = np.nan
    assert "not finite" in faults(calm)


def test_effort_beyond_its_limit_unless_the_brakes_are_on(calm):
    calm.effort[BEGIN, 0] = 88.0
    assert faults(calm) == "effort beyond its limit"
    kept = (calm.given_index < BEGIN - 20) | (calm.given_index > BEGIN)
    assert faults(replace(calm, given_index=calm.given_index[kept])) == ""


def test_position_limits(calm):
    calm.q[BEGIN:] = calm.q[BEGIN:].copy()
    calm.q[BEGIN, 0] = panda().model.upper[0] + 1.2 * panda().compliance(1.0)[0]
    assert "1.20 of the stops' compliance" in faults(calm)


def test_speed(calm):
    calm.qd[BEGIN] = 1.1 * SPEED * panda().model.velocity_limit
    assert f"{1.1 * SPEED:.2f} times the speed limit" in faults(calm)


def test_speed_of_an_arm_whose_drives_kept_a_command_for_too_long(calm):
    """Ten periods at full effort explain so much and no more, and only if commands were lost."""
    lost = (calm.given_index > BEGIN) & (calm.given_index < BEGIN + 10)
    traffic = replace(calm, given_index=calm.given_index[~lost])
    limit = SPEED * panda().model.velocity_limit
    for share, excused in ((0.9, True), (1.1, False)):
        traffic.qd[BEGIN + 10] = limit + share * 10.0 * panda().period * panda().surge
        figures = judge(traffic, panda(), at_rest=True, loses_commands=True)
        assert not any("speed" in fault for fault in figures.faults) == excused
        assert any("speed" in fault for fault in judge(traffic, panda(), at_rest=True).faults)


def test_arm_that_raced_may_stand_as_a_fault(calm):
    """No desired state any more; without a race that is no recovery."""
    spoken = calm.desired_index < END
    traffic = replace(calm, desired=calm.desired[spoken], desired_index=calm.desired_index[spoken])
    assert judge(traffic, panda(), at_rest=False).recovery == np.inf
    traffic.qd[BEGIN] = 1.5 * panda().model.velocity_limit
    traffic.qd[END : END + 60] = 0.1
    coasted = panda().coasting * np.log(1.5)
    recovery = judge(traffic, panda(), at_rest=False).recovery
    assert recovery == pytest.approx(60 * panda().period - coasted)
    traffic.qd[-2] = 0.1
    assert judge(traffic, panda(), at_rest=False).recovery == np.inf


def test_sag_of_an_arm_at_rest(calm):
    knock = panda().knock(WRONG_COMMANDS * panda().period)
    calm.q[BEGIN : BEGIN + 10, 1] += 1.1 * knock
    assert f"sag {1100 * knock:.0f} mrad" in faults(calm)


def test_sag_leaves_out_what_a_last_state_that_lied_may_do(calm):
    """The controller falls silent; a step of the last command speeds joint 2 up, or twice of it."""
    silent = (calm.desired_index > BEGIN) & (calm.desired_index < BEGIN + 80)
    kept = {"desired": calm.desired[~silent], "desired_index": calm.desired_index[~silent]}
    time = np.minimum(np.arange(80) * panda().period, BRAKING)
    for steps, sagged in ((1.0, False), (2.0, True)):
        traffic = replace(calm, q=calm.q.copy(), **kept)
        traffic.q[BEGIN : BEGIN + 80, 1] += 0.5 * steps * panda().jolt[1] * time**2
        assert any("sag" in fault for fault in judge(traffic, panda(), True, True).faults) == sagged
        assert any("sag" in fault for fault in judge(traffic, panda(), True, False).faults)


def test_sag_leaves_out_the_way_of_braking(calm):
    """The controller falls silent; the arm brakes evenly from 1 rad/s, or goes on."""
    silent = (calm.desired_index > BEGIN) & (calm.desired_index < BEGIN + 80)
    time = np.arange(80) * panda().period
    for stop, sagged in ((2 * BRAKING, False), (np.inf, True)):
        traffic = replace(
            calm,
            q=calm.q.copy(),
            qd=calm.qd.copy(),
            desired=calm.desired[~silent],
            desired_index=calm.desired_index[~silent],
        )
        until = np.minimum(time, stop)
        traffic.q[BEGIN : BEGIN + 80, 0] += until - until**2 / (2.0 * stop)
        traffic.qd[BEGIN - 10 : BEGIN + 80, 0] = 1.0
        traffic.q[BEGIN + 80 :, 0] += traffic.q[BEGIN + 79, 0] - traffic.q[0, 0]
        traffic.desired[traffic.desired_index >= BEGIN + 80] = traffic.q[-1]
        assert ("sag" in faults(traffic)) == sagged


def test_recovery_is_when_the_arm_tracks_for_good(calm):
    calm.desired[(calm.desired_index >= END) & (calm.desired_index < END + 100)] += 0.011
    assert judge(calm, panda(), at_rest=False).recovery == pytest.approx(
        100 * panda().period, abs=0.02
    )
    calm.desired[:] += 0.1
    assert "recovery inf s" in faults(calm)


def test_silence_is_no_recovery(calm):
    spoken = calm.desired_index < END + 20
    traffic = replace(calm, desired=calm.desired[spoken], desired_index=calm.desired_index[spoken])
    assert "recovery inf s" in faults(traffic)


@pytest.mark.parametrize(("speed", "returns"), [(0.2, True), (-0.2, False), (0.4, False)])
def test_a_posture_that_its_spring_alone_moves_has_recovered(calm, speed, returns):
    """The spring moves a joint that is .3 rad away by no more than 1.1 rad/s times that."""
    calm.q[BEGIN:, 0] -= 0.3
    calm.qd[BEGIN:, 0] = speed
    recovery = judge(calm, panda().led(True), at_rest=False).recovery
    assert recovery == (0.0 if returns else np.inf)


def test_a_command_that_the_drives_keep_moves_the_arm_by_the_square_of_the_time():
    kept = np.array([0.01, 0.2])
    way = [panda().knock(time) - panda().overshoot * time for time in kept]
    np.testing.assert_allclose(way, 0.5 * panda().surge.max() * kept**2)
