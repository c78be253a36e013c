"""The controller node as a process over DDS: interface, faults, life.

Most tests share one process, which is told to believe in old joint states; a state is answered by
one command, so that every test can await the answer to the state it sends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import control_arm
import numpy as np
import pytest
from control_arm import URDF, Q
from numpy.testing import assert_allclose
from support import Ros, point, stamp, status_values  # skips this module where ROS is missing

# isort: split
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.publisher import Publisher
from rig import Rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import featherstone_ros as fr

MODULE = "featherstone_ros.feedforward_controller"
NODE = "/feedforward_controller"
NAMES = list(control_arm.NAMES)
GRAVITY = fr.Dynamics(fr.Model.from_urdf(URDF)).gravity(Q)
PARAMETERS = {
    "robot_description": URDF,
    **{f"gains.{name}.p": 100.0 for name in NAMES},
    **{f"gains.{name}.d": 10.0 for name in NAMES},
}
# With margin at 250 states a second, on a busy machine, too.
STABLE = {"gains.elbow.p": 20.0, "gains.elbow.d": 1.0, "gains.shoulder.d": 5.0}
TIMEOUTS = ("state_timeout", "reference_timeout", "executor_timeout")
NAMED_PAYLOAD = {
    "payload.names": ["load"],
    "payloads.load.link": "link2",
    "payloads.load.mass": 1.0,
    "payloads.load.com": [0.0, 0.0, 0.2],
}
PATIENT = dict.fromkeys(TIMEOUTS, 10.0)  # a node that stands still for seconds goes on
PATIENT["give_up_after"] = 1.0  # without states it does not command for long


class ScriptedArm:
    """A controller process, and an arm that only says where it is when the test wants it."""

    def __init__(self, ros: Ros, module: str = MODULE, **parameters: Any) -> None:
        self.ros = ros
        self.trajectories: Publisher | None = None
        self.process = ros.start(module, {**PARAMETERS, **parameters})
        self.states = ros.publisher(JointState, "joint_states")
        self.commands = ros.collect(Float64MultiArray, f"{NODE}/commands")
        self.time = 100.0
        self.noise = 1e-12  # [rad]
        ros.wait_for_state(NODE, "active")
        ros.wait_for(
            lambda: ros.node.count_publishers(f"{NODE}/commands") > 0, "publisher of commands"
        )

    def message(self, q: Sequence[float] = Q, **fields: Any) -> JointState:
        """Return a state of the arm at rest, 10 ms after the last one.

        Not the same to the bit: where a busy machine lets the motion get ahead, that would be a
        position that is repeated, and no state be usable any more.
        """
        self.time += 0.01
        self.noise = -self.noise
        message = JointState(name=list(NAMES), position=[float(x) + self.noise for x in q])
        message.velocity = [0.0] * len(message.position)
        message.header.stamp = stamp(self.time)
        for field, value in fields.items():
            setattr(message, field, value)
        return message

    def answer(self, message: JointState | None = None) -> np.ndarray:
        """Send a state (the arm at rest), return the command that answers it."""
        count = len(self.commands)
        self.states.publish(message or self.message())
        self.ros.wait_for(lambda: len(self.commands) > count, "command")
        assert len(self.commands) == count + 1
        return np.array(self.commands[-1].data)

    def settle(self, torque: np.ndarray) -> None:
        """Send states until the commands that answer five in a row are this torque.

        That may be long after the request: stamps that have kept pace with the node's clock stand
        while a test waits, and what is asked for meanwhile begins when they have caught up.
        """
        same = 0

        def is_settled() -> bool:
            nonlocal same
            same = same + 1 if np.abs(self.answer() - torque).max() < 1e-6 else 0
            return same == 5

        self.ros.wait_for(is_settled, f"command {torque}", period=0.0)

    def status(self, text: str = "") -> DiagnosticStatus:
        """Return the controller's next diagnostics that have ``text`` in their message."""
        return self.ros.status(text, NODE)

    def values(self, **expected: str) -> dict[str, str]:
        """Return the details of the controller's next diagnostics that have these values."""

        def found() -> dict[str, str] | None:
            status = self.status()
            values = {"message": status.message, **status_values(status)}
            return values if expected.items() <= values.items() else None

        return self.ros.wait_for(found, f"diagnostics {expected}", period=0.0)

    def set(self, **values: Any) -> list[bool]:
        """Set parameters ('__' for '.'), return for each whether it was taken."""
        values = {name.replace("__", "."): value for name, value in values.items()}
        return [result.successful for result in self.ros.set_parameters(NODE, values)]

    def lose_patience(self) -> None:
        """Have it wait for states no longer than it does for a real arm's."""
        assert all(self.set(state_timeout=0.1, give_up_after=0.2))

    def stop(self) -> None:
        """End the process; no more states come."""
        self.lose_patience()
        self.process.stop()

    def follow(
        self, points: Sequence[JointTrajectoryPoint], log: str = "trajectory of", **fields: Any
    ) -> None:
        """Send a trajectory and wait for what the controller says to it."""
        if self.trajectories is None:
            topic = f"{NODE}/joint_trajectory"
            self.trajectories = self.ros.publisher(JointTrajectory, topic)
        count = self.process.output.count(log)
        message = JointTrajectory(**{"joint_names": NAMES, "points": points, **fields})
        self.trajectories.publish(message)
        self.ros.wait_for(lambda: self.process.output.count(log) > count, f"{log!r} in the log")


