"""What once made an arm fall or race, repeated with a Panda that moves over DDS."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from studies import study
from support import (
    ros_in_free_domain,
    status_values,
)  # skips this module where ROS is missing

# isort: split
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from neighbour import CONTROLLER
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters
from rosgraph_msgs.msg import Clock
from scene import (
    GAP,
    STANDING,
    Delayed,
    Frozen,
    FrozenJoint,
    Lie,
    Scene,
    altered,
    duration,
    in_turn,
    mirrored,
    named,
    stamped,
    swapped,
    truth,
    velocities,
)
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine

Action = Callable[[Scene], Any]


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Scene]:
    with (
        ros_in_free_domain(tmp_path_factory.mktemp("scene")) as ros,
        closing(Scene(ros)) as scene,
    ):
        yield scene


@pytest.fixture
def scene(shared: Scene) -> Iterator[Scene]:
    """The arm in fast motion."""
    shared.rest()
    shared.move()
    yield shared
    print(shared.row("", 0.0))


def status(scene: Scene, text: str) -> str:
    """Wait until the controller's diagnostics say this; return what they say."""
    return scene.ros.wait_for_diagnostics(
        lambda s: s.name == CONTROLLER[1:] and text in s.message, f"diagnostics {text!r}"
    ).message


def told(scene: Scene, lie: Callable[[], Lie], text: str) -> str:
    """Lie until the controller's diagnostics say this; return what they say.

    To an arm in motion: where a busy machine has broken that off, once more.
    """

    lies: list[Lie] = []

    def move_on() -> None:
        if lies:
            scene.recover()
            scene.move()
        lies.append(lie())
        scene.lie = lies[-1]

    heard = scene.ros.new_diagnostics(lambda s: s.name == CONTROLLER[1:] and text in s.message)
    return scene.ros.do_until(heard, f"diagnostics {text!r}", move_on).message


def assert_well(scene: Scene) -> None:
    """Ask the arm, if it is still asked to move, to hold; it never raced, and comes to rest."""
    hold = lambda: scene.ros.call(Trigger, f"{CONTROLLER}/hold").success  # noqa: E731
    scene.ros.wait_for(hold, "a hold")  # refused while there are no states
    scene.wait_for_rest()
    scene.assert_no_race(scene.peak)
    assert scene.controller.is_running


def assert_stands_at_last_command(scene: Scene, end: Callable[[], Any]) -> None:
    """End the commands: at the last one the arm stands, and it never raced.

    Where a busy machine has kept commands or states back, once more: an arm that nobody sees is
    braked by its model alone, and at the end of that it need not stand to the last.
    """

    def end_again() -> None:
        if ended:
            assert scene.gap > GAP, f"{scene.speed_at_last_command} rad/s at the last command"
            scene.recover()
            scene.move()
        end()
        ended.append(True)

    ended: list[bool] = []
    stands = lambda: scene.speed_at_last_command < STANDING  # noqa: E731
    scene.ros.do_until(stands, "end without a gap", end_again, 0.0)
    scene.assert_no_race(scene.peak)


# 1. Exceptions in the executor.


def set_unknown_type(scene: Scene) -> None:
    parameter = ParameterMessage(name="mode", value=ParameterValue(type=77))
    request = SetParameters.Request(parameters=[parameter])
    response = scene.ros.call(SetParameters, f"{CONTROLLER}/set_parameters", request)
    assert not response.results[0].successful


def reference_that_overflows(scene: Scene) -> None:
    references = scene.ros.publisher(JointTrajectoryPoint, f"{CONTROLLER}/reference")
    for velocity in (1e100, -1e308):
        references.publish(
            JointTrajectoryPoint(positions=scene.q, velocities=[velocity] * len(scene.q))
        )
    point = JointTrajectoryPoint(positions=scene.q, time_from_start=duration(0.0))
    scene.trajectories.publish(JointTrajectory(joint_names=scene.names, points=[point]))
    status(scene, "refused")


def clock_before_time(scene: Scene) -> None:
    scene.ros.set_parameters(CONTROLLER, {"use_sim_time": True})
    scene.ros.publisher(Clock, "/clock").publish(Clock(clock=Time(sec=-1)))
    scene.ros.run_for(0.3)
    scene.ros.set_parameters(CONTROLLER, {"use_sim_time": False})


