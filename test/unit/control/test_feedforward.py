"""The torque controller as a whole, on a simulated arm: every path, without a step in torque."""

from collections.abc import Callable
from contextlib import suppress

import control_arm
import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench, Q, model
from memory import growth
from numpy.testing import assert_allclose
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros._enumerations import Leads
from featherstone_ros.control.phases import RUNNING, Phase
from featherstone_ros.control.settings import Mode, Terms
from featherstone_ros.control.trajectory import Point, TrajectoryError

NOT_OF_JOINTS = tuple(mode for mode in Mode if mode.leads is not Leads.JOINTS)
GOAL = Q + np.array([0.8, -1.0])
FAST = [
    Point(0.0, Q, [0.0, 0.0], [0.0, 0.0]),
    Point(0.6, GOAL, [0.0, 0.0], [0.0, 0.0]),
    Point(1.2, Q, [0.0, 0.0], [0.0, 0.0]),
]


@pytest.fixture
def bench() -> Bench:
    return Bench().start()


def follow(bench: Bench, duration: float = 0.0) -> None:
    """Begin a fast motion, and run that far into it."""
    bench.controller.set_trajectory(bench.now, NAMES, FAST)
    bench.run(duration)


# Start


@pytest.mark.parametrize(
    ("effort", "settings", "share"),
    [
        *((effort, {}, 1.0) for effort in (None, [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0])),
        ([1.0, 1.0], {"start_from_measured_effort": False}, 1.0),
        ([1.0, 1.0], {"hardware_adds_gravity": True}, 0.0),
    ],
)
def test_first_command_is_gravity_where_effort_says_nothing(effort, settings, share):
    """Nothing, where the drives add gravity."""
    bench = Bench(**settings)
    bench.effort = None if effort is None else np.array(effort)
    bench.controller.activate(bench.now)
    assert_allclose(bench.state(), share * bench.gravity())


def test_first_command_continues_what_the_drives_apply():
    bench = Bench()
    bench.effort = bench.gravity() + np.array([1.5, -0.5])
    bench.controller.activate(bench.now)
    assert_allclose(bench.state(), bench.effort)
    bench.effort = None
    bench.run(0.5)
    assert bench.largest_rate() <= 1.0
    assert_allclose(bench.commands[-1][1], bench.gravity(), atol=0.05)


def test_start_of_a_moving_arm_brings_it_to_rest():
    bench = Bench()
    bench.arm.reset(Q, [1.0, -1.5])
    bench.start().run(0.3)
    assert bench.largest_rate() <= 1.0
    assert_allclose(bench.arm.qd, 0.0, atol=5e-3)
    assert np.abs(bench.arm.q - Q).max() < 0.3


# Following


def test_feedforward_tracks_a_fast_trajectory(bench):
    follow(bench)
    begin = len(bench.positions)
    bench.run(1.3)
    desired = np.array(bench.desired[begin:])
    error = desired - np.array(bench.positions[begin:])
    assert np.abs(np.gradient(desired, PERIOD, axis=0)).max() > 2.5  # of 3 rad/s
    assert np.sqrt((error**2).mean(axis=0)).max() < 1e-3
    assert bench.largest_rate() < 0.7
    assert bench.controller.phase is Phase.HOLDING


def test_future_trajectory_replaces_the_old_one_at_once_and_leads_to_its_first_point(bench):
    """As joint_trajectory_controller does."""
    follow(bench, 0.3)
    there = bench.controller.desired().position
    bench.controller.set_trajectory(bench.now, NAMES, [Point(0.4, there + 0.2, [0.0, 0.0])], 0.6)
    bench.run(0.6)
    assert bench.controller.phase is Phase.TRAJECTORY
    position = bench.controller.desired().position
    assert (np.abs(position - there) < 0.8).all()
    bench.run(0.6)
    assert_allclose(bench.controller.desired().position, there + 0.2)
    assert bench.largest_rate() <= 1.0


def test_effort_of_a_trajectory_is_added_to_the_command(bench):
    points = [
        Point(0.0, bench.arm.q, effort=[0.0, 0.0]),
        Point(0.5, bench.arm.q, effort=[1.0, 0.0]),
    ]
    bench.controller.set_trajectory(bench.now, NAMES, points)
    bench.run(0.5)
    desired = bench.controller.desired()
    feedback = bench.settings.p * desired.position_error + bench.settings.d * desired.velocity_error
    extra = bench.commands[-1][1] - desired.effort - feedback
    assert_allclose(extra, [1.0, 0.0], atol=0.01)


