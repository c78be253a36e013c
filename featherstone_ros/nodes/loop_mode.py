"""What a node has a loop run: a compiled cycle with its topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from featherstone_ros._loop import PUBLISH_FAILED_RECORD, UNTIMED_RECORD
from featherstone_ros.nodes import realtime_loop, realtime_parameters
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.publish_failures import PublishFailures


class LoopMode:
    """Listens and runs a cycle from activation to deactivation; publishes until ``cleanup``."""

    ANSWER_TIMEOUT = 1.0  # [s] that a request waits for the loop

    def __init__(self, node: ModelNode, publishers: list[Publisher]) -> None:
        """Wait for ``activate``.

        Args:
            node: Has a model.
            publishers: In the order of the cycle's outputs.
        """
        self._node = node
        self._publishers = publishers
        self.publish_failures = PublishFailures(node, publishers)
        self._inputs: list[Subscription] = []
        self._loop: realtime_loop.ThreadLoop | None = None

    def _run(self, cycle: Any, topics: Mapping[str, type], qos: QoSProfile, **options: Any) -> None:
        """Run the cycle.

        Args:
            cycle: What a loop runs.
            topics: Types of messages by topic, in the order of the cycle's inputs.
            qos: Of these topics.
            **options: As of ``ThreadLoop``.
        """
        node, group = self._node, realtime_loop.DetachedGroup()
        self._inputs = [
            node.create_subscription(
                kind, topic, self._listen_again, qos, callback_group=group, raw=True
            )
            for topic, kind in topics.items()
        ]
        self._loop = realtime_loop.ThreadLoop(
            node,
            cycle,
            self._inputs,
            self._publishers,
            self._deliver,
            scheduling=realtime_parameters.scheduling(node.parameters),
            **options,
        )
        self._loop.start()

    def _listen_again(self, _: bytes) -> None:
        """Answer a message that an executor took: one of events asks no callback group."""
        if self._loop is not None:
            self._loop.runner.listen_again()
            self._node.log.warning(
                "an executor has taken a message of the loop's; it listens again"
            )

    def deactivate(self) -> None:
        """Stop listening."""
        self.halt()
        for subscription in self._inputs:
            self._node.destroy_subscription(subscription)

    def halt(self, within: float = 1.0) -> None:
        """End the loop when it is safe, ``within`` seconds from now at the latest."""
        if self._loop is not None:
            self._loop.stop(within)
            self._loop = None

    def cleanup(self) -> None:
        """Stop publishing."""
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)

    @property
    def running(self) -> realtime_loop.ThreadLoop:
        """The loop: there is one while the mode is active."""
        if self._loop is None:
            raise RuntimeError("the loop is not running")
        return self._loop

    def _ask(self, request: int, payload: Any = None) -> int:
        """Ask the loop for something; return its answer.

        Raises:
            TimeoutError: It has no time; nothing happens.
        """
        address = 0 if payload is None else payload.address
        return self.running.runner.request(request, address, payload, self.ANSWER_TIMEOUT)

    def _ask_later(self, request: int, payload: Any = None) -> None:
        """Ask the loop for something without waiting for the answer."""
        address = 0 if payload is None else payload.address
        self.running.runner.post(request, address, payload)

    def _deliver(self, records: list[realtime_loop.Record]) -> None:
        """Turn the loop's records into text; here those that concern the loop itself."""
        for kind, index, _, value, _ in records:
            if kind == PUBLISH_FAILED_RECORD:
                self.publish_failures.note(index, value[0])
            elif kind == UNTIMED_RECORD:
                self._node.log.warning(
                    "the middleware's times of messages are not as expected: latency is measured "
                    "from where the loop takes a message, and lost messages are not counted"
                )
