"""Two Pandas over DDS, each with a controller of its own, that carry a bar in one twin."""

import signal
import time
from copy import deepcopy
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import (
    ARM,
    LOCKSTEP,
    RUNNING,
    SIMULATED,
    STATES,
    Between,
    Listener,
    Ros,
    ros_in_free_domain,
    set_priority,
    status_values,
)

# isort: split
from arm_pair import ARMS, JOINTS, PAIRS, PANDAS, TIPS, Bar, of_both
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, Vector3, Wrench, WrenchStamped
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import featherstone_ros as fr
from featherstone_ros.control.cartesian_parameters import tip_of
from featherstone_ros.errors import MessageError
from featherstone_ros.nodes.cartesian_topics import frame_pose

TWIN, WRENCH = "/digital_twin", "/digital_twin/external_wrench"
RATE = 250.0  # [Hz]
RADIUS, TURN = 0.08, 5.0  # [m] of the circle, [s] for one
TARGETS = 5  # states after which the hands have another target
STEADY = 0.5  # [s] in which the bar settles
PACE = 2.0  # times as fast as real time: more takes processors while a test waits for diagnostics
FASTEST = 0.9  # [rad/s] of a joint: a quarter to a third of its limit
# A stall of this machine must not end the carrying.
PATIENT = {"state_timeout": 0.5, "executor_timeout": 10.0}


class Carriers:
    """The twin, both controllers, and the bar, which presses the hands as each state tells.

    In lockstep: a bar that is computed too late is no passive one. In real time without a bar, for
    what is judged by time.
    """

    def __init__(self, ros: Ros, in_lockstep: bool = True) -> None:
        self.ros, self.in_lockstep = ros, in_lockstep
        self.bar = Bar(500.0, 20.0) if in_lockstep else Bar(0.0, 0.0)
        self.now = self.begun = self.turn_begun = self.turn_end = 0.0
        self.home: dict[str, PoseStamped] = {}
        self.rows: list[tuple[float, float, np.ndarray, np.ndarray]] = []
        self.wrenches = ros.node.create_publisher(WrenchStamped, WRENCH, 10)
        both = {"robot_description": PANDAS, **of_both("armature.{}")}
        topics = {f"command_topic.{j}": f"{a}_controller/commands" for a in ARMS for j in JOINTS[a]}
        self.twin = ros.start(
            "featherstone_ros.digital_twin",
            {
                **both,
                **topics,
                **of_both("initial_positions.{}"),
                "joints": [joint for arm in ARMS for joint in JOINTS[arm]],
                "rate": RATE,
                "command_timeout": 0.3,
                **(LOCKSTEP if in_lockstep else {}),
            },
            *("-r", f"joint_states:={ARM if in_lockstep else STATES}"),
        )
        if in_lockstep:
            Between(ros, self.on_state, pace=PACE)
        else:
            Listener(ros, "bar", (JointState, STATES, self.hear))
        self.controllers = {arm: self.start(arm) for arm in ARMS}
        self.targets = {
            arm: ros.publisher(PoseStamped, f"/{arm}_controller/target_pose") for arm in ARMS
        }
        for arm in ARMS:
            ros.wait_for_diagnostics(self.is_well(f"{arm}_controller"), f"a {arm} arm that is held")
        poses = {arm: ros.collect(PoseStamped, f"/{arm}_controller/current_pose") for arm in ARMS}
        ros.wait_for(lambda: all(poses.values()), "poses of both hands")
        self.home = {arm: messages[-1] for arm, messages in poses.items()}

    def start(self, arm: str):
        """Start a controller."""
        armature = {k: v for k, v in of_both("armature.{}").items() if arm in k}
        process = self.ros.start(
            "featherstone_ros.feedforward_controller",
            {
                "robot_description": PANDAS,
                "joints": JOINTS[arm],
                "tip": TIPS[arm],
                "mode": "cartesian_impedance",
                **armature,
                **(SIMULATED if self.in_lockstep else PATIENT),
            },
            *("-r", f"__node:={arm}_controller"),
        )
        set_priority(process.pid, RUNNING)
        return process

    @staticmethod
    def is_well(node: str):
        return lambda s: s.name == node and s.level == DiagnosticStatus.OK

    def hear(self, raw: bytes, _: dict) -> None:
        self.on_state(time.monotonic(), deserialize_message(raw, JointState))

    def on_state(self, now: float, state: JointState) -> None:
        """Press the hands, and lead them."""
        q, qd = np.array(state.position), np.array(state.velocity)
        force, wrenches = self.bar.press(q, qd)
        for link, wrench in wrenches.items():
            fx, fy, fz = map(float, wrench[:3])
            message = WrenchStamped(wrench=Wrench(force=Vector3(x=fx, y=fy, z=fz)))
            message.header.frame_id = link
            self.wrenches.publish(message)
        self.now = now
        self.rows.append((now, force, q, qd))
        turn = self.turn_begun + (now - self.begun) / TURN
        if turn < self.turn_end and len(self.rows) % TARGETS == 0:
            self.lead(2 * np.pi * turn, state)

    def lead(self, angle: float, state: JointState) -> None:
        by = RADIUS * np.array([np.sin(angle), 1.0 - np.cos(angle)])
        for arm, home in self.home.items():
            message = deepcopy(home)
            message.header.stamp = state.header.stamp
            point = message.pose.position
            point.x, point.z = point.x + float(by[0]), point.z + float(by[1])
            self.targets[arm].publish(message)

    def carry(self, until: float, since: float = 0.0) -> float:
        """Lead both hands along the circle, in turns; return when that began, by the states."""
        self.begun, self.turn_begun, self.turn_end = self.now, since, until
        end = self.begun + (until - since) * TURN
        self.ros.wait_for(lambda: self.now >= end, f"turn {until}")
        return self.begun

    def since(self, begin: float):
        """Return force (N,), position and speed (N, 14) of the states since then."""
        rows = [row[1:] for row in list(self.rows) if row[0] >= begin]
        return tuple(np.array(values) for values in zip(*rows, strict=True))


