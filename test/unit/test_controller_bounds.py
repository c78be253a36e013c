"""Bounds of the controller, just within and just beyond, and what no longer counts."""

import cdr_messages
import control_arm
import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench
from control_loop import LoopBench
from numpy.testing import assert_allclose

import featherstone_ros as fr
from featherstone_ros._control import FollowRequest
from featherstone_ros.control.events import REJECTIONS
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode, Terms
from featherstone_ros.control.trajectory import Point, Trajectory

NOTE_REJECTED = 2  # in the order of cython_core/control/events.pxd


def test_states_that_are_not_believed_are_told_of_ten_times_a_second():
    bench = LoopBench(state_timeout=2.0).start()
    bench.records.clear()
    for _ in range(1000):
        bench.now += PERIOD
        bench.message(cdr_messages.joint_state(NAMES, [np.nan, 0.0]))
    told = [values for kind, _, values in bench.records if kind == NOTE_REJECTED]
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
    assert bench.controller.phase is (Phase.HOLDING if stood_still else Phase.BLIND)
    bench.now += 0.1 * period
    bench.update()
    assert bench.controller.phase is Phase.BLIND


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


@pytest.mark.parametrize("joint", [0, 1])
def test_a_velocity_that_no_position_shows_is_not_what_the_arm_was_asked_for(joint):
    """Nor do set-points at rest ask for it, however far from zero they are."""
    bench = Bench().start()
    place, velocity = bench.compiled.desired[0].copy(), np.zeros(2)
    velocity[joint] = 0.5
    while bench.controller.phase is not Phase.BLIND:
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        bench.set_point(Point(0.0, place))
        bench.arm.set_state(bench.arm.q, velocity)
        bench.state()
    assert "stays the same" not in bench.controller.hold_reason
    assert list(bench.controller.refused) == [
        "position repeated although the arm moves, or is asked to"
    ]


def test_a_hold_without_a_place_shows_neither_acceleration_nor_effort():
    """What was desired a moment before is no longer."""
    bench = Bench().start()
    point = Point(1.0, bench.arm.q + 0.4, np.zeros(2), effort=[3.0, 3.0])
    bench.controller.set_trajectory(bench.now, NAMES, [point])
    bench.run(0.25)
    assert np.abs(bench.compiled.desired[2:]).min() > 0.1
    bench.controller.fall_back(bench.now)
    assert bench.controller.phase is Phase.DAMPED
    assert not bench.compiled.desired[2:].any()


@pytest.mark.parametrize(("share", "phase"), [(0.45, Phase.HOLDING), (0.55, Phase.FAULT)])
def test_a_motion_counts_as_abandoned_if_the_state_before_shows_half_of_it(share, phase):
    """Three such motions are a fault; one wrong position is none."""
    bench = Bench(p=np.zeros(2), d=np.zeros(2), path_tolerance=0.1, jump_tolerance=0.6).start()
    for way in (0.1 * share, 0.105) * 3:
        place = bench.compiled.desired[0] + [0.0, way]
        for _ in range(1 if way < 0.1 else 300):  # an arm has stop_time to come to rest
            bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
            bench.arm.set_state(place, np.zeros(2))
            bench.state()
    assert sum("path_tolerance" in note for note in bench.notes) == 3
    assert bench.controller.phase is phase


def push_off(bench: Bench, times: int) -> None:
    """Push the arm off its path, which two states show, and give it time to come to rest."""
    for _ in range(times):
        for way, states in ((0.06, 1), (0.105, 300)):
            place = bench.compiled.desired[0] + [0.0, way]
            for _ in range(states):
                bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
                bench.arm.set_state(place, np.zeros(2))
                bench.state()


def test_motions_that_were_abandoned_before_a_fault_do_not_count_after_it():
    bench = Bench(p=np.zeros(2), d=np.zeros(2), path_tolerance=0.1, jump_tolerance=0.6).start()
    for _ in range(2):
        push_off(bench, 2)
        assert bench.controller.phase is Phase.HOLDING
        push_off(bench, 1)
        assert bench.controller.phase is Phase.FAULT
        bench.controller.hold(bench.now)


