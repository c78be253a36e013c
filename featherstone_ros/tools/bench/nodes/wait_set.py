"""Messages as bytes, awaited and taken by a separate thread instead of rclpy's executor.

rclpy's executor builds a wait set of all the node's entities for every wait and runs a callback as
a task; that costs more than the message. The private parts of rclpy are used here and nowhere else:
``WaitSet`` and ``Subscription.take_message`` of its compiled module, as they are in Jazzy and
Kilted.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.subscription import Subscription

NANOSECONDS = 1_000_000_000


class RawWaitSet:
    """The raw subscriptions of one thread."""

    def __init__(self, context: Context, subscriptions: Iterable[Subscription]) -> None:
        """Prepare to wait.

        Args:
            context: Of the node.
            subscriptions: Made with ``raw=True``; their callbacks get bytes and message info.

        Raises:
            AttributeError, TypeError: rclpy's private parts are not as expected.
        """
        handles = [subscription.handle for subscription in subscriptions]
        self._takes = [
            (subscription.handle.take_message, subscription.msg_type, subscription.callback)
            for subscription in subscriptions
        ]
        self._wait_set = rclpy_implementation.WaitSet(len(handles), 0, 0, 0, 0, 0, context.handle)
        self._handles = handles
        self._in_use = ExitStack()
        for handle in handles:
            self._in_use.enter_context(handle)
        self.wait(0.0)

    def wait(self, timeout: float) -> None:
        """Wait until there is a message, for ``timeout`` seconds at most."""
        wait_set = self._wait_set
        wait_set.clear_entities()
        for handle in self._handles:
            wait_set.add_subscription(handle)
        wait_set.wait(int(timeout * NANOSECONDS))

    def take(self, most: int) -> None:
        """Pass up to ``most`` waiting messages of each topic to the callbacks.

        With 1 nothing is lost: the next ``wait`` returns at once. Finding out that there is no
        second one would cost as much as taking it.
        """
        for take, kind, callback in self._takes:
            for _ in range(most):
                taken = take(kind, True)
                if taken is None:
                    break
                callback(*taken)

    def close(self) -> None:
        """Let go of the subscriptions, so that they can be destroyed."""
        self._in_use.close()
