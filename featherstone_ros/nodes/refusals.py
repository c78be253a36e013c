"""Refused messages, and other news that the diagnostics show for a while."""

from __future__ import annotations

from math import inf
from time import monotonic

from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.text import plain

MEMORY = 10.0  # [s] that the diagnostics warn of a refused message


class RecentText:
    """A text that the diagnostics show for a while.

    Attributes:
        last: The last one, however old.
    """

    def __init__(self, memory: float) -> None:
        """Have no text yet; each is shown for ``memory`` seconds."""
        self._memory = memory
        self.last, self._end = "", -inf

    def set(self, text: str) -> None:
        """Show a text from now on."""
        self.last, self._end = text, monotonic() + self._memory

    @property
    def recent(self) -> str:
        """The text while it is shown, then empty."""
        return self.last if monotonic() < self._end else ""


class Refusals:
    """Reports the messages that are refused."""

    def __init__(self, node: ModelNode) -> None:
        """Report through this node."""
        self._node = node
        self._text = RecentText(MEMORY)
        self._untold = False

    def refuse(self, topic: str, reason: Exception) -> None:
        """Report a refused message; for any thread to call, however many there are of them."""
        self._text.set(f"{topic}: {plain(str(reason))}")
        if not self._untold:
            self._untold = True
            self._node.defer(self._tell)

    def _tell(self) -> None:
        self._untold = False
        topic = self._text.last.partition(":")[0]
        self._node.log.warning(f"refused a message on {self._text.last}", topic)
        self._node.publish_diagnostics()

    @property
    def recent(self) -> list[str]:
        """The last refusal in words, as a list: empty if it is long ago."""
        text = self._text.recent
        return [f"refused a message on {text}"] if text else []

    @property
    def values(self) -> dict[str, object]:
        """Details for the diagnostics."""
        return {"last refusal": self._text.last or "none"}
