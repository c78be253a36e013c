"""What the controller watches for on every command, and each bound at which it acts.

The states are given as they are meant, whatever is commanded; positions and velocities agree.
"""

from collections.abc import Callable
from contextlib import nullcontext

import cdr_messages
import control_arm
import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench, Q
from control_loop import LoopBench
from numpy.testing import assert_allclose

import featherstone_ros as fr
from featherstone_ros._enumerations import NoteKind
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.reasons import REJECTIONS
from featherstone_ros.control.settings import Mode, UpdateOn
from featherstone_ros.control.trajectory import Point

LIMIT = 3.0  # rad/s, of both joints
FAULT_DAMPING = 1.3  # N m s/rad


def look(bench: Bench, duration: float) -> None:
    """Let time pass without states; the controller looks at their age every millisecond."""
    for _ in range(round(duration / PERIOD)):
        bench.run(PERIOD, states=False)
        bench.update()


def lead(
    bench: Bench, speed: Callable[[float], float], duration: float, joint: int | slice = 0
) -> float | None:
    """Move joints at a speed by time; return when that became a fault, None if it did not."""
    q = bench.arm.q
    for k in range(round(duration / PERIOD)):
        qd = np.zeros(2)
        qd[joint] = speed((k + 0.5) * PERIOD)
        q = q + PERIOD * qd
        bench.give(q, qd)
        if bench.controller.phase is Phase.FAULT:
            return (k + 1) * PERIOD
    return None


def far_from_its_path(**changes) -> Bench:
    """Return a bench whose arm may be anywhere, so that only its speed matters."""
    bench = Bench(path_tolerance=0.0, **changes)
    bench.arm.reset([0.0, 0.0])
    return bench.start()


# Speed


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("joint", [0, 1])
def test_a_joint_faster_than_its_limit_for_a_tenth_of_a_second_is_a_fault(joint, sign):
    """At 1.2 times the limit; the further beyond, the sooner."""
    assert lead(far_from_its_path(), lambda t: sign * 1.15 * LIMIT, 0.5, joint) is None
    for share in (1.3, 1.8):
        bench = far_from_its_path()
        since = lead(bench, lambda t, share=share: sign * share * LIMIT, 0.5, joint)
        assert since == pytest.approx(0.1 * (1.2 / share) ** 2, abs=0.006)  # by its energy
        assert f"joint {NAMES[joint]!r} moves at" in bench.controller.hold_reason


def test_of_findings_that_are_equally_bad_the_first_is_told():
    bench = far_from_its_path()
    assert lead(bench, lambda t: 1.3 * LIMIT, 0.5, slice(None)) is not None
    assert bench.controller.hold_reason.startswith(f"joint {NAMES[0]!r} moves at")


@pytest.mark.parametrize(("pause", "is_fault"), [(0.12, False), (0.07, True), (0.02, True)])
def test_bumps_are_forgotten_in_twice_their_time(pause, is_fault):
    bench = far_from_its_path()
    bench.configure(p=np.zeros(2), d=np.zeros(2))

    def bumps(t: float) -> float:
        return 1.5 * LIMIT if t % (0.04 + pause) < 0.04 else 0.1

    assert (lead(bench, bumps, 0.7) is not None) == is_fault
    assert not bench.controller.refused


def test_one_velocity_that_no_position_shows_is_no_speed():
    bench = far_from_its_path(state_timeout=0.5)
    q = bench.arm.q
    for k in range(40):  # 10 Hz: of one state in two the velocity is wrong
        q = q + 1e-6
        bench.give(q, np.array([6.5 * (k % 2), 0.0]), 0.1)
        assert bench.controller.phase is not Phase.FAULT


# Oscillation


def swinging(share: float, frequency: float) -> Callable[[float], float]:
    return lambda t: share * LIMIT * np.sin(2.0 * np.pi * frequency * t)


@pytest.mark.parametrize("joint", [0, 1])
def test_a_joint_that_goes_to_and_fro_at_speed_is_a_fault(joint):
    """More than 3 turns beyond what half of 6 in 2 s are, each at a quarter of the limit."""
    bench = far_from_its_path()
    since = lead(bench, swinging(0.4, 4.0), 3.0, joint)
    assert since is not None and 0.4 < since < 0.8
    assert f"{NAMES[joint]!r} oscillates" in bench.controller.hold_reason
    assert "bound 0.75" in bench.controller.hold_reason


