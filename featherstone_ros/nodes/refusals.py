"""Refused messages: counted and reported."""

from __future__ import annotations

from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.text import plain

MEMORY = 10.0  # [s] that the diagnostics warn of a refused message


class Refusals:
    """Counts and reports the messages that are refused."""

    def __init__(self, node: ModelNode) -> None:
        """Report through this node."""
        self._node = node
        self._count = 0
        self._last, self._time = "", -MEMORY
        self._untold = False

    def refuse(self, topic: str, reason: Exception) -> None:
        """Count a refused message; for any thread to call, however many there are of them."""
        self._count += 1
        self._last, self._time = f"{topic}: {plain(str(reason))}", self._now()
        if not self._untold:
            self._untold = True
            self._node.defer(self._tell)

    def _tell(self) -> None:
        self._untold = False
        topic = self._last.partition(":")[0]
        self._node.log.warning(f"refused a message on {self._last}", topic)
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
