"""Hears the topics of arms as bytes, with the times when they came; needs rclpy."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module

from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.subscription import Subscription

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.interruption import held
from featherstone_ros.tools.rclpy_calls import Participant, take_waiting
from featherstone_ros.tools.record import RecordedTopic

RELIABLE, LATCHED = ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL
QUEUE = 5000  # messages of a topic that may wait: five seconds at 1 kHz, should the disk stall
# Without names, topics with messages of these kinds are recorded: what arms, their sensors and
# their controllers say, here or in drivers of others.
KINDS = {
    *(f"sensor_msgs/msg/{kind}" for kind in ("JointState", "Imu")),
    *("std_msgs/msg/Float64MultiArray", "diagnostic_msgs/msg/DiagnosticArray"),
    *(f"trajectory_msgs/msg/{kind}" for kind in ("JointTrajectory", "JointTrajectoryPoint")),
    *(f"geometry_msgs/msg/{kind}Stamped" for kind in ("Pose", "Twist", "Wrench")),
    *("nav_msgs/msg/Odometry", "rosgraph_msgs/msg/Clock", "tf2_msgs/msg/TFMessage"),
}
DESCRIPTION = "/robot_description"  # how such a topic's name ends


class TopicListener(Participant):
    """Hears topics as bytes; a context manager.

    Attributes:
        topics: Those that it hears, by name.
        left_out: Topics of arms, by name, whose kind of messages, its value, is unknown here.
    """

    def __init__(self, names: Collection[str], knows: Callable[[str], bool]) -> None:
        """Join the domain; ``look_round`` finds the topics.

        ``names``: of the topics to hear; empty: those of arms.
        """
        self._names, self._knows = names, knows
        self._subscriptions: dict[str, Subscription] = {}
        self._publishers: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self.topics: dict[str, RecordedTopic] = {}
        self.left_out: dict[str, str] = {}
        super().__init__("featherstone_record")

    @property
    def heard(self) -> list[RecordedTopic]:
        """Those of which messages have been taken."""
        return [topic for topic in self.topics.values() if topic.count]

    @property
    def published(self) -> list[str]:
        """Names of those that have a publisher."""
        return [name for name, count in self._publishers.items() if count]

    def look_round(self) -> None:
        """Listen to topics that have come up since the last time."""
        with held():
            found = self.node.get_topic_names_and_types()
        for name, (kind, *_) in found:
            if name in self._names or (not self._names and is_of_arms(name, kind)):
                self._listen(name, kind)

    def _listen(self, name: str, kind: str) -> None:
        message = message_class(kind) if self._knows(kind) else None
        if message is None:
            self._leave_out(name, kind)
            return
        topic = self.topics.setdefault(name, RecordedTopic(name, kind))
        with held():
            offered = [info.qos_profile for info in self.node.get_publishers_info_by_topic(name)]
        self._publishers[name] = len(offered)
        if not offered or name in self._subscriptions:
            return
        topic.is_reliable, topic.is_latched = (
            all(getattr(profile, policy) == value for profile in offered)
            for policy, value in (("reliability", RELIABLE), ("durability", LATCHED))
        )
        self._subscriptions[name] = self.queue(
            message,
            name,
            QUEUE,
            RELIABLE if topic.is_reliable else ReliabilityPolicy.BEST_EFFORT,
            LATCHED if topic.is_latched else DurabilityPolicy.VOLATILE,
        )

    def _leave_out(self, name: str, kind: str) -> None:
        if name in self._names:
            raise FeatherstoneError(
                f"{name} has messages {kind}, which are not known here; `ros2 bag record {name}` "
                "records them where their package is installed"
            )
        self.left_out[name] = kind

    def take(self) -> list[tuple[int, RecordedTopic, bytes]]:
        """Return what has come since the last time, in order: when [ns], on what topic, what."""
        taken = []
        for name, subscription in self._subscriptions.items():
            topic = self.topics[name]
            for content, known in take_waiting(subscription):
                taken.append((known["received_timestamp"], topic, content))
                self._count_lost(topic, known.get("publication_sequence_number"))
        return sorted(taken, key=lambda message: message[0])

    def _count_lost(self, topic: RecordedTopic, number: int | None) -> None:
        """Count gaps in the numbers that a topic's only publisher gives its messages."""
        if number is None or self._publishers[topic.name] != 1:
            self._numbers.pop(topic.name, None)
            return
        last = self._numbers.get(topic.name, number)
        topic.lost += max(number - last - 1, 0)
        self._numbers[topic.name] = number


def is_of_arms(name: str, kind: str) -> bool:
    """Tell whether a topic is recorded unasked."""
    return kind in KINDS or name.endswith(DESCRIPTION)


def message_class(kind: str) -> type | None:
    """Return the class of messages of a kind, None if its package is not installed."""
    package, _, name = kind.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), name, None)
    except ImportError:
        return None
