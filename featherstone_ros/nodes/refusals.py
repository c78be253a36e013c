"""Refused messages, and other news that the diagnostics show for a while."""

from __future__ import annotations

from collections import Counter
from math import inf
from time import monotonic

from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.text import plain

LOGGED = 5  # of refusals that are alike, in ``throttled_log.LOG_INTERVAL``


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


class Refusals(RecentText):
    """The messages that are refused: the last one's topic and the reason.

    Attributes:
        counts: Their numbers by topic.
    """

    def __init__(self, node: ModelNode, memory: float) -> None:
        """Report through this node; each is shown for ``memory`` seconds."""
        super().__init__(memory)
        self._node = node
        self.counts: Counter[str] = Counter()

    def refuse(self, topic: str, reason: object, kind: str = "") -> None:
        """Report a refused message; ``kind`` is that of the log line, see ``ThrottledLog``.

        The log has the first ``LOGGED`` of each kind in a few seconds: who sends one after the
        other by hand reads why each is refused. The diagnostics count all.
        """
        self.counts[topic] += 1
        self.set(f"{topic}: {plain(str(reason))}")
        self._node.log.error(f"refused a message on {self.last}", kind, LOGGED)
        self._node.publish_diagnostics()