@pytest.fixture(scope="module")
def shared(shared_ros: Ros) -> ScriptedArm:
    return ScriptedArm(shared_ros, **PATIENT, **NAMED_PAYLOAD)


@pytest.fixture
def arm(shared: ScriptedArm) -> Iterator[ScriptedArm]:
    """The shared controller, holding the arm at Q in mode feedforward."""
    unloaded = {"payload__mass": 0.0, "payload__link": "", "payload__name": ""}
    shared.set(mode="gravity_compensation", preflight="warn", **unloaded, **PATIENT)
    shared.answer()  # it may predict an arm that has moved: tests with nodes of their own take long
    assert all(shared.set(mode="feedforward"))
    shared.ros.take_all(shared.commands)  # it has commanded all that time
    shared.settle(GRAVITY)
    yield shared
    assert shared.process.is_running
    assert np.isfinite([list(command.data) for command in shared.commands]).all()


# Joint states

BAD_STATES = {  # further ones: test_state_observer.py, test_state_clock.py, test_cdr.py
    "nan": ({"position": [0.6, float("nan")]}, "joint states refused, not finite"),
    "positions too short": ({"position": [0.6]}, "messages refused on joint_states"),
    "older stamp": ({"header": -0.1}, "joint states refused, stamp not newer than the last"),
    # Further than the arm comes at twice its speed limit while a busy machine stands still.
    "jump": ({"position": [-8.9, 0.5]}, "joint states refused, position out of reach"),
}


def test_bad_states_are_counted_and_do_not_act(arm):
    arm.values()  # may have been written before the last test's states were
    values = arm.values()
    counters = Counter(counter for _, counter in BAD_STATES.values())
    expected = {name: str(int(values.get(name, 0)) + n) for name, n in counters.items()}
    arm.answer()
    for case in BAD_STATES:
        fields, _ = BAD_STATES[case]
        message = arm.message(**{k: v for k, v in fields.items() if k != "header"})
        if "header" in fields:
            message.header.stamp = stamp(arm.time - 0.01 + fields["header"])
        arm.states.publish(message)
        assert_allclose(arm.answer(), GRAVITY, atol=1e-6, err_msg=case)
        arm.ros.run_for(0.02)  # in which another answer may come
        assert_allclose(arm.commands[-1].data, GRAVITY, atol=1e-6, err_msg=case)
    arm.values(**expected)


