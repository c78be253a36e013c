"""Listens to closed loops from outside: takes waiting messages from the middleware now and then.

Times and numbers of messages are those that the sending middleware put on them, so it does not
matter when the recorder looks.
"""

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros.tools.bench.nodes.stream import Stream
from featherstone_ros.tools.rclpy_calls import decode, take_waiting

QUEUE = 2000  # messages that may wait between two looks


class Recorder:
    """Notes the states and commands of one loop.

    Attributes:
        states: Of the twin.
        commands: Of the controller.
        not_finite: Number of commands with a value that is not finite.
    """

    def __init__(self, node: Node, namespace: str, controller: str) -> None:
        """Subscribe.

        Args:
            node: Whose; in no executor.
            namespace: Of the loop.
            controller: The controller's full name.
        """
        qos = QoSProfile(depth=QUEUE, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscriptions = [
            node.create_subscription(kind, topic, lambda _: None, qos, raw=True)
            for kind, topic in (
                (JointState, f"{namespace}/joint_states"),
                (Float64MultiArray, f"{controller}/commands"),
            )
        ]
        self.clear()

    def clear(self) -> None:
        """Forget what was recorded."""
        self.take_waiting()
        self.states, self.commands, self.not_finite = Stream(), Stream(), 0

    def take_waiting(self) -> None:
        """Take what waits."""
        states, commands = self._subscriptions
        for _, sent, number in take(states):
            self.states.add(sent, number)
        for data, sent, number in take(commands):
            self.commands.add(sent, number)
            values = decode(data, Float64MultiArray).data
            self.not_finite += not np.isfinite(values).all()


class LastDiagnostics:
    """The last diagnostics of every node."""

    def __init__(self, node: Node) -> None:
        """Subscribe; the node is in no executor."""
        self._subscription = node.create_subscription(
            DiagnosticArray, "/diagnostics", lambda _: None, 100, raw=True
        )
        self._values: dict[str, dict[str, str]] = {}

    def of(self, node: str) -> dict[str, str]:
        """Return the details by name; empty if that node has published none yet."""
        for data, _, _ in take(self._subscription):
            for status in decode(data, DiagnosticArray).status:
                self._values[f"/{status.name}"] = {item.key: item.value for item in status.values}
        return self._values.get(node, {})


def take(subscription: Subscription) -> list[tuple[bytes, int, int]]:
    """Take all waiting messages: serialised, when published [ns], the publisher's number of it."""
    return [
        (data, info["source_timestamp"], info["publication_sequence_number"])
        for data, info in take_waiting(subscription)
    ]