@pytest.mark.parametrize(("speed", "is_stopped"), [(0.045, True), (0.055, False)])
def test_a_joint_that_was_stopped_against_what_it_is_asked_to_do_is_not_frozen_yet(
    speed, is_stopped
):
    """Brakes or an obstacle hold it; else feedback that grows by 5 N m ought to move it."""
    bench = Bench(path_tolerance=0.0).start()
    q, frozen_since = bench.arm.q, bench.now + 0.3
    point = Point(2.0, q + np.array([1.0, 0.0]), np.zeros(2))
    bench.controller.set_trajectory(bench.now, NAMES, [point])
    while bench.controller.phase is not Phase.BLIND:
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        if bench.now < frozen_since:
            q = q + 1e-9
        bench.arm.set_state(q, [speed if bench.now < frozen_since else 0.0, 0.0])
        bench.state()
    assert (bench.now - frozen_since > 0.2) == is_stopped
    assert "'shoulder' stays the same" in bench.controller.hold_reason


@pytest.mark.parametrize(("since", "phase"), [(0.03, Phase.BLIND), (0.07, Phase.HOLDING)])
def test_a_long_time_between_states_is_remembered_for_a_tenth_of_a_second(since, phase):
    """While it may come again, a position that jumps ends in a blind stop."""
    bench = Bench().start()
    bench.run(0.08, states=False, timer=False)
    bench.run(since, timer=False)
    bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
    bench.arm.set_state(bench.arm.q + np.array([0.6, 0.0]), np.zeros(2))
    bench.state()
    assert bench.controller.refused == {"position jumped": 1}
    assert bench.controller.phase is phase


def test_an_arm_is_believed_to_be_elsewhere_only_after_state_timeout():
    """Not right after one state that contradicts itself, however many say so."""
    bench = Bench().start()
    place = bench.arm.q
    while bench.controller.phase is not Phase.BLIND:
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        bench.arm.set_state(place, np.array([0.5, 0.0]))
        bench.state()
    last_good = bench.compiled.received
    bench.arm.set_state(place + np.array([0.6, 0.0]), np.zeros(2))
    while bench.controller.phase is Phase.BLIND:
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        bench.update()
        bench.state()
    assert_allclose(bench.compiled.q, bench.arm.q)
    assert 0.1 < bench.now - last_good < 0.12


@pytest.mark.parametrize("effort", [np.inf, 1e9, 5.0])
def test_without_effort_limits_no_measured_effort_is_sure_to_hold_the_arm(effort):
    bench = Bench(effort_limit=np.full(2, np.inf))
    bench.effort = np.array([effort, 0.0])
    bench.controller.activate(bench.now)
    bench.run(PERIOD)
    assert_allclose(bench.commands[0][1], bench.gravity(), rtol=1e-3)


def test_a_hold_after_states_came_back_says_why_the_arm_was_held():
    bench = Bench().start()
    bench.run(0.2, states=False).run(0.1)
    assert bench.controller.phase is Phase.HOLDING
    assert "no usable joint state" in bench.controller.hold_reason


def test_a_payload_is_taken_on_while_states_are_missing():
    bench = Bench().start()
    loaded = bench.model.with_payload(bench.model.link_names[-1], 1.0, [0.0, 0.0, 0.1])
    bench.controller.change_model(bench.now, loaded, 0.5)
    bench.run(0.8, states=False)
    assert bench.controller.phase is Phase.BLIND
    empty, full = (fr.Dynamics(model).gravity(bench.compiled.desired[0])
                   for model in (bench.model, loaded))  # fmt: skip
    assert np.abs(full - empty).max() > 0.5
    assert_allclose(bench.commands[-1][1], full, rtol=1e-6)


# What a position that stays the same to the bit says


@pytest.mark.parametrize(("speed", "is_stopped"), [(0.0009, False), (0.0011, True)])
def test_a_joint_that_stands_while_it_is_asked_to_move_was_stopped(speed, is_stopped):
    """Slower than 1 mrad/s it may stick; else feedback that grows ought to move it."""
    bench = Bench(path_tolerance=0.0, jump_tolerance=0.5).start()
    q, frozen_since = bench.arm.q, bench.now + 0.05
    place = q.copy()
    while bench.controller.phase is not Phase.BLIND:
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        if bench.now < frozen_since:
            q, place = q + 1e-9, place + np.array([speed * PERIOD, 0.0])
            bench.set_point(Point(0.0, place, [speed, 0.0]))
        else:
            place = place + np.array([0.5 * PERIOD, 0.0])
            bench.set_point(Point(0.0, place, [0.5, 0.0]))
        bench.arm.set_state(q, np.zeros(2))
        bench.state()
    assert (bench.now - frozen_since > 0.3) == is_stopped


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize(("distance", "is_at_stop"), [(0.0009, True), (0.0011, False)])
def test_a_joint_that_is_pushed_against_its_stop_is_not_frozen(distance, is_at_stop, side):
    bench = Bench(p=np.array([1e4, 20.0]), jump_tolerance=0.5)
    q = np.array([side * (2.9 - distance), 0.5])
    bench.arm.reset(q)
    bench.start()
    for _ in range(300):
        if bench.controller.phase is Phase.BLIND:
            break
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        bench.set_point(Point(0.0, [side * 2.9, q[1]]))
        bench.arm.set_state(q, np.zeros(2))
        bench.state()
    assert (bench.controller.phase is Phase.REFERENCE) == is_at_stop


