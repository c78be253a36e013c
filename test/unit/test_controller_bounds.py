"""Bounds of the controller, just within and just beyond, and what no longer counts."""

import cdr_messages
import control_arm
import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench
from control_loop import LoopBench
from numpy.testing import assert_allclose

import featherstone_ros as fr
from featherstone_ros._enumerations import NoteKind
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.reasons import REJECTIONS
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point


def test_states_that_are_not_believed_are_told_of_ten_times_a_second():
    bench = LoopBench(state_timeout=2.0).start()
    bench.records.clear()
    for _ in range(1000):
        bench.now += PERIOD
        bench.message(cdr_messages.joint_state(NAMES, [np.nan, 0.0]))
    told = [values for kind, _, values in bench.records if kind == NoteKind.REJECTED]
    assert 9 <= len(told) <= 11
    assert {REJECTIONS[int(values[0])] for values in told} == {"not finite"}


@pytest.mark.parametrize(("periods", "stood_still"), [(2.9, False), (3.1, True)])
def test_a_process_that_stood_still_reads_what_came_meanwhile_before_it_judges(
    periods, stood_still
):
    bench = Bench().start()
    period = bench.settings.period
    for _ in range(round(bench.settings.state_timeout / period) - 1):
        bench.now += period
        bench.update()
    bench.now += periods * period
    bench.update()
    assert bench.controller.phase is (Phase.HOLDING if stood_still else Phase.OPEN_LOOP)
    bench.now += 0.1 * period
    bench.update()
    assert bench.controller.phase is Phase.OPEN_LOOP


@pytest.mark.parametrize(("speed", "ends"), [(0.019, True), (0.021, False)])
def test_an_arm_stands_below_a_fiftieth_of_its_speed_limit(monkeypatch, speed, ends):
    """Until then commands go on after deactivation."""
    urdf = control_arm.URDF.replace('velocity="3"', 'velocity="1"')
    monkeypatch.setattr(control_arm, "URDF", urdf)
    bench = Bench(path_tolerance=0.0).start()
    bench.controller.deactivate(bench.now)
    q = bench.arm.q  # stop_time and give_up_after last 1.25 s
    for _ in range(1400):
        bench.now, bench.stamp, q = bench.now + PERIOD, bench.stamp + PERIOD, q + PERIOD * speed
        bench.arm.set_state(q, [speed, speed])
        bench.state()
    assert bench.controller.phase is (Phase.INACTIVE if ends else Phase.SETTLING)


def test_a_hold_without_a_place_shows_neither_acceleration_nor_effort():
    """What was desired a moment before is no longer."""
    bench = Bench().start()
    point = Point(1.0, bench.arm.q + 0.4, np.zeros(2), effort=[3.0, 3.0])
    bench.controller.set_trajectory(bench.now, NAMES, [point])
    bench.run(0.25)
    assert np.abs(bench.compiled.desired[2:]).min() > 0.1
    bench.controller.fall_back(bench.now)
    bench.run(bench.settings.stop_time + PERIOD)  # the motion comes to rest first
    assert bench.controller.phase is Phase.DAMPED
    assert not bench.compiled.desired[2:].any()


@pytest.mark.parametrize("effort", [np.inf, 1e9, 5.0])
def test_without_effort_limits_no_measured_effort_is_sure_to_hold_the_arm(effort):
    bench = Bench(effort_limit=np.full(2, np.inf))
    bench.effort = np.array([effort, 0.0])
    bench.controller.activate(bench.now)
    bench.run(PERIOD)
    assert_allclose(bench.commands[0][1], bench.gravity(), rtol=1e-3)


def test_a_payload_is_taken_on_while_states_are_missing():
    bench = Bench().start()
    loaded = bench.model.with_payload(bench.model.link_names[-1], 1.0, [0.0, 0.0, 0.1])
    bench.controller.change_model(bench.now, loaded, 0.5)
    bench.run(0.8, states=False)
    assert bench.controller.phase is Phase.OPEN_LOOP
    empty, full = (fr.Dynamics(model).gravity(bench.compiled.desired[0])
                   for model in (bench.model, loaded))  # fmt: skip
    assert np.abs(full - empty).max() > 0.5
    assert_allclose(bench.commands[-1][1], full, rtol=1e-6)


