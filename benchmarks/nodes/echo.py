"""A bare rclpy node that answers joint states with their own efforts, as a tutorial's node does.

``python -m benchmarks.nodes.echo``; topics and QoS are the controller's.
"""

import signal
from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

STATES = QoSProfile(depth=4, reliability=ReliabilityPolicy.BEST_EFFORT)


class Echo(Node):
    """Publishes the effort in every joint state as a command."""

    def __init__(self) -> None:
        """Make both topics."""
        super().__init__("echo")
        self._commands = self.create_publisher(Float64MultiArray, "~/commands", 10)
        self.create_subscription(JointState, "joint_states", self._answer, STATES)

    def _answer(self, state: JointState) -> None:
        self._commands.publish(Float64MultiArray(data=state.effort))


def spin(kind: type[Node]) -> None:
    """Make a node and run it until SIGINT or SIGTERM, which shut rclpy's context down."""
    signal.signal(signal.SIGINT, lambda *_: None)  # an exception would be raised within rclpy
    rclpy.init()
    node = kind()
    with suppress(ExternalShutdownException):
        rclpy.spin(node)
    node.destroy_node()


if __name__ == "__main__":
    spin(Echo)
