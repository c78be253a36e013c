"""Messages that a node refuses: they change nothing, are counted, and reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.nodes.lifecycle import ModelNode

LOG_INTERVAL = 5.0  # [s] between two complaints in the log
MEMORY = 10.0  # [s] that the diagnostics warn of a refused message


class Refusals:
    """Counts and reports the messages refused by callbacks, which say why by an exception."""

    def __init__(self, node: ModelNode) -> None:
        """Report through this node."""
        self._node = node
        self._count = 0
        self._last, self._time = "", -MEMORY

    def guard(self, topic: str, callback: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback that survives FeatherstoneError and ValueError of another."""

        def take(message: Any) -> None:
            try:
                callback(message)
            except (FeatherstoneError, ValueError) as error:
                self._refuse(f"{topic}: {error}")

        return take

    def _refuse(self, what: str) -> None:
        self._count += 1
        self._last, self._time = what, self._now()
        self._node.get_logger().warning(
            f"refused a message on {what}", throttle_duration_sec=LOG_INTERVAL
        )
        self._node.publish_diagnostics()

    def _now(self) -> float:
        return self._node.steady_clock.now().nanoseconds * 1e-9

    @property
    def recent(self) -> list[str]:
        """The last refusal in words, as a list: empty if it is long ago."""
        if self._now() - self._time < MEMORY:
            return [f"refused a message on {self._last}"]
        return []

    @property
    def values(self) -> dict[str, object]:
        """Details for the diagnostics."""
        return {"refused messages": self._count, "last refusal": self._last or "none"}
