"""The floor: a constant answer by the controller's loop, with a cycle that computes nothing.

It runs in a complete node, which an executor serves. ``python -m benchmarks.nodes.floor``; topics
and QoS are the controller's. It answers messages of the size that the parameter ``answered_size``
says.
"""

from collections.abc import Callable

from compiled import echo
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from benchmarks.nodes.echo import STATES, spin
from featherstone_ros.nodes.realtime_loop import ThreadLoop
from featherstone_ros.nodes.topics import DetachedGroup
from featherstone_ros.realtime.scheduling import Scheduling

JOINTS = 7


class Floor(Node):
    """Answers joint states with zeros."""

    def __init__(self) -> None:
        """Make the topics, start the loop; declare whatever parameters are given."""
        super().__init__("floor", automatically_declare_parameters_from_overrides=True)
        commands = self.create_publisher(Float64MultiArray, "~/commands", 10)
        group = DetachedGroup()
        states = self.create_subscription(
            JointState, "joint_states", lambda *_: None, STATES, callback_group=group, raw=True
        )
        self.create_subscription(JointTrajectory, "~/joint_trajectory", lambda _: None, 10)
        answer = serialize_message(Float64MultiArray(data=[0.0] * JOINTS))
        cycle = echo.EchoCycle(answer, size=self._given("answered_size"))
        scheduling = Scheduling(self._given("realtime.priority"))
        self.loop = ThreadLoop(
            self, cycle, [states], [commands], lambda _: None, scheduling=scheduling
        )
        self.loop.start()

    def _given(self, name: str) -> int:
        return self.get_parameter(name).value if self.has_parameter(name) else 0

    def defer(self, action: Callable[[], None]) -> None:
        """Have something done soon by the executor's thread."""
        self.executor.create_task(action)

    def destroy_node(self) -> None:
        """Stop the loop first."""
        self.loop.stop()
        super().destroy_node()


if __name__ == "__main__":
    spin(Floor)