@pytest.mark.parametrize(("share", "frequency"), [(0.24, 4.0), (0.4, 1.3)])
def test_a_joint_that_swings_slowly_or_seldom_is_none(share, frequency):
    assert lead(far_from_its_path(), swinging(share, frequency), 6.0) is None


def test_a_joint_that_is_asked_to_swing_is_none():
    bench, swing = far_from_its_path(reference_timeout=1.0), swinging(0.4, 4.0)
    q = bench.arm.q
    for k in range(1000):
        qd = np.array([swing(k * PERIOD), 0.0])
        q = q + PERIOD * qd
        bench.set_point(Point(0.0, q, qd))
        bench.give(q, qd)
    assert bench.controller.phase is Phase.REFERENCE


# A fault


@pytest.mark.parametrize("damping", [0.5, 3.0])
def test_a_fault_brakes_by_gravity_and_damping_alone(damping):
    bench = far_from_its_path(
        damping=np.full(2, damping),
        fault_damping=np.full(2, FAULT_DAMPING),
        torque_rate=np.full(2, 1e6),
    )
    assert lead(bench, lambda t: 1.5 * LIMIT, 0.5) is not None
    qd = np.array([2.0, -1.0])
    command = bench.give(bench.arm.q + PERIOD * qd, qd)
    assert_allclose(command, bench.gravity() - max(damping, FAULT_DAMPING) * qd)


def test_an_effort_that_is_not_finite_ends_in_the_gravity_hold():
    bench = Bench().start()
    bench.configure(d=np.full(2, 1.7e308), blend_time=0.0)
    for k in range(3):  # a velocity that no position shows is not used
        command = bench.give(Q + (k + 1) * PERIOD * 1.5, np.full(2, 1.5))
    assert bench.controller.phase is Phase.DAMPED
    assert "not finite" in bench.controller.hold_reason
    assert np.isfinite(command).all()
    bench.configure(d=np.ones(2))
    bench.arm.set_state(Q, np.zeros(2))
    assert bench.run(0.3).controller.phase is Phase.HOLDING
    assert bench.largest_rate() <= 1.0


# Motions that are abandoned


@pytest.mark.parametrize(("speed", "phase"), [(0.5, Phase.FAULT), (0.06, Phase.HOLDING)])
def test_an_arm_that_is_pushed_off_three_times_within_ten_seconds_is_a_fault(speed, phase):
    bench = Bench(p=np.zeros(2), d=np.zeros(2)).start()
    begin, period = bench.arm.q, 0.005
    for k in range(round(1.1 / speed / period)):  # each 0.3 rad it holds anew
        bench.give(begin - np.array([0.0, speed * k * period]), np.array([0.0, -speed]), period)
        if bench.controller.phase is Phase.FAULT:
            break
    assert sum("path_tolerance" in note for note in bench.notes) == 3
    assert bench.controller.phase is phase
    if phase is Phase.FAULT:
        assert "3 motions within 10 s" in bench.controller.hold_reason