def test_second_publisher_of_joint_states_is_reported_only_if_its_joints_are_the_same(arm):
    other = arm.ros.node.create_publisher(JointState, "joint_states", 10)
    gripper = JointState(name=["finger"], position=[0.01])

    def heard_beside(make: Callable[[], JointState]) -> dict[str, str]:
        """Before it is discovered, nobody hears it."""
        for _ in range(10):
            arm.answer()
            other.publish(make())
        status = arm.status()
        return {"message": status.message, **status_values(status)}

    own = arm.ros.wait_for(
        lambda: (
            (said := heard_beside(lambda: gripper))
            and int(said["joint states of other joints"]) >= 10
            and said
        ),
        "ten of them",
    )
    assert own["message"].startswith("running") and "publishers" not in own["message"]
    arm.ros.wait_for(
        lambda: "2 publishers on joint_states" in heard_beside(arm.message)["message"], "a warning"
    )
    arm.values(**{"publishers on joint_states": "/probe, /probe"})  # DDS may tell the node later
    arm.ros.node.destroy_publisher(other)
    arm.values(**{"publishers on joint_states": "/probe"})


def test_states_that_are_refused_do_not_keep_the_arm_from_being_braked(arm):
    arm.lose_patience()
    arm.answer()
    frozen, count = arm.message(), len(arm.commands)
    braked = lambda: arm.states.publish(frozen) or len(arm.commands) > count + 20  # noqa: E731
    often = 0.002  # [s]: the state comes more often than the watchdog looks
    arm.ros.wait_for(braked, "commands without a usable state", period=often)


# Trajectories, set-points, hold


def test_trajectory_is_followed(arm):
    desired = arm.ros.collect(JointState, f"{NODE}/desired")
    error = arm.ros.collect(JointState, f"{NODE}/error")
    goal = Q + 0.05
    arm.follow([point(0.5, [goal[1], goal[0]])], joint_names=["elbow", "shoulder"])
    model = gravity_at(goal)
    arm.settle(model + 100.0 * (goal - Q))
    last = stamp(arm.time)
    arm.ros.wait_for(lambda: desired and desired[-1].header.stamp == last, "newest desired")
    arm.ros.wait_for(lambda: error and error[-1].header.stamp == last, "newest error")
    assert desired[-1].name == NAMES
    assert_allclose(desired[-1].position, goal)
    assert_allclose(error[-1].position, goal - Q)
    assert_allclose(desired[-1].effort, model)


def gravity_at(q: np.ndarray) -> np.ndarray:
    return fr.Dynamics(fr.Model.from_urdf(URDF)).gravity(q)


def test_bad_trajectory_is_refused_with_a_reason_and_the_old_one_kept(arm):
    arm.follow([point(0.3, Q + 0.05)])
    arm.answer()
    diagnostics = arm.ros.collect(DiagnosticArray, "/diagnostics")
    # The same complaint is logged once in 5 s, but every one is on the diagnostics at once.
    reason = "unknown joint 'wrist'"
    arm.trajectories.publish(
        JointTrajectory(joint_names=["shoulder", "wrist"], points=[point(1.0, Q)])
    )
    status = arm.ros.wait_for(
        lambda: next((s for d in diagnostics for s in d.status if reason in s.message), None),
        f"diagnostics {reason!r}",
    )
    assert status.level == DiagnosticStatus.WARN
    assert status_values(status)["following"] == "trajectory"
    arm.settle(gravity_at(Q + 0.05) + 5.0)


def test_points_without_times_come_at_the_frequency_of_the_policy(arm):
    chunk = [point(0.0, Q + 0.005 * k) for k in range(11)]
    arm.follow(chunk, "times do not increase")
    assert all(arm.set(policy_frequency=20.0))
    arm.follow(chunk, "trajectory of 11 points, 0.500 s")
    arm.settle(gravity_at(Q + 0.05) + 5.0)
    assert all(arm.set(policy_frequency=0.0))


def test_diagnostics_tell_how_old_a_trajectory_is_and_how_far_it_jumps(arm):
    since = Header(stamp=stamp(arm.time - 0.25))  # a quarter of its way
    arm.follow([point(0.0, Q + 0.03), point(1.0, Q + 0.07)], header=since)
    arm.answer()
    values = arm.values(following="trajectory")
    assert values["age of trajectories on arrival [s]"] == "0.250"
    assert values["jump between trajectories [rad or m]"].startswith("0.0400 (")


# 5 rad/s, the limit is 3; late enough that no blending from the motion before softens it.
TOO_FAST = [point(0.5, Q), point(0.6, Q + 0.5), point(2.0, Q)]
TOO_SHARP = [point(0.5, Q), point(0.6, Q + 0.25), point(2.0, Q)]  # jumps to 2.5 rad/s