def test_trajectories_of_the_past_are_let_go(bench):
    for i in range(50):
        bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, Q + 0.01 * (i % 3))], 5.0)
        bench.run(PERIOD)
    assert bench.compiled.objects == 2  # the model and the last one


@pytest.mark.parametrize("mode", Mode)
def test_cycles_keep_no_memory(mode):
    bench = Bench(mode=mode, path_tolerance=0.0).start()
    if mode not in NOT_OF_JOINTS:
        follow(bench)
    q, qd = bench.arm.q, bench.arm.qd

    def cycles(count: int) -> None:
        for _ in range(count):
            bench.pass_time()
            bench.controller.accept_state(bench.now, q, qd, None, bench.stamp)

    assert growth(cycles, 700, 500) < 500  # less than a byte per cycle


# Streamed set-points


def stream(bench: Bench, duration: float, velocity: float = 0.5, every: int = 10) -> None:
    begin = bench.controller.desired().position
    for i in range(round(duration / PERIOD)):
        if i % every == 0:
            q = begin + velocity * i * PERIOD
            bench.set_point(Point(0.0, q, np.full(2, velocity)))
        bench.run(PERIOD)


def test_set_points_are_extrapolated_by_their_velocity(bench):
    stream(bench, 0.5)
    assert bench.controller.phase is Phase.REFERENCE
    assert_allclose(bench.controller.desired().velocity, 0.5)
    assert_allclose(bench.controller.desired().position_error, 0.0, atol=2e-3)
    assert bench.largest_rate() < 1.0


@pytest.mark.parametrize(("words", "fields"), [
    ("point 0: 1 positions, expected 2", ([0.6],)),
    ("positions of joint 'elbow' is nan", ([0.6, np.nan],)),
    ("point 0: 3 positions, expected 2", ([0.6, 0.5, 0.4],)),
    ("point 0: no positions", ([],)),
    ("velocity of joint", (Q, [1e300, 0.0], [0.0, 0.0])),
    ("velocity of joint", (Q, [3.5, 0.0], [0.0, 0.0])),
    ("acceleration of joint", (Q, [0.0, 0.0], [0.0, -1e100])),
])  # fmt: skip
def test_bad_set_point_is_refused(bench, words, fields):
    with pytest.raises(TrajectoryError, match=words):
        bench.set_point(Point(0.0, *fields))
    assert bench.controller.phase is Phase.HOLDING


@pytest.mark.parametrize("way", [0.02, 0.18])
def test_a_single_set_point_at_rest_is_reached(bench, way):
    bench.set_point(Point(0.0, Q + way))
    bench.run(1.5)
    assert bench.controller.phase is Phase.HOLDING
    assert_allclose(bench.controller.desired().position, Q + way, atol=1e-9)
    assert_allclose(bench.arm.q, Q + way, atol=2e-3)


def test_a_single_set_point_in_motion_is_left_after_its_time(bench):
    bench.set_point(Point(0.0, Q + 0.1, [0.5, 0.0]))
    bench.run(0.12)  # reference_timeout is 0.1
    assert bench.controller.phase is Phase.HOLDING


def test_extrapolated_set_point_ends_at_the_position_limits():
    bench = Bench(reference_timeout=1.0, start_tolerance=1.0).start()
    bench.move([2.8, 0.5], 1.5)
    bench.run(2.0)
    bench.set_point(Point(0.0, [2.8, 0.5], [2.0, 0.0]))
    bench.run(0.5)
    assert bench.controller.desired().position[0] <= 2.9


# Changes at run time


@pytest.mark.parametrize("old", Mode)
@pytest.mark.parametrize("new", Mode)
def test_mode_switch_in_motion_makes_no_step(old, new):
    bench = Bench(mode=old).start()
    if old not in NOT_OF_JOINTS:
        follow(bench, 0.3)
    begin = len(bench.commands) - 1
    bench.configure(mode=new)
    bench.run(0.3)
    assert (bench.controller.phase is Phase.FLOATING) == (new.leads is Leads.NOTHING)
    # 0.2 N m is the rate limit, which braking a hand that is faster than max_speed may take up.
    most = 0.2 + 1e-9 if new.leads_end_effector else 0.15
    assert bench.largest_step(begin) < most


