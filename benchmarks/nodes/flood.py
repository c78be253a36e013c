"""A hostile neighbour: floods ``joint_states`` with well-formed messages of joints nobody has.

``python -m benchmarks.nodes.flood``. Its parameters: ``size`` of a message [bytes], ``rate`` [Hz].
"""

from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from benchmarks.nodes.echo import STATES, spin

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


if __name__ == "__main__":
    spin(Flood)
