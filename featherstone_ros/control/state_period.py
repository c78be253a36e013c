"""Whether joint states come as often as gains are chosen and checked for."""

from __future__ import annotations

from math import inf

WINDOW = 1.0  # [s] over which joint states are counted
SLOWER = 1.5  # times longer than expected


class StatePeriod:
    """The mean time between joint states, by the controller's time: that of their stamps.

    Attributes:
        text: That they come too slowly, empty if they do not.
    """

    def __init__(self) -> None:
        """Have counted none."""
        self._begin, self._before = -inf, 0
        self._was_slow, self.text = False, ""

    def update(self, now: float, count: int, expected: float, silence: float) -> str:
        """Count; return ``text``.

        Two windows in a row have to say so: a gap is nothing of the kind. ``count``: of all states
        so far; those further apart than ``silence`` have stopped [s].
        """
        elapsed = now - self._begin
        if 0.0 <= elapsed < WINDOW:  # it begins anew where the clock does
            return self.text
        measured = elapsed / max(count - self._before, 1)
        is_slow = self._before > 0 and SLOWER * expected < measured < silence
        self.text = (
            f"joint states come every {1e3 * measured:.2g} ms, gains are chosen and checked for "
            f"gains.period {1e3 * expected:.4g} ms"
        ) * (is_slow and self._was_slow)
        self._begin, self._before, self._was_slow = now, count, is_slow
        return self.text