def test_new_gains_make_no_step(bench):
    bench.arm.reset(Q + 0.015)
    bench.run(0.05)
    begin = len(bench.commands) - 1
    bench.configure(p=np.array([1500.0, 500.0]), d=np.array([40.0, 10.0]))
    bench.run(0.3)
    assert bench.largest_step(begin) < 0.2
    for k in range(20):
        bench.give(Q + 1e-3 + 1e-6 * (k % 2))
    assert (bench.commands[-1][1] - bench.gravity())[0] < -1.0  # they act: it was 0.1 before


@pytest.mark.parametrize("adds_gravity", [False, True])
def test_effort_limits_hold_and_what_is_lost_is_told(adds_gravity):
    limit = np.array([4.0, 1.0])
    bench = Bench(effort_limit=limit, hardware_adds_gravity=adds_gravity).start()
    bench.arm.set_state(Q + 0.015)
    bench.run(0.008)
    assert (
        np.abs(bench.torques() + adds_gravity * bench.gravity()) <= limit + 1e-4 * adds_gravity
    ).all()
    lost = {joint: text.rsplit(" ", 1)[0] for joint, text in bench.controller.lost().items()}
    assert lost == dict.fromkeys(("shoulder", "elbow"), "feedback cut by")


# Missing and bad states


@pytest.mark.parametrize("measured", [True, False])
def test_recovery_after_silence_starts_from_the_measured_effort_or_the_last_command(
    bench, measured
):
    bench.run(2.0, states=False)
    assert bench.controller.phase is Phase.SILENT
    last = bench.commands[-1][1]
    if measured:
        bench.effort = last = bench.gravity() + 0.5
    bench.arm.reset(Q - 0.5 * (not measured))
    assert_allclose(bench.state(), last)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_states_that_are_not_finite_are_answered_by_the_prediction_until_the_timeout(bench, bad):
    q, held = bench.arm.q, bench.commands[-1][1]
    for k in range(30):
        bench.now += 0.01
        command = bench.controller.accept_state(bench.now, np.array([q[0], bad]))
        if k < 9:
            assert_allclose(command, held, atol=1e-3)
        bench.update()
    assert bench.controller.phase is Phase.OPEN_LOOP
    assert "'elbow' had no usable position" in bench.controller.hold_reason
    assert np.isfinite(bench.torques()).all()


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_hold_beyond_a_joints_limit_yields_to_the_stop(side):
    """It would press for good: by 3 N m here."""
    bench = Bench()
    limit = side * bench.model.upper[0]
    bench.arm.reset([limit + 0.03 * side, 0.3])
    bench.start()
    assert_allclose(bench.compiled.desired[0][0], limit + 0.03 * side)
    for k in range(3000):
        stop = 2000.0 * min(k / 1000, 1.0) * max(side * (bench.arm.q[0] - limit), 0.0)
        command = bench.commands[-1][1] - [side * stop, 0.0]
        bench.pass_time()
        bench.arm.step(command)
        bench.state()
    assert bench.controller.phase is Phase.HOLDING
    assert np.abs(bench.commands[-1][1] - bench.gravity()).max() < 0.1
    assert_allclose(bench.arm.q, [limit, 0.3], atol=1e-3)


@pytest.mark.parametrize("dt", [1, 5, 20])
def test_one_wrong_position_throws_no_arm_whose_velocities_are_not_measured(dt):
    """As the last of all: the arm was taken to move by 15 rad/s, and was braked from there."""
    bench = Bench()
    bench.controller.activate(bench.now)

    def give(off):
        bench.arm.step(bench.applied(), dt)
        bench.lie(bench.arm.q + np.array([off, 0.0]), None, dt * PERIOD)

    for _ in range(50):
        give(0.0)
    q = bench.arm.q
    give(0.09)
    bench.run(0.5, states=False)
    assert_allclose(bench.arm.q, q, atol=1e-3)


def test_one_wrong_position_does_not_draw_an_arm_that_is_beyond_its_limits_inside():
    bench = Bench(torque_rate=np.full(2, 1000.0))
    bench.arm.reset(np.array([0.6, 2.95]))
    bench.start()
    assert_allclose(bench.compiled.desired[0], bench.arm.q, atol=1e-6)
    before = bench.commands[-1][1]
    command = bench.lie(bench.arm.q - np.array([0.0, 0.08]), bench.arm.qd)
    assert_allclose(command, before, atol=1e-3)


