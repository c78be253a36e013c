"""Mode cartesian_impedance over DDS: a Panda in the twin, led by its hand."""

from copy import deepcopy

import numpy as np
import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rig import CONTROLLER, Hand
from std_msgs.msg import Float64MultiArray

import featherstone_ros as fr

RATE = 100.0  # [Hz]
PACE = 3.0  # times as fast as real time
STUCK = 0.015  # [m] that dry friction, some N at the hand, leaves at most on a spring of 400 N/m


class LedHand(Hand):
    """A Panda in mode cartesian_impedance, in lockstep: no stall takes its target away."""

    def __init__(self, ros: Ros) -> None:
        super().__init__(ros, {}, pace=PACE, twin={"rate": RATE})
        changes = {"mode": "cartesian_impedance", "max_speed": 0.5}
        assert all(result.successful for result in ros.set_parameters(CONTROLLER, changes))
        self.targets = ros.publisher(PoseStamped, f"{CONTROLLER}/target_pose")
        ros.wait_for(lambda: self.poses and self.twists, "pose and velocity of the hand")

    def lead_by(self, by, frame="", **orientation) -> np.ndarray:
        """Ask for the present pose, moved; return where that is."""
        message = PoseStamped(pose=deepcopy(self.poses[-1].pose))
        message.header.frame_id = frame
        target = self.position + by
        point = message.pose.position
        point.x, point.y, point.z = map(float, target)
        for name, value in orientation.items():
            setattr(message.pose.orientation, name, value)
        self.targets.publish(message)
        return target

    def is_at(self, target, within=1e-3) -> bool:
        return np.abs(self.position - target).max() < within

    def wait_until_it_rests(self) -> None:
        """Wait until it has hardly moved for a while."""
        for _ in range(3):
            self.twists.clear()  # what comes now counts, also where this process stood still
            self.ros.run_for(0.1)
            self.ros.wait_for(lambda: self.twists and np.abs(self.velocity).max() < 2e-3, "rest")

    def refusal(self, text: str) -> None:
        self.ros.status(text, CONTROLLER)


@pytest.fixture(scope="module")
def shared(shared_ros):
    return LedHand(shared_ros)


@pytest.fixture
def hand(shared):
    """The hand at rest, wherever the last test has left it."""
    assert shared.ros.set_parameters(CONTROLLER, {"max_force": 60.0})[0].successful
    shared.wait_until_it_rests()
    return shared


def test_current_pose_is_the_tips(hand):
    model = hand.model
    pose = fr.Dynamics(model).link_pose(hand.q, hand.TIP)
    hand.ros.wait_for(lambda: hand.is_at(pose[:3, 3]), "pose of the hand")
    assert hand.poses[-1].header.frame_id == model.base_link
    assert hand.twists[-1].header.frame_id == model.base_link
    assert np.abs(hand.velocity).max() < 0.01


def test_target_is_reached_also_in_a_link(hand):
    target = hand.lead_by([0.0, 0.1, 0.05], "panda_link0")
    hand.ros.wait_for(lambda: hand.is_at(target, STUCK), "the hand at its target")
    hand.wait_until_it_rests()
    message = PoseStamped()
    message.header.frame_id = hand.TIP
    message.pose.position.z = 0.05
    message.pose.orientation.w = 1.0
    orientation = hand.poses[-1].pose.orientation
    x, y, z, w = orientation.x, orientation.y, orientation.z, orientation.w
    axis = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    target = hand.position + 0.05 * axis
    hand.targets.publish(message)
    hand.ros.wait_for(lambda: hand.is_at(target, STUCK), "the hand at its target")


def test_bad_target_is_refused_by_name(hand):
    before = hand.position
    hand.lead_by([0.0, 0.0, 0.1], "kitchen")
    hand.refusal("header.frame_id is 'kitchen'")
    hand.lead_by([0.0, 0.0, 0.1], w=5.0)
    hand.refusal("expected a quaternion")
    assert hand.is_at(before, 5e-3)


def test_bytes_that_are_no_message_are_survived(hand):
    before = hand.position
    for kind, name in ((PoseStamped, "pose"), (TwistStamped, "twist"), (WrenchStamped, "wrench")):
        publisher = hand.ros.publisher(kind, f"{CONTROLLER}/target_{name}")
        for length in 20 * (0, 3, 11, 40, 3000):
            publisher.publish(b"\x00\x01\x00\x00" + b"\xff" * length if length else b"")
        hand.ros.node.destroy_publisher(publisher)
    hand.ros.wait_for(lambda: hand.ros.state(CONTROLLER) == "active", "an active controller")
    assert hand.is_at(before, 5e-3)


def test_force_axes_without_a_sensor_are_told(hand):
    assert hand.ros.set_parameters(CONTROLLER, {"force_axes": "z"})[0].successful
    hand.ros.status("force_axes do nothing", CONTROLLER)
    assert hand.ros.set_parameters(CONTROLLER, {"force_axes": ""})[0].successful


def test_stiffness_is_set_by_its_topic_within_the_parameters_limits(hand):
    asks = hand.ros.publisher(Float64MultiArray, f"{CONTROLLER}/stiffness")
    stiffness = [150.0, 100.0, 400.0, 30.0, 20.0, 10.0]

    def is_set() -> bool:
        return list(hand.ros.get_parameter(CONTROLLER, "stiffness")) == stiffness

    wanted = Float64MultiArray(data=stiffness)
    hand.ros.wait_for(lambda: asks.publish(wanted) or is_set(), "the stiffness")
    asks.publish(Float64MultiArray(data=stiffness[:3]))
    hand.refusal("has 3 values, expected 6")
    asks.publish(Float64MultiArray(data=[*stiffness[:5], -1.0]))
    hand.refusal("stiffness is")
    assert is_set()
    asks.publish(Float64MultiArray(data=[400.0] * 3 + [30.0] * 3))
    hand.ros.wait_for(lambda: not is_set(), "the stiffness before")


WRENCH, TWIST = WrenchStamped(), TwistStamped()
WRENCH.wrench.force.y, TWIST.twist.linear.y = 20.0, -0.2


@pytest.mark.parametrize(
    ("name", "message", "way"), [("wrench", WRENCH, 0.02), ("twist", TWIST, -0.1)]
)
def test_a_wrench_or_a_velocity_alone_moves_the_hand_until_it_ends(hand, name, message, way):
    targets = hand.ros.publisher(type(message), f"{CONTROLLER}/target_{name}")
    before = hand.position
    moved = lambda: (hand.position - before)[1] / way  # noqa: E731
    hand.ros.wait_for(lambda: targets.publish(message) or moved() > 1.0, "the hand away")
    if name == "wrench":
        hand.ros.wait_for(lambda: hand.is_at(before, STUCK), "the hand back on its spring")
    hand.wait_until_it_rests()