def test_preflight_is_off_or_warns_or_refuses_and_what_is_too_fast_is_refused_anyway(arm):
    def refused(points: Sequence[JointTrajectoryPoint], text: str) -> None:
        arm.trajectories.publish(JointTrajectory(joint_names=NAMES, points=points))
        status = arm.status(f"the arm cannot follow: velocity of joint {text}")
        assert status.level == DiagnosticStatus.WARN
        assert status_values(status)["following"] == "trajectory"

    assert all(arm.set(preflight="off"))
    before = arm.process.output.count("cannot follow")
    arm.follow(TOO_FAST)
    arm.answer()
    arm.values(following="trajectory", message="running: trajectory")
    assert arm.process.output.count("cannot follow") == before
    assert all(arm.set(preflight="warn"))
    arm.follow(TOO_SHARP, log="the arm cannot follow the trajectory: velocity of joint")
    arm.answer()
    assert arm.status("the arm cannot follow the trajectory").level == DiagnosticStatus.WARN
    refused(TOO_FAST, "'shoulder' 5 rad/s")
    arm.follow([point(0.3, Q + 0.05)])
    arm.answer()
    arm.values(following="trajectory", message="running: trajectory")
    assert all(arm.set(preflight="reject"))
    refused(TOO_SHARP, "'elbow' jumps")
    arm.settle(gravity_at(Q + 0.05) + 5.0)


def test_preflight_knows_the_payload(arm):
    assert all(arm.set(preflight="reject", payload__link="link2", payload__mass=7.0))
    arm.follow([point(1.0, Q + 0.6)], log="gravity and friction alone are too much, however slow")


def test_reference_is_followed(arm):
    publisher = arm.ros.publisher(JointTrajectoryPoint, f"{NODE}/reference")
    there = JointTrajectoryPoint(positions=[float(x) for x in Q + 0.05])
    told = arm.ros.new_status(node=NODE, following="reference")
    arm.ros.wait_for(lambda: publisher.publish(there) or told(), "a reference that is followed")
    arm.settle(gravity_at(Q + 0.05) + 5.0)
    publisher.publish(JointTrajectoryPoint(positions=[0.6]))
    arm.status("refused reference: point 0: 1 positions, expected 2")


def test_an_arm_that_did_not_arrive_is_named_until_that_is_near_enough(arm):
    """Of more arms and motions: test_arrival.py. Its states come at 100 Hz."""
    arm.follow([point(0.3, Q + 0.05)])
    slow = {"gains": "for gains.period 2 ms"}
    text = "did not arrive: shoulder 50.0 mrad"
    told = arm.ros.new_status(text, NODE, DiagnosticStatus.WARN, **slow)

    def is_told() -> DiagnosticStatus | None:
        arm.settle(gravity_at(Q + 0.05) + 5.0)
        return told()

    arm.ros.wait_for(is_told, text, period=0.03)
    near = {f"constraints__{name}__goal": 0.1 for name in NAMES}
    assert all(arm.set(**near))
    assert arm.status("running: hold").level == DiagnosticStatus.OK
    assert all(arm.set(**dict.fromkeys(near, 0.0)))


def test_hold_stops_a_trajectory(arm):
    arm.follow([point(1000.0, Q + 0.5)])
    arm.answer()
    response = arm.ros.call(Trigger, f"{NODE}/hold")
    assert response.success, response.message
    arm.values(following="hold")


# Parameters


def test_payload_is_exchanged_by_name(arm):
    assert all(arm.set(payload__transition_time=0.2, payload__name="load"))
    loaded = fr.Dynamics(fr.Model.from_urdf(URDF).with_payload("link2", 1.0, [0, 0, 0.2]))
    share = (arm.answer() - GRAVITY) / (loaded.gravity(Q) - GRAVITY)
    assert (share < 0.5).all()
    arm.settle(loaded.gravity(Q))
    (result,) = arm.ros.set_parameters(NODE, {"payload.name": "laod"})
    assert "payload.name is laod (nearest: load)" in result.reason
    for fixed in ({"payload.names": ["load", "laod"]}, {"drives.shoulder.torque_constant": 0.2}):
        assert not arm.ros.set_parameters(NODE, fixed)[0].successful
    assert_allclose(arm.answer(), loaded.gravity(Q), atol=1e-6)