ENDS = {
    "abandoned": lambda bench: None,  # by itself
    "fall back": lambda bench: bench.controller.fall_back(bench.now),
    "mode": lambda bench: bench.configure(mode=Mode.GRAVITY_COMPENSATION),
    "deactivated": lambda bench: bench.controller.deactivate(bench.now),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_motion_that_ends_far_from_the_arm_freezes_no_position(end):
    """Where positions come twice each: the desired one leaps to the arm's, which has not moved."""
    bench = Bench(path_tolerance=0.25, p=np.zeros(2), d=np.zeros(2)).start()
    q, qd = bench.arm.q, np.array([0.0, -0.5])
    for k in range(1000):
        q = q + PERIOD * qd * (2.0 if k % 2 else 0.0)
        bench.give(q, qd)
        if k == 487:
            ENDS[end](bench)
    assert sum(bench.controller.refused.values()) <= 2  # the first two: it leaps to that speed
    assert bench.controller.hold_reason or end == "mode"


# Arms that cannot be taken over, or can


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("share", [0.99, 1.01])
def test_an_arm_that_its_drives_cannot_hold_is_not_taken_over(joint, share):
    bench = Bench()
    limit = np.full(2, 20.0)
    limit[joint] = share * np.abs(bench.gravity()[joint])
    bench.configure(effort_limit=limit)
    bench.controller.activate(bench.now)
    bench.run(0.1)
    if share > 1.0:
        assert bench.controller.phase is Phase.HOLDING
        return
    assert bench.controller.phase is Phase.WAITING
    assert not bench.commands
    assert [note for note in bench.notes if f"{NAMES[joint]!r} needs" in note] == bench.notes
    assert len(bench.notes) == 1
    bench.configure(effort_limit=np.full(2, 20.0))
    bench.run(0.1)
    assert bench.controller.phase is Phase.HOLDING
    assert bench.controller.hold_reason == ""


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("share", [0.99, 1.01])
def test_an_effort_limit_that_would_no_longer_hold_the_arm_is_refused_by_name(joint, share):
    bench = Bench().start()
    limit = np.full(2, 20.0)
    limit[joint] = share * np.abs(bench.gravity()[joint])
    words = f"joint {NAMES[joint]!r} would need .* less than its effort limit of"
    with pytest.raises(ValueError, match=words) if share < 1.0 else nullcontext():
        bench.configure(effort_limit=limit)
    assert bench.run(0.1).controller.phase is Phase.HOLDING


@pytest.mark.parametrize(("beyond", "is_said"), [(0.19, False), (0.21, True), (-6.01, True)])
def test_an_arm_found_outside_its_limits_after_silence_is_held_and_named(beyond, is_said):
    bench = Bench(start_tolerance=0.2).start()
    bench.run(2.0, states=False)
    assert bench.controller.phase is Phase.SILENT
    q = np.array([0.6, 2.9 + beyond])
    for _ in range(4):  # three have to agree so far away
        bench.give(q)
    assert bench.controller.phase is Phase.HOLDING
    outside = [note for note in bench.notes if "outside its limits [-2.9, 2.9]" in note]
    assert len(outside) == is_said
    assert all("'elbow'" in note for note in outside)


# Without states

OPEN_LOOP_STOP = 0.25  # [s] of an arm that needs no longer


@pytest.mark.parametrize("state_timeout", [0.05, 0.2])
@pytest.mark.parametrize("give_up_after", [0.3, 0.8])
def test_commands_end_when_their_time_is_over_and_not_before(state_timeout, give_up_after):
    bench = Bench(state_timeout=state_timeout, give_up_after=give_up_after).start()
    last_state, interval = bench.now, 0.01
    bench.run(2.0, states=False)
    assert bench.controller.phase is Phase.SILENT
    blind = [time - last_state for time, _ in bench.commands if time > last_state]
    assert np.diff([0.0, *blind]).max() < 1.5 * interval  # from the first few periods on
    stopped = state_timeout + OPEN_LOOP_STOP
    assert blind[-1] == pytest.approx(stopped + give_up_after, abs=1.5 * interval)


@pytest.mark.parametrize("mode", [Mode.FEEDFORWARD, Mode.CARTESIAN_IMPEDANCE])
@pytest.mark.parametrize("update_on", UpdateOn)
@pytest.mark.parametrize("gap", [0.02, 0.05, 0.5])
def test_states_that_stop_are_noticed_however_seldom_the_controller_looks(gap, update_on, mode):
    """One look after a stall is let pass: what has arrived meanwhile is read before the next."""
    bench = Bench(update_on=update_on, mode=mode, rate=500.0).start()
    last_state = bench.now
    while bench.controller.phase is not Phase.OPEN_LOOP:
        bench.now += gap
        bench.update()
        assert bench.now - last_state <= 0.1 + 2.0 * gap  # state_timeout
    bench.now += 1.5  # longer than give_up_after
    assert bench.update() is None
    assert bench.controller.phase is Phase.SILENT


DRIVES = {
    "ideal": {},
    "offset": {"offset": np.array([6.0, -3.0])},
    "springs": {"stiffness": np.array([12.0, 5.0])},
    "viscous": {"viscous": np.array([4.0, 1.5])},
    "coulomb": {"coulomb": np.array([4.0, 1.5])},
    "rotors": {"armature": np.array([0.6, 0.2])},
    "gears": {
        "viscous": np.array([4.0, 1.5]),
        "coulomb": np.array([2.0, 0.7]),
        "load": np.full(2, 0.15),
        "thinning": np.full(2, 0.8),
    },
}


@pytest.mark.parametrize("hardware_adds_gravity", [False, True])
@pytest.mark.parametrize("drives", DRIVES)
def test_open_loop_stop_knows_what_the_drives_need(drives, hardware_adds_gravity):
    """It begins where the arm is by then under the last command, at the speed that it has."""
    its, goal = DRIVES[drives], Q + np.array([0.8, -1.0])
    rate = np.full(2, 1000.0)
    bench = Bench(hardware_adds_gravity=hardware_adds_gravity, torque_rate=rate, **its)
    offset, stiffness = its.get("offset", np.zeros(2)), its.get("stiffness", np.zeros(2))
    bench.arm = fr.Simulator(
        bench.model,
        PERIOD,
        damping=its.get("viscous", 0.0),
        friction=its.get("coulomb", 0.0),
        **{name: its.get(name, 0.0) for name in ("armature", "load", "thinning")},
    )
    bench.arm.reset(Q)
    applied = Bench.applied
    bench.applied = lambda: (
        applied(bench) - (offset + stiffness * bench.arm.q if bench.commands else 0.0)
    )
    bench.start()
    bench.move(goal, 0.6)
    bench.run(0.2)
    assert np.abs(bench.arm.qd).min() > 1.0
    while bench.controller.phase is not Phase.OPEN_LOOP:
        look(bench, PERIOD)
    there, expected = bench.arm, bench.compiled.desired
    assert_allclose(expected[0], there.q, atol=0.02)
    assert_allclose(expected[1], there.qd, atol=0.15)
    look(bench, 0.3)
    assert np.abs(bench.arm.qd).max() < 0.1


# The way out


@pytest.mark.parametrize("commanded", [False, True], ids=["waiting", "silent"])
def test_an_arm_is_taken_over_by_gravity_after_the_way_out_of_silence(commanded):
    """Whatever was commanded before, or nothing was: brakes may have held the arm since."""
    bench = Bench()
    bench.controller.activate(bench.now)
    if commanded:
        bench.run(0.3).run(2.0, states=False)
        assert bench.controller.phase is Phase.SILENT
    bench.controller.deactivate(bench.now)
    assert bench.controller.phase is Phase.INACTIVE
    bench.controller.activate(bench.now)
    bench.arm.set_state(Q - 0.2, np.zeros(2))
    for _ in range(2):  # one alone may not be believed so far away
        command = bench.give(Q - 0.2)
    assert_allclose(command, bench.gravity())


@pytest.mark.parametrize(
    ("limit", "speed", "ends"),
    [(3, 0.049, True), (3, 0.051, False), (1, 0.019, True), (1, 0.021, False)],
)
@pytest.mark.parametrize("joint", [0, 1])
def test_commands_go_on_until_the_arm_stands(joint, limit, speed, ends):
    """Below .05 rad/s, and a fiftieth of its speed limit."""
    urdf = control_arm.URDF.replace('velocity="3"', f'velocity="{limit}"')
    bench = far_from_its_path(urdf=urdf)
    bench.controller.deactivate(bench.now)
    lead(bench, lambda t: speed, 1.24, joint)
    assert bench.controller.phase is Phase.SETTLING  # stop_time and give_up_after last 1.25 s
    lead(bench, lambda t: speed, 0.1, joint)
    assert (bench.controller.phase is Phase.INACTIVE) == ends


def test_states_that_come_back_on_the_way_out_are_answered_until_the_arm_has_been_held():
    bench = Bench().start()
    bench.run(0.3, states=False)
    bench.controller.deactivate(bench.now)
    bench.run(0.9, states=False)
    assert bench.controller.phase is Phase.LEAVING_OPEN_LOOP
    bench.run(1.24)  # stop_time and give_up_after last 1.25 s
    assert bench.controller.phase is Phase.SETTLING
    assert bench.commands[-1][0] == bench.now
    bench.run(0.02)
    assert bench.controller.phase is Phase.INACTIVE
    assert bench.largest_rate() <= 1.0


# Set-points and trajectories, by where the arm is when they are taken


def test_the_first_set_point_has_had_no_time():
    bench = Bench().start()
    bench.set_point(Point(0.0, Q + 0.02))
    bench.run(PERIOD)
    assert bench.controller.phase is Phase.REFERENCE
    assert np.abs(bench.compiled.desired[0] - Q).max() < 1e-3


# By the timer


def test_commands_by_the_timer_follow_the_motion_between_the_states():
    bench = Bench(update_on=UpdateOn.TIMER, rate=500.0, state_timeout=0.2).start()
    bench.move(Q + 0.4, 2.0)
    bench.run(0.5)
    before = bench.compiled.desired[0].copy()
    bench.run(0.05, states=False)
    moved = bench.compiled.desired[0] - before
    assert_allclose(moved, 0.05 * bench.compiled.desired[1], rtol=0.2)


# Modes


@pytest.mark.parametrize("blind", [False, True])
def test_gravity_of_the_drives_cannot_change_under_commands_and_may_without(blind):
    bench = Bench().start()
    if blind:
        bench.run(0.3, states=False)
        assert bench.controller.phase is Phase.OPEN_LOOP
    with pytest.raises(ValueError, match="deactivate first"):
        bench.configure(hardware_adds_gravity=True)
    bench.settings = control_arm.settings()
    bench.run(2.0, states=False)
    assert bench.controller.phase is Phase.SILENT
    bench.configure(hardware_adds_gravity=True)


def test_a_mode_without_its_hand_is_refused_and_changes_nothing():
    settings = control_arm.settings()
    model = control_arm.model()
    controller = TorqueController(JointSpace.of(model), model, settings)
    with pytest.raises(ValueError, match="need a tip"):
        controller.configure(0.0, control_arm.settings(mode=Mode.CARTESIAN_IMPEDANCE))
    controller.activate(0.0)
    assert_allclose(controller.accept_state(0.001, Q, np.zeros(2)), fr.Dynamics(model).gravity(Q))
    assert controller.phase is Phase.HOLDING


def test_effort_asked_for_besides_ends_at_once_with_the_motion_that_it_led_astray():
    """Within blend_time it would go on to drive the arm away."""
    soft = {"p": np.full(2, 5.0), "d": np.full(2, 0.5)}
    bench = Bench(path_tolerance=0.1, torque_rate=np.full(2, 2000.0), **soft).start()
    points = [Point(t, Q, effort=[20.0, 0.0]) for t in (0.1, 5.0)]
    bench.controller.set_trajectory(bench.now, NAMES, points)
    while bench.controller.phase is Phase.TRAJECTORY:
        bench.run(PERIOD)
    assert bench.controller.hold_reason
    bench.run(0.03)
    assert bench.commands[-1][1][0] < 0.0


def test_effort_asked_for_besides_presses_no_longer_on_what_holds_the_arm():
    """It may let go as soon as the motion has been given up."""
    bench = Bench(path_tolerance=0.1, torque_rate=np.full(2, 2000.0)).start()
    q, effort = bench.arm.q, [8.0, 2.0]
    points = [Point(0.3, q, effort=effort), Point(3.0, q + 0.3, effort=effort)]
    bench.controller.set_trajectory(bench.now, NAMES, points)
    held = 0
    while held < 20:
        bench.give(q + 1e-6 * (-1) ** len(bench.commands))
        held += bench.controller.phase is Phase.HOLDING
    begin = len(bench.positions)
    bench.run(0.5)
    assert np.abs(bench.positions[begin:] - q).max() < 0.1  # as far as without


# Bounds of the controller, just within and just beyond, and what no longer counts.


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
        bench.set_point(Point(0.0, [side * 2.9, q[1]]))
        bench.give(q)
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


def test_a_stamp_that_leaps_is_no_gap_and_no_long_time_between_states():
    bench = Bench().start()
    bench.stamp += 0.3  # longer than state_timeout
    bench.run(0.01, timer=False)
    assert bench.controller.hold_reason == ""  # nor a gap
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
