"""A hostile neighbour: floods ``joint_states`` with what no driver sends, for ever.

``python -m featherstone_ros.tools.bench.nodes.flood``. Its parameters: ``size`` of a message
[bytes] and ``rate`` [Hz]. The messages are well formed, of joints that nobody has.
"""

from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from featherstone_ros.tools.bench.nodes.echo import STATES
from featherstone_ros.tools.bench.nodes.start import init

ENTRY = 32  # [bytes] that a joint takes, about


class Flood(Node):
    """Publishes without end."""

    def __init__(self) -> None:
        """Prepare the message."""
        super().__init__("flood", automatically_declare_parameters_from_overrides=True)
        count = self.get_parameter("size").value // ENTRY
        names = [f"nobodys_{number}" for number in range(count)]
        message = serialize_message(JointState(name=names, position=[0.0] * count))
        publisher = self.create_publisher(JointState, "joint_states", STATES)
        rate = self.get_parameter("rate").value
        self.create_timer(1.0 / rate, lambda: publisher.publish(message))


def main() -> None:
    """Publish until SIGINT or SIGTERM."""
    init()
    with suppress(ExternalShutdownException):
        rclpy.spin(Flood())


if __name__ == "__main__":
    main()
