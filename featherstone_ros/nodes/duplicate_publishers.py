"""The publishers of a topic, and whether there are more than the expected one."""

from __future__ import annotations

from collections.abc import Mapping

from rclpy.node import Node


def publishers_of(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish on a topic, once for each publisher."""
    found = node.get_publishers_info_by_topic(topic)
    return [f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in found]


class DuplicatePublishers:
    """Finds topics that several nodes publish on where one is expected."""

    def __init__(self, node: Node) -> None:
        """Log through this node."""
        self._node = node
        self._known: set[str] = set()

    def among(self, publishers: Mapping[str, int]) -> list[str]:
        """Return in words which topics have too many publishers; log what has changed.

        ``publishers``: their numbers by what they do, e.g. ``"on joint_states"``.
        """
        found = [
            f"{count} publishers {what}, expected one"
            for what, count in publishers.items()
            if count > 1
        ]
        for problem in sorted(set(found) - self._known):
            self._node.get_logger().warning(problem)
        self._known = set(found)
        return found