@pytest.mark.parametrize("off", [-9.0, 9.0, 11.0, -11.0, 1e9, np.nan])
def test_measured_effort_far_from_gravity_is_not_what_holds_the_arm(off):
    """A load and friction may add half of the effort limit, which is 20.

    Effort and position contradict each other beyond that: the arm is not taken over.
    """
    bench = Bench()
    bench.effort = bench.gravity() + np.array([off, 0.0])
    bench.controller.activate(bench.now)
    if abs(off) > 10.0:
        assert bench.run(0.1).commands == []
        assert bench.controller.phase is Phase.WAITING and len(bench.notes) == 1
        said = f"effort of joint 'shoulder' is {bench.effort[0]:.3g} where gravity asks for -3.09"
        assert said in bench.controller.hold_reason
        bench.effort = bench.gravity()
        bench.pass_time()
    assert_allclose(bench.state(), bench.effort if abs(off) < 10.0 else bench.gravity())
    bench.run(0.5)
    assert bench.controller.phase is Phase.HOLDING and bench.controller.hold_reason == ""
    assert np.abs(np.diff(bench.positions, axis=0)).max() < 3.0 * PERIOD  # it is not thrown


def test_a_disputed_state_of_the_last_activation_confirms_nothing_else():
    """One whose effort contradicts its position."""
    bench = Bench()
    bench.effort = bench.gravity() + np.array([11.0, 0.0])
    bench.controller.activate(bench.now)
    assert bench.state() is None
    bench.controller.deactivate(bench.now)
    bench.controller.activate(bench.now)
    assert bench.controller.hold_reason == ""
    assert bench.give(bench.arm.q + 0.3, period=1.0) is None


# Faults


def test_damping_that_drives_the_arm_pauses_in_a_fault(bench, monkeypatch):
    """As with a wrong sign: it would swing the arm up."""
    bench.fail()
    forward = bench.applied
    monkeypatch.setattr(bench, "applied", lambda: 2.0 * bench.gravity() - forward())
    begin = max(np.abs(bench.arm.qd).max(), 3.0)
    for _ in range(500):
        bench.run(PERIOD)
        assert np.abs(bench.arm.qd).max() < 1.6 * begin
    assert bench.controller.phase is Phase.FAULT


def test_settings_that_change_with_every_state_do_not_freeze_the_torque():
    """Each change began a transfer that repeats the last command: 8 to 26 times the speed limit."""

    def worst(changing: bool) -> float:
        bench = Bench().start()
        follow(bench)
        error = 0.0
        for i in range(1200):
            if changing:
                share = 1.1 if i % 2 else 1.0 / 1.1
                its = bench.settings
                bench.configure(damping=its.damping * share, d=its.d * share)
            bench.run(PERIOD)
            error = max(error, np.abs(bench.arm.q - bench.desired[-1]).max())
        assert bench.controller.hold_reason == ""
        assert bench.largest_rate() <= 1.0
        return error

    assert worst(changing=True) < 1.2 * worst(changing=False) + 2e-3


def test_a_gap_in_the_states_does_not_end_a_fault(bench):
    bench.fail()
    reason = bench.controller.hold_reason
    bench.run(0.3, states=False)
    assert bench.controller.phase is Phase.OPEN_LOOP
    bench.arm.set_state(Q, np.zeros(2))
    bench.run(0.3)
    assert bench.controller.phase is Phase.FAULT
    assert bench.controller.hold_reason == reason


# Falling back


def test_fall_back_leads_into_the_damped_gravity_hold_and_recovers_by_itself_without_a_step(bench):
    follow(bench, 0.3)
    for _ in range(2):  # which is told once
        bench.controller.fall_back(bench.now)
    begin = len(bench.commands) - 1
    bench.run(0.44)  # stop_time and decay_time
    assert bench.controller.phase is Phase.DAMPED
    assert bench.controller.hold_reason == "unexpected exception"
    assert sum("unexpected" in note for note in bench.notes) == 1
    damping = bench.settings.damping * bench.compiled.qd
    assert_allclose(bench.commands[-1][1], bench.gravity() - damping, atol=0.02)
    bench.run(0.02)
    assert bench.controller.phase in RUNNING
    bench.run(0.5)
    assert bench.controller.phase is Phase.HOLDING
    assert bench.largest_step(begin) < 0.15  # 0.2 N m is the rate limit
    assert_allclose(bench.arm.qd, 0.0, atol=0.02)


