"""`featherstone-ros preflight /topic`: the next trajectory that somebody publishes."""

from support import NodeProcess, Ros  # skips this module where ROS is missing

# isort: split
from builtin_interfaces.msg import Duration
from rclpy.qos import qos_profile_sensor_data
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint


def command(ros: Ros, topic: str) -> NodeProcess:
    return ros.tool("preflight", topic, "--urdf=ur5e")


PLAN = JointTrajectory(
    joint_names=["elbow_joint"],
    points=[
        JointTrajectoryPoint(positions=[0.0], time_from_start=Duration()),
        JointTrajectoryPoint(positions=[1.0], time_from_start=Duration(nanosec=200_000_000)),
    ],
)


def test_only_trajectory_on_a_topic_is_checked_whatever_its_publisher_offers(ros):
    process = command(ros, "/plan")
    publisher = ros.node.create_publisher(JointTrajectory, "/plan", qos_profile_sensor_data)
    ros.wait_for(lambda: publisher.publish(PLAN) or not process.is_running, "end of preflight")
    assert process.wait() == 1, process.output
    assert "waiting for a trajectory on /plan" in process.output
    assert "velocity of joint 'elbow_joint' 5 rad/s" in process.output


def test_name_that_is_no_topic_is_reported(ros):
    process = command(ros, "/no topic")
    assert process.wait() == 2 and "Traceback" not in process.output
    assert "featherstone-ros preflight: " in process.output
