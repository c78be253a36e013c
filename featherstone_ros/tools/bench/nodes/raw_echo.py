"""An echo node without rclpy's executor: what no node on a wait set of its own can beat.

It takes joint states as bytes, as the controller's loop does, does not read them, and publishes
the same bytes every time. ``python -m featherstone_ros.tools.bench.nodes.raw_echo``; topics and QoS
are the controller's.
"""

import rclpy
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros.tools.bench.nodes.echo import STATES
from featherstone_ros.tools.bench.nodes.start import init
from featherstone_ros.tools.bench.nodes.wait_set import RawWaitSet

JOINTS = 7


def main() -> None:
    """Answer until SIGINT or SIGTERM."""
    init()
    node = Node("raw_echo")
    commands = node.create_publisher(Float64MultiArray, "~/commands", 10)
    command = serialize_message(Float64MultiArray(data=[0.0] * JOINTS))
    states = node.create_subscription(
        JointState, "joint_states", lambda *_: commands.publish(command), STATES, raw=True
    )
    inputs = RawWaitSet(node.context, [states])
    while rclpy.ok():
        inputs.wait(0.1)
        inputs.take(1)


if __name__ == "__main__":
    main()