def test_fall_back_again_and_again_ends_in_the_damped_gravity_hold(bench):
    follow(bench, 0.3)
    begin = len(bench.commands) - 1
    for _ in range(50):
        bench.controller.fall_back(bench.now)
        bench.run(0.01)
    assert bench.controller.phase is Phase.DAMPED
    damping = bench.settings.damping * bench.compiled.qd
    assert_allclose(bench.commands[-1][1], bench.gravity() - damping)
    assert bench.largest_step(begin) < 0.15


# Deactivation


def test_deactivation_decays_to_damped_gravity_hold_then_silence(bench):
    follow(bench, 0.3)
    bench.controller.deactivate(bench.now)
    bench.run(1.1)
    damping = bench.settings.damping * bench.compiled.qd
    hold = fr.Dynamics(bench.model).gravity(bench.compiled.q) - damping
    assert_allclose(bench.commands[-1][1], hold)
    assert bench.largest_rate() <= 1.0
    bench.run(0.3)
    assert bench.controller.phase is Phase.INACTIVE
    assert bench.commands[-1][0] < bench.now - 0.1


# Requests before there is anything to be changed


def test_model_can_be_changed_before_activation():
    bench = Bench()
    moon = model().with_gravity((0.0, 0.0, -1.62))
    bench.controller.change_model(bench.now, moon, 1.0)
    bench.controller.activate(bench.now)
    assert_allclose(bench.state(), fr.Dynamics(moon).gravity(Q))


# Joints that turn without end


def turn_to(bench, angle, duration=2.0):
    goal = [angle, Q[1]]
    bench.controller.set_trajectory(bench.now, NAMES, [Point(duration, goal, [0.0, 0.0])])
    bench.run(duration + 0.2)


def test_joint_without_end_goes_the_short_way_and_its_measurement_may_wrap():
    bench = Bench(control_arm.TURNING, path_tolerance=0.1).start()
    turn_to(bench, 2.0)
    turn_to(bench, 3.1)
    turn_to(bench, -3.1, 0.5)
    assert_allclose(bench.arm.q, [2.0 * np.pi - 3.1, Q[1]], atol=2e-3)
    turn_to(bench, -2.0)
    turn_to(bench, 1.0 + 20.0 * np.pi, 3.0)
    assert_allclose(bench.arm.q, [1.0 + 2.0 * np.pi, Q[1]], atol=2e-3)
    assert not bench.controller.refused
    assert bench.largest_rate() <= 1.0


def test_set_points_of_a_joint_without_end_go_the_short_way():
    bench = Bench(control_arm.TURNING).start()
    turn_to(bench, 3.1)
    for k in range(40):
        position = [3.1 + 0.002 * k - 2.0 * np.pi, Q[1]]
        bench.set_point(Point(0.0, position, [0.2, 0.0]))
        bench.run(0.01)
    assert_allclose(bench.arm.q[0], 3.18, atol=0.02)


# Where no arm is


@pytest.mark.parametrize("slack", [0.19, 0.21])
def test_arm_outside_its_limits_is_not_taken_over(slack):
    bench = Bench(start_tolerance=0.2)
    bench.arm.set_state(np.array([0.6, 2.9 + slack]), np.zeros(2))
    bench.controller.activate(bench.now)
    bench.state()
    if slack < 0.2:
        assert bench.controller.phase is Phase.HOLDING
        return
    assert bench.controller.phase is Phase.WAITING
    assert not bench.commands
    assert any("'elbow' stands at 3.11" in note and "2.9" in note for note in bench.notes)
    bench.arm.set_state(Q, np.zeros(2))
    bench.run(0.1)
    assert bench.controller.phase is Phase.HOLDING
    assert len(bench.notes) == 1


@pytest.mark.parametrize(
    ("lower", "is_taken"),
    [("0.05", False), ("0.0011", False), ("0.0009", True), ("-2.9", True)],
)
def test_zeros_that_the_arm_cannot_have_are_what_silent_hardware_says(lower, is_taken):
    bench = Bench(control_arm.URDF.replace('lower="-2.9"', f'lower="{lower}"'))
    bench.controller.activate(bench.now)
    command = bench.give(np.zeros(2))
    assert (command is not None) == is_taken
    assert any("stands at 0" in note for note in bench.notes) != is_taken