@pytest.mark.parametrize(("wait", "is_frozen"), [(0.045, False), (0.055, True)])
def test_a_push_on_the_hand_right_after_a_step_of_the_position_may_be_its_damping(wait, is_frozen):
    """A velocity that is estimated from the step ends within 50 ms; a later push moves the arm."""
    bench = Bench(mode=Mode.CARTESIAN_IMPEDANCE, torque_rate=np.full(2, 1e6), target_timeout=5.0)
    bench.start()
    q, begin = bench.arm.q, bench.now
    while bench.now < begin + 0.3 and not bench.controller.refused:
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        if bench.now <= begin + 0.01:
            q = q + 1e-9
        if bench.now > begin + 0.01 + wait:
            bench.controller.set_target(bench.now, wrench=[0.0, 0.0, 0.0, 0.0, 6.0, 0.0])
        bench.arm.set_state(q, np.zeros(2))
        bench.state()
    assert bool(bench.controller.refused) == is_frozen


def test_a_motion_that_is_abandoned_far_from_the_arm_pushes_no_joint():
    """What is asked for leaps to where the arm was last measured, as it is every 40 ms."""
    bench = Bench(path_tolerance=0.1, p=np.full(2, 100.0)).start()
    asked, place, speed = bench.arm.q, bench.arm.q, np.array([0.0, 0.3])
    for k in range(700):
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        asked = asked + PERIOD * speed
        if k % 40 == 0:
            place = asked - [0.0, min(0.097, 2e-4 * k)]
        if not bench.controller.hold_reason:
            bench.set_point(Point(0.0, asked, speed))
        bench.arm.set_state(place, speed)
        bench.state()
    assert "path_tolerance" in bench.controller.hold_reason
    assert not bench.controller.refused


@pytest.mark.parametrize("terms", [Terms.FULL, Terms.GRAVITY])
def test_a_blind_stop_from_frozen_states_begins_where_the_arm_is_by_then(terms):
    """At 25 Hz it moves by 0.06 rad from one state to the next, whether the model or the feedback
    drives it; a driver repeats the last of them.
    """
    bench = Bench(state_timeout=0.2, feedforward_terms=terms).start()
    point = Point(0.8, bench.arm.q + np.array([0.8, -1.0]), np.zeros(2))
    bench.controller.set_trajectory(bench.now, NAMES, [point])
    for k in range(361):
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        bench.arm.step(bench.applied())
        if k % 40 == 0:
            if k < 360:
                state = bench.arm.q, bench.arm.qd
            command = bench.controller.accept_state(bench.now, *state, None, bench.stamp)
            bench.commands.append((bench.now, command.copy()))
    assert bench.controller.phase is Phase.BLIND
    assert "stays the same to the bit" in bench.controller.hold_reason
    assert np.abs(state[0] - bench.arm.q).min() > 0.05
    assert_allclose(bench.compiled.desired[0], bench.arm.q, atol=0.01)


@pytest.mark.parametrize("share", [0.95, 1.1])
@pytest.mark.parametrize(("coulomb", "stiction"), [(0.0, 2.0), (0.5, 1.7)])
def test_a_joint_that_more_than_its_stiction_pushes_moves(coulomb, stiction, share):
    """A tenth of the effort limit of 20 N m; of known friction 3 times, and a hundredth of it."""
    bench = Bench(p=np.full(2, 1000.0), coulomb=np.full(2, coulomb)).start()
    q = bench.arm.q
    place = q + np.array([0.0, 1e-3 * share * stiction])
    for _ in range(300):
        if bench.controller.phase is Phase.BLIND:
            break
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        bench.set_point(Point(0.0, place))
        bench.arm.set_state(q, np.zeros(2))
        bench.state()
    assert (bench.controller.phase is Phase.BLIND) == (share > 1.0)
    assert ("'elbow' stays the same" in bench.controller.hold_reason) == (share > 1.0)