def reference_that_races(scene: Scene) -> None:
    references = scene.ros.publisher(JointTrajectoryPoint, f"{CONTROLLER}/reference")
    fast = [30.0] * len(scene.q)
    heard = scene.ros.new_diagnostics(
        lambda s: s.name == CONTROLLER[1:] and "velocity" in s.message
    )

    scene.ros.do_until(
        heard,
        "refusal",
        lambda: references.publish(JointTrajectoryPoint(positions=scene.q, velocities=fast)),
    )


def oversized_trajectory(scene: Scene) -> None:
    point = JointTrajectoryPoint(positions=scene.q)
    scene.trajectories.publish(JointTrajectory(joint_names=scene.names, points=[point] * 100_000))
    status(scene, " bytes, expected at most")


def effort_besides(scene: Scene) -> None:
    """An effort beyond the motors' is refused; their full effort ends with the motion."""
    for share, text in ((2.0, "its effort limit"), (1.0, "abandoned")):
        effort = share * scene.effort_limit
        points = [
            JointTrajectoryPoint(positions=scene.q, effort=effort, time_from_start=duration(t))
            for t in (0.2, 3.0)
        ]
        scene.trajectories.publish(JointTrajectory(joint_names=scene.names, points=points))
        status(scene, text)


def wrong_units(scene: Scene) -> None:
    last = scene.names[-1]
    for values in (
        {"payload.link": "panda_link7", "payload.mass": 1.0, "payload.com": [50.0, 0.0, 0.0]},
        {
            "payload.link": "panda_link7",
            "payload.mass": 1.0,
            "payload.inertia": [1.0, 0.0, 0.0, 0.001, 0.0, 0.001],
        },
        {f"torque_rate.{last}": 1e-6},
        {f"armature.{last}": 1e308},
    ):
        results = scene.ros.set_parameters(CONTROLLER, values, atomically=True)
        assert not results[0].successful and results[0].reason, values


def a_hundred_future_trajectories(scene: Scene) -> None:
    message = scene.trajectory(30.0)
    message.header.stamp = Time(sec=int(scene.ros.node.get_clock().now().nanoseconds * 1e-9) + 1000)
    before = resident(scene)
    for _ in range(100):
        scene.trajectories.publish(message)
        scene.ros.run_for(0.01)
    assert resident(scene) - before < 20.0