@pytest.fixture
def apart(ros) -> Carriers:
    """Both without a bar between them, in real time: a twin in lockstep waits for both."""
    return Carriers(ros, in_lockstep=False)


@pytest.mark.alone  # by speed, in real time; test_two_arms.py shows the same in simulated time
def test_one_controller_dies_and_comes_again_and_the_other_goes_on(apart):
    ros, bar = apart.ros, apart.bar
    apart.carry(0.1)
    apart.controllers["right"].send(signal.SIGKILL)
    status = ros.wait_for_diagnostics(
        lambda s: s.name == "digital_twin" and "no commands, brakes on: right_" in s.message,
        "brakes of the right arm alone",
    )
    assert status.level == DiagnosticStatus.WARN and "left_" not in status.message
    ros.wait_for(lambda: not apart.rows[-1][3][7:].any(), "a right arm that stands")
    alone = apart.carry(1.1, since=0.1)
    _, q, qd = apart.since(alone)
    hands = np.array([bar.poses(row)[:, :3, 3] for row in q[:: len(q) // 50]])
    assert (np.ptp(hands, axis=0)[0, ::2] > 1.8 * RADIUS).all()
    assert not qd[:, 7:].any() and np.abs(qd).max() < FASTEST
    ros.wait_for_diagnostics(apart.is_well("left_controller"), "a left arm at its target")
    again = apart.now
    apart.controllers["right"] = apart.start("right")
    ros.wait_for_diagnostics(
        lambda s: s.name == "digital_twin" and status_values(s)["brakes"] == "off",
        "commands for both again",
    )
    ros.wait_for_diagnostics(apart.is_well("right_controller"), "a right arm that is held")
    assert np.abs(apart.since(again)[2][:, 7:]).max() < 0.05  # it takes over without a jump


@pytest.fixture(scope="module")
def carriers(tmp_path_factory):
    with ros_in_free_domain(tmp_path_factory.mktemp("two_arms")) as ros:
        yield Carriers(ros)


def test_nobody_takes_the_other_arms_controller_for_a_second_one(carriers):
    for node in ("left_controller", "right_controller", "digital_twin"):
        status = carriers.ros.wait_for_diagnostics(carriers.is_well(node), f"a green {node}")
        assert "publishers" not in status.message
    values = status_values(status)
    assert values["brakes"] == "off" and values["command publishers"] == "2"
    for arm in ARMS:
        assert "expected one" not in carriers.controllers[arm].output
    assert "expected one" not in carriers.twin.output


def test_a_bar_is_carried_along_a_circle(carriers):
    begin = carriers.carry(1.0 + STEADY / TURN)
    force, q, qd = carriers.since(begin + STEADY)
    mean, largest = np.abs(force).mean(), np.abs(force).max()
    hands = np.array([carriers.bar.poses(row)[:, :3, 3] for row in q[:: len(q) // 50]])
    fastest = np.abs(qd).max()
    print(f"force in the bar: mean {mean:.1f} N, largest {largest:.1f} N; {fastest:.2f} rad/s")
    assert (np.ptp(hands, axis=0)[:, ::2] > 1.8 * RADIUS).all()  # both, along x and z
    assert mean < 3.0
    assert largest < 12.0


@pytest.mark.parametrize("which", PAIRS)
def test_a_frame_beyond_joints_of_the_other_arm_is_refused_unless_they_are_known(which):
    pair = PAIRS[which]
    model = fr.Model.from_urdf(pair.urdf, joints=pair.joints["left"])
    place = partial(
        frame_pose,
        tip=pair.tips["left"],
        model=model,
        dynamics=fr.Dynamics(model),
        q=np.zeros(model.n),
        unknown=model.locked_joints,
    )
    assert_array_equal(place(model.base_link), np.eye(4))
    assert place(pair.tips["left"])[0, 3] != 0.0
    assert_array_equal(place(pair.tips["left"], tip=""), place(pair.tips["left"]))
    for tip in (pair.tips["left"], ""):
        with pytest.raises(MessageError, match=r"lies beyond right_.*: not among `joints`"):
            place(pair.tips["right"], tip=tip)
    known = place(pair.tips["right"], unknown=())  # joint_states or parameters tell all of them
    assert_array_equal(known, fr.Dynamics(model).link_pose(np.zeros(model.n), pair.tips["right"]))


def test_the_other_arms_tip_is_refused():
    model = fr.Model.from_urdf(PANDAS, joints=JOINTS["left"])
    values = {"mode": "cartesian_impedance", "tip": TIPS["right"]}
    with pytest.raises(
        ValueError, match=r"tip is 'right_.*', which none of the joints moves: left_"
    ):
        tip_of(values, model)


def test_topics_of_commands_do_not_change_while_configured(carriers):
    changes = {f"command_topic.{JOINTS['left'][0]}": "elsewhere"}
    (result,) = carriers.ros.set_parameters(TWIN, changes)
    assert not result.successful
    assert "is fixed until the node is cleaned up and configured" in result.reason


def test_a_second_publisher_of_one_arms_commands_is_named(carriers):
    ros = carriers.ros
    intruder = ros.node.create_publisher(Float64MultiArray, "/left_controller/commands", 1)
    for node in ("left_controller", "digital_twin"):
        ros.wait_for_diagnostics(
            lambda s, node=node: s.name == node and "2 publishers" in s.message, f"{node} warned"
        )
    status = ros.wait_for_diagnostics(lambda s: s.name == "right_controller", "the other's status")
    assert "publishers" not in status.message
    ros.node.destroy_publisher(intruder)
    for node in ("left_controller", "digital_twin"):
        ros.wait_for_diagnostics(carriers.is_well(node), f"a green {node}")


@pytest.mark.alone  # a bar that is computed too late is no passive one
def test_one_of_two_that_carry_a_bar_dies(ros):
    carriers = Carriers(ros, in_lockstep=False)
    carriers.bar.stiffness, carriers.bar.damping = 500.0, 20.0
    carriers.carry(0.3)
    begin = carriers.now
    carriers.controllers["right"].send(signal.SIGKILL)
    carriers.carry(1.0, since=0.3)
    force, _, qd = carriers.since(begin)
    assert not qd[-1, 7:].any()
    print(f"one arm stands: {np.abs(force).max():.1f} N, {np.abs(qd).max():.2f} rad/s at most")
    assert np.abs(qd).max() < FASTEST
    assert np.abs(force).max() < 70.0  # max_force, and what is in motion