def test_a_blind_stop_is_damped_by_positions_that_the_velocities_contradict():
    """A push that the model does not know of then moves the arm slowly."""
    bench = Bench(fault_damping=np.full(2, 1.3)).start()
    point = Point(1.0, bench.arm.q + np.array([0.8, -1.0]), np.zeros(2))
    bench.controller.set_trajectory(bench.now, NAMES, [point])
    bench.run(0.4)
    push = np.zeros(2)
    for _ in range(900):
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        bench.arm.step(bench.applied() + push)
        command = bench.controller.accept_state(
            bench.now, bench.arm.q, np.zeros(2), None, bench.stamp
        )
        if command is not None:
            bench.commands.append((bench.now, command.copy()))
        bench.update()
        if bench.controller.phase is Phase.BLIND:
            push = np.array([0.0, 0.5])
    assert bench.controller.refused["velocities contradict the positions"] > 100
    assert np.abs(bench.arm.qd).max() < 1.5


def test_a_stamp_that_leaps_is_no_long_time_between_states():
    bench = Bench().start()
    bench.stamp += 0.3  # longer than state_timeout
    bench.run(0.01, timer=False)
    bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
    bench.arm.set_state(bench.arm.q + np.array([0.6, 0.0]), np.zeros(2))
    bench.state()
    assert bench.controller.refused == {"position jumped": 1}
    assert bench.controller.phase is Phase.HOLDING


def test_a_blind_stop_that_begins_late_is_not_far_ahead_of_the_arm():
    """It reckons for state_timeout and a period at most, however late the controller looks."""
    bench = Bench().start()
    goal = bench.arm.q + np.array([0.8, -0.8])
    bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, goal, np.zeros(2))])
    bench.run(0.3)
    place, speed = bench.arm.q, np.abs(bench.arm.qd)
    assert speed.min() > 0.5
    while bench.controller.phase is not Phase.BLIND:
        bench.now += 0.3
        bench.update()
    ahead = np.abs(bench.compiled.desired[0] - place)
    assert (ahead < 0.15 * speed + 0.1).all()


def test_without_blind_stop_the_hold_is_damped_at_first_and_then_no_longer():
    bench = Bench(blind_stop=False).start()
    goal = bench.arm.q + np.array([0.8, -0.8])
    bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, goal, np.zeros(2))])
    bench.run(0.3)
    q, qd = bench.compiled.q, bench.arm.qd
    damping = []
    for _ in range(500):
        bench.now += PERIOD
        bench.update()
        if bench.controller.phase is Phase.BLIND:
            damping.append(bench.controller.snapshot().asked - fr.Dynamics(bench.model).gravity(q))
    damping = np.array(damping)
    full = -bench.settings.damping * qd
    assert_allclose(damping[0], full, rtol=0.05)
    assert_allclose(damping[-1], 0.0, atol=1e-3)


def test_deviations_beyond_a_trajectorys_own_tolerance_alone_are_no_fault():
    bench = Bench(path_tolerance=1.0).start()
    for _ in range(6):
        place = bench.compiled.desired[0]
        path = Trajectory(
            NAMES, [Point(0.4, place + np.array([0.5, 0.0]), [0.0, 0.0])], control_arm.space()
        ).compiled(0.25, np.array([[0.02, 0.02], [0.0, 0.0]]))
        assert bench.controller.compiled.apply(FollowRequest(path), bench.now) == 0
        seen = set()
        for i in range(300):
            bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
            bench.arm.set_state(place + 1e-9 * (i % 2), np.zeros(2))
            bench.state()
            seen.add(bench.controller.phase)
        assert seen == {Phase.TRAJECTORY, Phase.HOLDING}


def test_of_two_joints_off_the_path_the_one_further_off_is_named():
    bench = Bench(path_tolerance=0.1, jump_tolerance=0.6).start()
    place = bench.compiled.desired[0] + np.array([0.2, 0.12])
    for _ in range(2):
        bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
        bench.arm.set_state(place, np.zeros(2))
        bench.state()
    (note,) = [note for note in bench.notes if "path_tolerance" in note]
    assert "'shoulder'" in note and "0.2 " in note