# What a position that stays the same to the bit says


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize(("distance", "is_at_stop"), [(0.0009, True), (0.0011, False)])
def test_a_joint_that_is_pushed_against_its_stop_is_not_frozen(distance, is_at_stop, side):
    bench = Bench(p=np.array([1e4, 20.0]))
    q = np.array([side * (2.9 - distance), 0.5])
    bench.arm.reset(q)
    bench.start()
    for _ in range(300):
        if bench.controller.phase is Phase.OPEN_LOOP:
            break
        bench.pass_time()
        bench.set_point(Point(0.0, [side * 2.9, q[1]]))
        bench.arm.set_state(q, np.zeros(2))
        bench.state()
    assert (bench.controller.phase is Phase.REFERENCE) == is_at_stop


@pytest.mark.parametrize("share", [0.95, 1.1])
@pytest.mark.parametrize(("coulomb", "stiction"), [(0.0, 2.0), (0.5, 1.7)])
@pytest.mark.parametrize("mode", [Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE])
def test_a_joint_that_more_than_its_stiction_pushes_moves(mode, coulomb, stiction, share):
    """A tenth of the effort limit of 20 N m; of known friction 3 times, and a hundredth of it.

    In computed torque the feedback is an acceleration, of links and rotors.
    """
    rotors, friction = np.array([0.0, 0.5]), np.full(2, coulomb)
    bench = Bench(mode=mode, p=np.full(2, 1000.0), coulomb=friction, armature=rotors).start()
    q, push = bench.arm.q, share * stiction - coulomb  # whose friction is added
    if mode is Mode.COMPUTED_TORQUE:
        push /= fr.Dynamics(bench.model).crba(q)[1, 1] + rotors[1]
    place = q + np.array([0.0, 1e-3 * push])
    zero = np.zeros(2)  # slowly: what accelerates the joint pushes, too
    bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, place, zero, zero)])
    for _ in range(2500):
        if bench.controller.phase is Phase.OPEN_LOOP:
            break
        bench.give(q)
    assert (bench.controller.phase is Phase.OPEN_LOOP) == (share > 1.0)
    assert ("'elbow' stays the same" in bench.controller.hold_reason) == (share > 1.0)


def test_a_stamp_that_leaps_is_no_long_time_between_states():
    bench = Bench().start()
    bench.stamp += 0.3  # longer than state_timeout
    bench.run(0.01, timer=False)
    bench.give(bench.arm.q + np.array([0.6, 0.0]))
    assert bench.controller.refused == {"position out of reach": 1}
    assert bench.controller.phase is Phase.HOLDING


def test_an_open_loop_stop_that_begins_late_is_not_far_ahead_of_the_arm():
    """It reckons for state_timeout and a period at most, however late the controller looks."""
    bench = Bench().start()
    goal = bench.arm.q + np.array([0.8, -0.8])
    bench.move(goal, 1.0)
    bench.run(0.3)
    place, speed = bench.arm.q, np.abs(bench.arm.qd)
    assert speed.min() > 0.5
    while bench.controller.phase is not Phase.OPEN_LOOP:
        bench.now += 0.3
        bench.update()
    ahead = np.abs(bench.compiled.desired[0] - place)
    assert (ahead < 0.15 * speed + 0.1).all()


def test_without_blind_stop_the_hold_is_damped_at_first_and_then_no_longer():
    bench = Bench(blind_stop=False).start()
    goal = bench.arm.q + np.array([0.8, -0.8])
    bench.move(goal, 1.0)
    bench.run(0.3)
    q, qd = bench.compiled.q, bench.arm.qd
    damping = []
    for _ in range(500):
        bench.now += PERIOD
        bench.update()
        if bench.controller.phase is Phase.OPEN_LOOP:
            damping.append(bench.controller.snapshot().asked - fr.Dynamics(bench.model).gravity(q))
    damping = np.array(damping)
    full = -bench.settings.damping * qd
    assert_allclose(damping[0], full, rtol=0.05)
    assert_allclose(damping[-1], 0.0, atol=1e-3)