def resident(scene: Scene) -> float:
    """Return the controller's memory [MB]."""
    with open(f"/proc/{scene.controller.pid}/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6


HARMLESS = [
    (set_unknown_type, clock_before_time, oversized_trajectory, wrong_units),
    (reference_that_overflows, reference_that_races),
    (effort_besides,),
    (a_hundred_future_trajectories,),
]


@pytest.mark.parametrize("actions", HARMLESS, ids=lambda actions: actions[0].__name__)
def test_arm_neither_falls_nor_races_after(actions: tuple[Action, ...], scene):
    for action in actions:
        action(scene)
        scene.assert_no_race(scene.peak)
    assert_well(scene)


# 2 and 3. Ends of all kinds.


@pytest.mark.parametrize("signum", [study(signal.SIGHUP), signal.SIGQUIT])
def test_signal_stops_the_arm_before_the_commands_end(signum, scene):
    def end() -> None:
        scene.controller.send(signum)
        status_of_exit = scene.controller.wait()
        assert status_of_exit == (0 if signum == signal.SIGHUP else 128 + signum)

    assert_stands_at_last_command(scene, end)
    scene.ros.run_for(0.5)
    assert scene.speed < STANDING


@pytest.mark.parametrize(
    "transitions", [study(["deactivate"]), ["deactivate", "cleanup"], ["shutdown"]], ids="+".join
)
def test_transition_stops_the_arm_before_the_commands_end(transitions, scene):
    def end() -> None:
        for transition in transitions:
            assert scene.ros.change_state(CONTROLLER, transition)
        scene.wait_for_silence()
        if "shutdown" in transitions:
            scene.controller.kill()

    assert_stands_at_last_command(scene, end)
    scene.wait_for_rest()


# 4. Drivers that lie.


@pytest.mark.parametrize("factor", [study(0.0), -1.0, study(0.3)], ids=str)
def test_velocities_that_contradict_the_positions_are_named(factor, scene):
    told(scene, lambda: velocities(factor), "velocities are inconsistent with the positions")
    scene.assert_no_race(scene.peak, 1.5)  # a damper of the wrong sign: once 11


# How far the arm has come until that is seen goes by real time; test_frozen_states.py has it
# in simulated time.
REPEATS = [
    pytest.param(False, id="same stamp"),
    pytest.param(True, id="new stamps", marks=pytest.mark.alone),
]


@pytest.mark.parametrize("new_stamps", REPEATS)
def test_repeated_states_are_named_and_the_arm_is_braked(new_stamps, scene):
    text = "stays the same to the bit" if new_stamps else "not newer"
    assert "no usable joint state" in told(scene, lambda: Frozen(new_stamps), text)
    scene.wait_for_silence()
    # Until then: nobody sees the arm any more, and it is upside down.
    scene.assert_no_race(scene.peak_at_last_command)


def test_states_that_fall_behind_are_named_and_the_arm_is_braked(scene):
    """By 150 ms, each with the stamp of when it was measured."""
    told(scene, lambda: Delayed(30), "on the way for too long")
    scene.wait_for_silence()
    scene.assert_no_race(scene.peak_at_last_command)


@pytest.fixture
def braked(ros) -> Iterator[Scene]:
    """An arm whose drives put their brakes on 0.2 s after the last command."""
    with closing(Scene(ros, watchdog=0.2)) as scene:
        yield scene
        print(scene.row("", 0.0), f"at the last command {scene.peak_at_last_command:.2f}")


@pytest.mark.alone
@pytest.mark.parametrize("joint", [1, 3])
def test_a_dead_encoder_that_says_it_stands_is_named_and_the_arm_is_braked(joint, braked):
    """On a busy machine the arm may be off its path before the time that it takes to be sure."""
    braked.move()
    braked.lie = FrozenJoint(joint)
    assert f"panda_joint{joint + 1}" in status(braked, "no usable joint state")
    braked.wait_for_rest()
    braked.assert_no_race(braked.peak, 2.0)  # once 10 to 14, green


WRONG_ENCODERS = {
    "elbow mirrored": mirrored(3),
    "shoulder and elbow swapped": swapped(1, 3),
}


@pytest.mark.parametrize("what", ["elbow mirrored", study("shoulder and elbow swapped")])
def test_an_arm_whose_encoders_cannot_be_right_is_not_taken_over(what, braked):
    """Nor at the next state, which says the same; then with the truth."""
    assert braked.ros.change_state(CONTROLLER, "deactivate")
    braked.wait_for_silence()
    braked.lie = WRONG_ENCODERS[what]
    braked.watch()
    count = braked.commands
    assert braked.ros.change_state(CONTROLLER, "activate")
    assert "the arm is not taken over there" in status(braked, "panda_joint")
    braked.ros.run_for(0.5)
    assert braked.commands == count
    braked.lie = truth
    braked.wait_for_hold()
    braked.assert_no_race(braked.peak)


def test_states_that_stop_in_motion_under_a_timer_end_at_rest(ros):
    with closing(Scene(ros, update_on="timer")) as scene:
        scene.move()

        def end() -> None:
            scene.lie = lambda state: None
            scene.wait_for_silence()

        assert_stands_at_last_command(scene, end)  # once 4 to 12 times its limit, moving


# States as no arm of ours sends them, but as a driver may: changed in mid-motion.

TWICE = named(lambda n: [*range(n), 0])
HARMLESS_STATES = {
    "names in another order each time": in_turn(
        named(lambda n: [*range(n)][::-1]), named(lambda n: [*range(1, n), 0])
    ),
    "a gripper's fingers in between": in_turn(named(lambda n: [n, *range(n), n, n]), truth),
    "in two messages": in_turn(named(lambda n: [*range(3)]), named(lambda n: [*range(3, n)])),
    "every second one names a joint twice": in_turn(TWICE, truth),
    "every second one lacks a joint": in_turn(named(lambda n: [*range(1, n)]), truth),
    "velocities of some joints": altered(
        velocity=lambda s: [v if i % 2 else math.nan for i, v in enumerate(s.velocity)]
    ),
    "no velocities, no efforts": altered(velocity=lambda s: [], effort=lambda s: []),
    "no stamps": stamped(lambda t: 0.0),
    "stamps of another epoch": stamped(lambda t: t - 1.4e9),
    "stamps before time began": stamped(lambda t: t - 2e9),
    "stamps of two epochs": in_turn(stamped(lambda t: t - 1.4e9), truth),
}
USELESS_STATES = {
    "a joint twice": TWICE,
    "a joint is missing": named(lambda n: [*range(1, n)]),
    "too few efforts": altered(effort=lambda s: list(s.effort)[1:]),
    "too few velocities": altered(velocity=lambda s: list(s.velocity)[1:]),
    "stamps in whole seconds": stamped(math.floor),
}


def test_the_arm_moves_on_with_states_that_have_all_that_is_needed(scene):
    """In one motion: what abandons it is in the controller's log after the lie's name."""

    def lie_all() -> None:
        if scene.lie is not truth:  # the last of them
            scene.recover()
            scene.move()
        for what, lie in HARMLESS_STATES.items():
            print(what, scene.controller.output[-200:])
            scene.lie, commands = lie, scene.commands
            scene.ros.wait_for(lambda commands=commands: scene.commands > commands + 100, what)
            scene.assert_no_race(scene.peak)
        heard()  # what was told meanwhile

    heard = scene.ros.new_diagnostics(is_on_its_way)
    scene.ros.do_until(heard, "motion with all of them", lie_all)


def is_on_its_way(status: DiagnosticStatus) -> bool:
    return status.name == CONTROLLER[1:] and "running: trajectory" in status.message


@pytest.mark.parametrize(
    "what",
    [
        "a joint twice",
        study("a joint is missing"),
        study("too few efforts"),
        study("too few velocities"),
        "stamps in whole seconds",
    ],
)
def test_the_arm_is_braked_where_states_are_of_no_use(what, scene):
    told(scene, lambda: USELESS_STATES[what], "no usable joint state")
    scene.wait_for_rest()
    # If the rest is seen late: until the commands end, which they then have.
    scene.assert_no_race(scene.peak_at_last_command)


def test_states_of_a_clock_that_was_set_back_are_believed_again(scene):
    """As it is when a driver's computer gets the time; once silence until a deactivation."""
    for lie in (stamped(lambda t: t + 0.4), truth):
        scene.lie = lie
        scene.ros.run_for(0.6)  # stamps are behind the last one, and then not late
        scene.wait_for_hold()
    assert_well(scene)


# Usability.


UNUSABLE = {
    "left_": altered(name=lambda s: [f"left_{name}" for name in s.name]),
    "degrees?": altered(position=lambda s: [math.degrees(q) for q in s.position]),
}


@pytest.mark.study  # test_first_mistakes.py has them without an arm
@pytest.mark.parametrize("what", UNUSABLE)
def test_unusable_states_give_a_line_that_says_why(what, shared):
    shared.recover()
    shared.controller.stop()
    shared.lie = UNUSABLE[what]
    shared.controller = shared.start_controller(wait=False)
    shared.controller.wait_for_output("expected")
    lines = shared.controller.output.splitlines()
    assert any(what in line and "expected" in line for line in lines)


def test_far_future_trajectory_is_told_of_and_the_arm_stands(shared):
    shared.recover()
    message = shared.trajectory(5.0)
    message.header.stamp = Time(sec=2_000_000_000)

    shared.watch()
    is_told = lambda: "begins in" in shared.controller.output  # noqa: E731
    shared.ros.ask(shared.trajectories, message, is_told, "word of it")
    assert shared.wait_for_rest() < 1.0 or shared.gap > GAP


def test_effort_limits_that_cannot_hold_the_arm_are_refused_with_figures(shared):
    shared.recover()
    assert shared.ros.change_state(CONTROLLER, "deactivate")
    shared.wait_for_silence()
    shared.ros.set_parameters(CONTROLLER, {"effort_scale": 0.05})
    shared.watch()
    count = shared.commands
    shared.ros.change_state(CONTROLLER, "activate")
    assert "needs" in status(shared, "to be held")
    assert shared.commands == count
    shared.ros.set_parameters(CONTROLLER, {"effort_scale": 1.0})
    shared.wait_for_hold()
    assert shared.way < 0.1


# 9. Delay in the loop.


@pytest.mark.alone  # a busy machine's own delay comes on top
def test_states_that_come_late_by_their_stamps_make_no_arm_swing(ros):
    with closing(Scene(ros, "ur5e")) as scene:
        scene.lie = Delayed(8)  # 40 ms
        scene.watch()
        scene.trajectories.publish(scene.trajectory())
        ros.run_for(3.0)
        scene.assert_no_race(scene.peak, 1.2)
        found = ros.wait_for_diagnostics(lambda s: "age of joint states" in str(s.values))
        assert float(status_values(found)["age of joint states on arrival [s]"]) > 0.03
        assert found.message.startswith("running")


def test_limit_cycle_ends_in_a_damped_hold(ros):
    with closing(Scene(ros, "ur5e")) as scene:
        scene.lie = Delayed(4, new_stamps=True)  # 20 ms, unknown to the controller
        scene.watch()
        ros.ask(
            scene.trajectories,
            scene.trajectory(),
            ros.new_diagnostics(
                lambda s: "gravity hold" in s.message and "joint state" not in s.message
            ),
            "fault",
        )
        scene.wait_for_rest()
        scene.assert_no_race(scene.peak, 5.0)  # the cycle grows until it is noticed


# Settings: what is refused at the start is refused in motion, by the arm's present state.


UNBEARABLE = [
    ({"friction.panda_joint2.offset": 1000.0}, "panda_joint2"),
    ({"friction.panda_joint7.offset": -1000.0}, "panda_joint7"),
    ({"effort_scale": 0.0}, "panda_joint"),
    ({"effort_scale": 0.01}, "panda_joint"),
    ({"effort_limit.panda_joint4": 1.0}, "panda_joint4"),
    ({"payload.mass": 50.0, "payload.link": "panda_link7"}, "panda_joint"),
    ({"gravity": [0.0, 0.0, -100.0]}, "panda_joint"),
]


def test_settings_that_could_not_hold_and_brake_the_arm_change_nothing(scene):
    ros = scene.ros
    for values, joint in UNBEARABLE:
        before = {name: ros.get_parameter(CONTROLLER, name) for name in values}
        (result,) = ros.set_parameters(CONTROLLER, values, atomically=True)
        assert not result.successful
        for name in values:
            assert f"{name} is {values[name]}" in result.reason
        assert f"joint '{joint}" in result.reason and "its effort limit of" in result.reason
        assert {name: ros.get_parameter(CONTROLLER, name) for name in values} == before
    scene.watch()
    ros.wait_for(lambda: scene.way > 0.2, "the motion, which goes on")
    scene.assert_no_race(scene.peak, 1.2)


def test_settings_that_suffice_are_taken_in_motion(scene):
    load = {"payload.mass": 1.0, "payload.link": "panda_link7"}
    changes = {"effort_scale": 0.8, **load, "friction.panda_joint2.offset": 1.0}
    usual = {"effort_scale": 1.0, "payload.mass": 0.0, "friction.panda_joint2.offset": 0.0}
    for values in (changes, usual):
        (result,) = scene.ros.set_parameters(CONTROLLER, values, atomically=True)
        assert result.successful, result.reason
    scene.assert_no_race(scene.peak, 1.2)


def test_a_torque_rate_with_which_a_push_could_not_be_braked_is_refused(scene):
    """To the effort limit of 87 within 10 s, or a second."""
    name = "torque_rate.panda_joint1"
    for share in (0.1, 1.0):
        (result,) = scene.ros.set_parameters(CONTROLLER, {name: 87.0 * share})
        assert not result.successful
        assert result.reason.startswith(f"{name} is") and "expected at least" in result.reason


def test_a_trajectory_that_shakes_the_arm_is_refused_with_joint_point_and_value(scene):
    """Accelerations of 1000 rad/s^2 to and fro between points 20 ms apart."""
    n, zero = len(scene.names), [0.0] * len(scene.names)
    shaken = [
        JointTrajectoryPoint(
            positions=scene.home,
            velocities=zero,
            accelerations=[1000.0 * (-1.0) ** k] * n,
            time_from_start=duration(1.0 + 0.02 * k),
        )
        for k in range(100)
    ]
    scene.trajectories.publish(JointTrajectory(joint_names=scene.names, points=shaken))
    said = status(scene, "refused joint_trajectory: acceleration of joint 'panda_joint1' is 1000")
    assert "between point 0 at 1 s and the next at 1.02 s, expected at most 217.5" in said
    scene.assert_no_race(scene.peak, 1.2)  # the motion before goes on


@pytest.mark.study
def test_a_measured_effort_that_is_wrong_by_half_the_limit_does_not_throw_the_arm(ros):
    """In lockstep: no torque that the controller takes over lasts longer than a period."""
    with closing(Scene(ros, pace=3.0)) as scene:
        scene.controller.stop()
        scene.lie = altered(
            effort=lambda s: [
                e + 0.49 * m for e, m in zip(s.effort, scene.effort_limit, strict=True)
            ]
        )
        scene.watch()
        scene.controller = scene.start_controller()
        begin = scene.now
        ros.wait_for(lambda: scene.now > begin + 1.0, "a second")
        scene.assert_no_race(scene.peak)