def test_a_position_that_stayed_may_be_the_arms_after_another_activation():
    bench = Bench(give_up_after=0.2).start()
    follow(bench)
    place = bench.arm.q
    for _ in range(1500):
        bench.give(place)
        bench.update()
    assert bench.controller.phase is Phase.SILENT
    bench.controller.deactivate(bench.now)
    bench.controller.activate(bench.now)
    bench.run(0.1)
    assert bench.controller.phase is Phase.HOLDING


# Coming to rest, within the range


@pytest.mark.parametrize("stop", ["deactivate", "hold", "states"])
def test_a_stop_before_a_limit_stays_within_the_range(stop):
    """Near the end of a motion that ends near a limit, with a stop_time that would lead beyond."""
    bench = Bench(stop_time=10.0).start()
    upper = control_arm.space().upper
    goal = upper - 0.02
    bench.controller.set_trajectory(bench.now, NAMES, [Point(2.5, goal, np.zeros(2), np.zeros(2))])
    while (goal - bench.compiled.desired[0]).max() > 0.15:
        bench.run(PERIOD)
    assert bench.arm.qd.max() > 0.2
    states = stop != "states"
    if stop == "deactivate":
        bench.controller.deactivate(bench.now)
    elif stop == "hold":
        bench.controller.hold(bench.now)
    count = len(bench.desired)
    bench.run(3.0, states=states)
    asked = np.array(bench.desired[count:])
    assert (asked <= upper + 1e-9).all()
    if states:  # without friction no stop is exact that nobody sees
        assert (np.array(bench.positions) < upper + 0.01).all()
    assert (asked >= asked[0] - 1e-3).all()  # it does not swing back either


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_stop_after_a_pause_begins_within_the_range(side):
    """Where the last command would have led beyond it."""
    bench, limit = Bench().start(), side * control_arm.space().upper
    fast = Point(2.0, limit - 0.03 * side, np.full(2, 0.5 * side), np.zeros(2))
    bench.controller.set_trajectory(bench.now, NAMES, [fast, Point(2.2, limit, np.zeros(2))])
    bench.run(2.0)
    bench.pass_time(0.1)
    bench.run(0.1, states=False)
    assert bench.controller.phase is Phase.OPEN_LOOP
    assert_allclose(bench.compiled.desired[0], limit)


# Settings that ask for more than there is


@pytest.mark.parametrize(
    ("change", "is_taken"),
    [
        ({"coulomb": 300.0}, False),
        ({"viscous": 300.0}, False),
        ({"p": 1e4}, False),
        ({"d": 1e3}, False),
        ({"offset": 300.0}, False),
        ({"coulomb": 0.5}, True),
        ({"viscous": 0.5}, True),
        ({"p": 120.0}, True),
    ],
)
def test_settings_that_ask_for_more_effort_than_there_is_are_not_taken_in_motion(change, is_taken):
    """All summands of the law count, as they would act now."""
    bench = Bench().start()
    goal = bench.arm.q + np.array([0.8, -0.8])
    bench.move(goal, 1.0)
    bench.run(0.4)
    bench.arm.set_state(bench.arm.q + 5e-3, bench.arm.qd + 0.03)
    bench.run(PERIOD)
    ((name, value),) = change.items()
    settings = bench.settings.drives if hasattr(bench.settings.drives, name) else bench.settings
    values = getattr(settings, name).copy()
    values[1] = value
    if is_taken:
        bench.configure(**{name: values})
        return
    with pytest.raises(ValueError, match="joint 'elbow' would need"):
        bench.configure(**{name: values})


def test_a_timeout_that_makes_each_state_a_gap_is_not_taken():
    """A stop that begins anew with each of them never ends."""
    bench = Bench().start()
    bench.move(bench.arm.q + 0.8)
    bench.run(0.4)
    with pytest.raises(ValueError, match=r"state_timeout is 0\.001 s, expected more"):
        bench.configure(state_timeout=PERIOD)
    bench.configure(state_timeout=2.5 * PERIOD)
    assert bench.run(0.1).controller.phase is Phase.TRAJECTORY


# Random sequences of whatever may happen to the controller.


P, D = np.array([100.0, 20.0]), np.array([10.0, 1.0])
ONE, X = np.ones(2), np.array([3.0, -2.0])


