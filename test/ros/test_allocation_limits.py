"""What a message claims to hold is bounded before room is made for it; sound ones are read."""

import sys
from pathlib import Path

import pytest
from support import Ros  # skips this module where ROS is missing

PREAMBLE = """
import struct, resource
from featherstone_ros.nodes.execution import limit_allocations
limit_allocations()
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from featherstone_ros import _allocation_limits
"""
CLAIM = """
import rclpy, sys, time
from below_ros import BytesPublisher, request_topic
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
rclpy.init()
node = Node("claims")
executor = SingleThreadedExecutor()
executor.add_node(node)
kind = {kind}
node.create_service(kind, "/question", lambda request, response: response)
publisher = BytesPublisher(node, kind.Request, request_topic("/question"))
publisher.wait_for_reader()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
publisher.publish(b"\\0\\1\\0\\0" + struct.pack("<I", 5_000_000) + bytes(76))
end = time.monotonic() + 45.0
while not _allocation_limits.refusals() and time.monotonic() < end:
    executor.spin_once(0.1)
assert _allocation_limits.refusals() == 1
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 50_000, grown  # kB
"""
SOUND = """
def back(message):
    return deserialize_message(serialize_message(message), type(message))
values = [True, 7, 0.5, "text", [b"a"] * 9, [True] * 9, [7] * 9, [0.5] * 100_000, ["text"] * 50_000]
request = SetParameters.Request(
    parameters=[Parameter(str(i), value=v).to_parameter_msg() for i, v in enumerate(values)] * 9)
assert back(request) == request
points = [JointTrajectoryPoint(positions=[0.1] * 7, effort=[1.0] * 7)] * 20_000
assert back(JointTrajectory(joint_names=["a"] * 7, points=points)).points == points
assert list(back(Float64MultiArray(data=[1.0] * 7)).data) == [1.0] * 7
assert _allocation_limits.refusals() == 0
"""


def run(ros: Ros, program: str) -> None:
    """Run a program before which no library of ROS has been loaded."""
    tools = str(Path(__file__).parent)
    path = f"import sys; sys.path.append({tools!r})\n"
    process = ros.run([sys.executable, "-c", path + PREAMBLE + program])
    assert process.wait(120.0) == 0, process.output


@pytest.mark.parametrize("kind", ["SetParameters", "DescribeParameters", "GetParameters"])
def test_request_of_eighty_bytes_that_claims_five_million_items_gets_no_room(ros, kind):
    run(ros, CLAIM.format(kind=kind))


def test_messages_with_much_in_them_are_read_as_ever(ros):
    run(ros, SOUND)
