"""What rclpy's executor does not wait for, or not for each message."""

from __future__ import annotations

from time import monotonic
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup

CLOCK_PERIOD = 0.05  # [s] of real time in which the executor takes a message of /clock at most


class DetachedGroup(MutuallyExclusiveCallbackGroup):
    """Callback group that no executor serves: a loop takes its messages.

    Their events too: to wait for those would wake the executor for every message (rmw_fastrtps).
    """

    def can_execute(self, entity: Any) -> bool:
        """Tell that the executor is neither to wait for an entity nor to serve it."""
        return False


class SeldomGroup(MutuallyExclusiveCallbackGroup):
    """Callback group of /clock: the executor takes the newest message, once in ``CLOCK_PERIOD``.

    Each would cost it half a millisecond, which a simulation at 1 kHz has not. The loop, which
    hears all of them, goes by none that comes this way.
    """

    def __init__(self) -> None:
        """Take the first one at once."""
        super().__init__()
        self._due = 0.0

    def can_execute(self, entity: Any) -> bool:
        """Tell whether the executor may wait for the entity and serve it."""
        return monotonic() >= self._due and super().can_execute(entity)

    def beginning_execution(self, entity: Any) -> bool:
        """Note that it is served."""
        self._due = monotonic() + CLOCK_PERIOD
        return super().beginning_execution(entity)
