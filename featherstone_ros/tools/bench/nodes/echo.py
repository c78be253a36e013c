"""A bare rclpy node that answers joint states with their own efforts: what any node has to beat.

It does what a tutorial's node does, and no computation. ``python -m
featherstone_ros.tools.bench.nodes.echo``; topics and QoS are the controller's.
"""

from contextlib import suppress

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros.tools.bench.nodes.start import init

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


def main() -> None:
    """Spin until SIGINT or SIGTERM."""
    init()
    executor = SingleThreadedExecutor()
    executor.add_node(Echo())
    with suppress(ExternalShutdownException):
        executor.spin()


if __name__ == "__main__":
    main()
