"""A queue of actions from one thread to another, which never waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any


class Mailbox:
    """Actions for a thread that runs them when it has time, in the order in which they came.

    Nobody waits: neither takes a lock that the other could hold.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self._actions: deque[Callable[[], Any]] = deque()

    def post(self, action: Callable[[], Any]) -> None:
        """Have an action run; what it raises is raised in ``run``."""
        self._actions.append(action)

    def run(self) -> None:
        """Run what is there now."""
        actions = self._actions
        for _ in range(len(actions)):
            actions.popleft()()
