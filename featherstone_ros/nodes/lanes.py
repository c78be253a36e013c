"""A fast lane for the few entities that are busy a thousand times a second.

rclpy's executor builds its wait set anew for every wait, from all the node's entities: some thirty
services, events and rare topics, for the sake of one timer or subscription. The entities of the
slow lane therefore join only a few waits every ``TURN``; they then wait that long at most.
"""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.timer import Timer
from rclpy.waitable import Waitable

TURN = 0.02  # [s]
WAITS_PER_TURN = 3


class SlowLane(MutuallyExclusiveCallbackGroup):
    """Callback group of what may wait a little, while ``restricted``."""

    def __init__(self) -> None:
        """Make a group without restriction."""
        super().__init__()
        self.restricted = False
        self.waits_left = 0

    @property
    def is_open(self) -> bool:
        """Whether the next wait is for the slow lane too."""
        return not self.restricted or self.waits_left > 0

    def can_execute(self, entity: Any) -> bool:
        """Tell whether the executor is to wait for an entity, or to serve it, now."""
        return self.is_open and super().can_execute(entity)


class FastLane(MutuallyExclusiveCallbackGroup):
    """Callback group of what cannot wait; the events of its topics go by the slow lane."""

    def __init__(self, slow_lane: SlowLane) -> None:
        """Make a group beside a slow lane."""
        super().__init__()
        self._slow_lane = slow_lane
        self.turn_timer: Timer | None = None

    def start_turn(self) -> None:
        """Let the slow lane take part in the next waits; the callback of ``turn_timer``."""
        self._slow_lane.waits_left = WAITS_PER_TURN

    def can_execute(self, entity: Any) -> bool:
        """Tell whether the executor is to wait for an entity, or to serve it, now."""
        if isinstance(entity, Waitable) and not self._slow_lane.is_open:
            return False
        if entity is self.turn_timer:  # asked for once before every wait
            self._slow_lane.waits_left -= 1
        return super().can_execute(entity)