class Disturber:
    """Does random things to a controller; what it refuses is none of its business."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench, self.controller = bench, bench.controller
        self.random = random = np.random.default_rng(seed)
        some = random.choice
        self.acts: tuple[Callable[[], object], ...] = (
            self.trajectory,
            lambda: self.follow([Point(0.1, self.near(0.1)), Point(0.3, self.near(0.1), effort=X)]),
            lambda: bench.set_point(Point(0.0, self.near(0.05), random.normal(size=2), ONE, ONE)),
            self.target,
            lambda: self.controller.hold(bench.now),
            lambda: bench.configure(mode=Mode(some(list(Mode)))),
            lambda: bench.configure(feedforward_terms=Terms(some(list(Terms)))),
            lambda: bench.configure(effort_limit=np.full(2, random.uniform(5.0, 20.0))),
            lambda: bench.configure(p=random.uniform(0.2, 1.0) * P, d=random.uniform(0.2, 1.0) * D),
            self.payload,
            self.fall_back,
            lambda: bench.run(some([0.05, 0.15, 0.5, 1.5]), states=False),
            lambda: bench.run(some([0.05, 0.2]), states=False, timer=False),
            lambda: self.controller.accept_state(bench.now, np.array([np.nan, 0.0])),
            lambda: setattr(bench, "stamp", bench.stamp + some([-0.02, -10.0, 1e6])),
            lambda: bench.arm.set_state(bench.arm.q, random.normal(size=2)),
            lambda: bench.arm.set_state(self.near(0.5), np.zeros(2)),
            self.life,
        )

    def act(self) -> None:
        with suppress(TrajectoryError):
            self.acts[self.random.integers(len(self.acts))]()

    def near(self, spread: float) -> np.ndarray:
        return np.clip(self.bench.arm.q + self.random.normal(size=2) * spread, -2.8, 2.8)

    def follow(self, points: list[Point], delay: float | None = None) -> None:
        self.controller.set_trajectory(self.bench.now, NAMES, points, delay)

    def trajectory(self) -> None:
        times = np.cumsum(self.random.uniform(0.0, 0.5, size=3))
        points = [Point(t, self.near(0.5), self.random.normal(size=2)) for t in times]
        points.append(Point(times[-1] + 0.5, self.near(0.5), [0.0, 0.0]))
        self.follow(points, self.random.choice([None, -0.3, 0.0, 0.2]))

    def target(self) -> None:
        pose = fr.Dynamics(self.bench.model).link_pose(self.near(0.5), "link2")
        twist, wrench = self.random.normal(size=6), 10.0 * self.random.normal(size=6)
        self.controller.set_target(self.bench.now, pose, twist, wrench)

    def payload(self) -> None:
        mass = self.random.uniform(0.0, 1.0)
        loaded = self.bench.model.with_payload("link2", mass, (0.0, 0.0, 0.1))
        self.controller.change_model(self.bench.now, loaded, self.random.choice([0.0, 0.2]))

    def fall_back(self) -> None:
        for _ in range(self.random.integers(1, 40)):
            self.controller.fall_back(self.bench.now)
            self.bench.run(0.01, states=self.random.random() < 0.9)

    def life(self) -> None:
        if self.random.random() < 0.5:
            self.controller.deactivate(self.bench.now)
            self.bench.run(0.05)
        self.controller.activate(self.bench.now)


@pytest.mark.parametrize("seed", few_or_all(range(2), range(6)))
def test_no_step_and_no_nan_whatever_happens(seed):
    bench = Bench().start()
    disturber = Disturber(bench, seed)
    for _ in range(60):
        disturber.act()
        bench.run(0.02 + 0.1 * disturber.random.random())
        # The simulation has no stops.
        if np.abs(bench.arm.qd).max() > 20.0 or np.abs(bench.arm.q).max() > 3.0:
            bench.arm.set_state(Q, np.zeros(2))
    bench.controller.activate(bench.now)
    bench.configure(mode=Mode.FEEDFORWARD)
    bench.run(1.0)
    if bench.controller.phase is Phase.FAULT:
        bench.controller.hold(bench.now)
    assert bench.controller.phase in RUNNING
    commands = bench.torques()
    assert np.isfinite(commands).all()
    assert (np.abs(commands) <= 20.0).all()
    gaps = np.diff([time for time, _ in bench.commands])
    steps = np.abs(np.diff(commands, axis=0)).max(axis=1)
    allowed = 200.0 * np.clip(gaps, PERIOD, 0.005)
    assert (steps <= allowed + 1e-3).all()  # two states may come at one time
