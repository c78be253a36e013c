"""`featherstone-ros record` beside publishers, ended by a signal."""

import signal

import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from featherstone_ros.identification.bags import read_joint_states

pytest.importorskip("rosbags")
COMMAND = ("record", "--output", "swing")


def test_a_signal_ends_the_bag_as_a_whole(ros: Ros):
    """Topics that come up later, of publishers that repeat nothing, and what was said before."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    description = ros.node.create_publisher(String, "/left/robot_description", latched)
    description.publish(String(data="<robot/>"))
    process = ros.tool(*COMMAND)
    process.wait_for_output("1 topics")
    best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = ros.publisher(JointState, "/left/joint_states", best_effort)
    state = JointState(name=["slider"], position=[0.5])
    ros.wait_for(lambda: publisher.publish(state) or "2 topics" in process.output, "2 topics")
    process.send(signal.SIGTERM)
    assert process.wait() == 0, process.output
    assert "Traceback" not in process.output and "/left/robot_description" in process.output
    (states,) = read_joint_states(ros.folder / "swing")
    assert states.topic == "/left/joint_states" and (states.position == 0.5).all()


def test_without_a_message_there_is_no_bag_and_a_topic_that_was_asked_for_is_named(ros: Ros):
    status, output = ros.run_tool(*COMMAND, "--duration", "0.6", "/joint_states")
    assert status == 1, output
    assert "no message came on /joint_states" in output
    assert not (ros.folder / "swing").exists()
