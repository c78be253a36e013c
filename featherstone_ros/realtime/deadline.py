"""How often a loop may take too long."""

from __future__ import annotations

from collections import deque
from math import inf

WINDOW = 1.0  # [s] within which overruns are counted


class OverrunBudget:
    """Tells when more cycles than allowed took too long within the last second.

    Attributes:
        cycle_time: What a cycle may take [s].
        allowed: Number of longer ones (overruns) that any second may have.
    """

    __slots__ = ("_times", "allowed", "cycle_time")

    def __init__(self, cycle_time: float, allowed: int) -> None:
        """Begin without overruns.

        Args:
            cycle_time: [s], positive.
            allowed: At least 0.

        Raises:
            ValueError: One of them is out of range.
        """
        if not cycle_time > 0.0:
            raise ValueError(f"cycle_time is {cycle_time}, expected > 0")
        if allowed < 0:
            raise ValueError(f"allowed is {allowed}, expected >= 0")
        self.cycle_time = cycle_time
        self.allowed = allowed
        # Of the last allowed + 1 overruns; -inf for those that there have not been.
        self._times = deque([-inf] * (allowed + 1), maxlen=allowed + 1)

    def add(self, duration: float, now: float) -> bool:
        """Count a cycle.

        Args:
            duration: What it took [s].
            now: Steady time [s].

        Returns:
            Whether the budget is exceeded, as ``exceeded``.
        """
        if duration > self.cycle_time:
            self._times.append(now)
        return self.exceeded(now)

    def exceeded(self, now: float) -> bool:
        """Tell whether there were more overruns than allowed within the second before ``now``."""
        return now - self._times[0] < WINDOW
