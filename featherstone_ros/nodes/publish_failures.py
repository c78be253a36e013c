"""Messages that could not be published: reported, since whoever needs them gets none."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from rclpy.publisher import Publisher

from featherstone_ros.nodes.lifecycle import ModelNode

MEMORY = 3.0  # [s] that the diagnostics report a failure


class PublishFailures:
    """Reports the topics on which a loop cannot publish."""

    def __init__(self, node: ModelNode, publishers: Sequence[Publisher]) -> None:
        """Report through this node.

        Args:
            node: The publishers'.
            publishers: In the order of the loop's outputs.
        """
        self._node = node
        self._topics = [publisher.topic_name for publisher in publishers]
        self._failed: dict[str, float] = {}

    def note(self, output: int, code: float) -> None:
        """Log a failure.

        Args:
            output: Number of the output.
            code: That rcl has returned.
        """
        topic = self._topics[output]
        self._failed[topic] = monotonic()
        self._node.log.error(f"cannot publish on {topic}: rcl returns {code:.0f}", topic)
        self._node.publish_diagnostics()

    @property
    def recent(self) -> list[str]:
        """The topics of the last failures in words, as a list: empty if they are long ago."""
        begin = monotonic() - MEMORY
        topics = [topic for topic, time in self._failed.items() if time > begin]
        return [f"cannot publish on {', '.join(topics)}"] if topics else []