# Diagnostics


WAIT_BITSET = "0x89"  # FUTEX_WAIT_BITSET_PRIVATE, as in atomic.pxd; locks wait otherwise


@contextlib.contextmanager
def stopped_loop(pid: int) -> Iterator[None]:
    """Stop a controller's loop, and nothing else of its process, as a debugger does."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    seize, interrupt, go_on, detach, any_thread = 0x4206, 0x4207, 7, 17, 0x40000000
    (thread,) = (
        int(task)
        for task in os.listdir(f"/proc/{pid}/task")
        if Path(f"/proc/{task}/timerslack_ns").read_text().strip() == "1"
    )
    if ptrace(seize, thread, None, None) != 0:
        pytest.skip(f"ptrace is not allowed: {os.strerror(ctypes.get_errno())}")

    def stop() -> bool:
        """Stop it; tell whether it waits for messages: in DDS it may hold what others need."""
        assert ptrace(interrupt, thread, None, None) == 0
        os.waitpid(thread, any_thread)
        return Path(f"/proc/{thread}/syscall").read_text().split()[2:3] == [WAIT_BITSET]

    try:
        while not stop():
            ptrace(go_on, thread, None, None)
        yield
    finally:
        ptrace(detach, thread, None, None)


def test_loop_that_does_not_answer_is_not_green(arm):
    with stopped_loop(arm.process.pid):
        status = arm.status("the control loop does not answer")
        assert status.level == DiagnosticStatus.ERROR
    arm.settle(GRAVITY)
    assert arm.status("running: hold").level == DiagnosticStatus.OK


# Life


def test_deactivation_decays_to_silence_and_activation_begins_again(arm):
    arm.set(give_up_after=0.5, state_timeout=0.05)
    arm.answer()
    count = len(arm.commands)
    assert arm.ros.change_state(NODE, "deactivate")
    arm.ros.wait_for(lambda: len(arm.commands) >= count + 5, "gravity hold")
    arm.status("inactive")

    def silent() -> bool:
        count = len(arm.commands)
        arm.ros.run_for(0.5)
        return len(arm.commands) == count

    arm.ros.wait_for(silent, "end of the hold")
    count = len(arm.commands)
    arm.states.publish(arm.message())
    arm.status("inactive")
    assert len(arm.commands) == count
    assert arm.ros.change_state(NODE, "activate")
    arm.ros.wait_until_heard(arm.states)
    assert_allclose(arm.answer(arm.message(effort=[1.0, -1.0])), [1.0, -1.0])


# Processes of their own


def test_processes_that_are_stopped_or_killed_make_no_step(ros):
    """Of more than 200 N m/s for at most 5 ms. Stopped in motion, killed at rest."""
    home = {f"initial_positions.{name}": float(q) for name, q in zip(NAMES, Q, strict=True)}
    gentle = {**PARAMETERS, **STABLE, **{f"torque_rate.{name}": 200.0 for name in NAMES}}
    gentle |= {"state_timeout": 10.0, "path_tolerance": 0.0}  # it goes on, far from the arm
    twin = {"rate": 250.0, "command_timeout": 0.05, **home}  # a torque that stays throws this arm
    rig = Rig(ros, URDF, twin=twin, controller=gentle)

    def require_no_step() -> None:
        ros.run_for(0.05)  # what is still on its way
        rig.wait_for_commands(100)
        ros.wait_for(lambda: (rig.effort == rig.command).all(), "obedience", period=0.01)
        assert rig.is_finite and rig.worst_step <= 1.0

    rig.wait_until_held()
    for node, start in (("twin", rig.start_twin), ("controller", rig.start_controller)):
        rig.move()
        rig.nodes[node].send(signal.SIGSTOP)
        ros.run_for(0.3)
        rig.nodes[node].send(signal.SIGCONT)
        require_no_step()
        rig.recover()
        rig.nodes[node].kill()
        start()
        require_no_step()
    rig.wait_for_rest()
    assert np.abs(rig.q - Q).max() < 0.3
    for node in rig.nodes.values():
        node.stop()
