"""Whether joint states come as often as gains are chosen and checked for."""

from __future__ import annotations

WINDOW = 1.0  # [s] over which joint states are counted
SLOWER = 1.5  # times longer than expected


class StatePeriod:
    """The mean time between joint states."""

    def __init__(self, now: float) -> None:
        """Begin to count; ``now`` is a steady time [s]."""
        self._begin, self._before = now, 0
        self._was_slow, self._text = False, ""

    def update(self, now: float, count: int, expected: float, silence: float) -> str:
        """Return that they come too slowly, empty if they do not.

        Two windows in a row have to say so: a gap is nothing of the kind.

        Args:
            now: Steady time [s].
            count: Of all states so far.
            expected: ``gains.period`` [s].
            silence: States that are further apart have stopped [s].
        """
        elapsed = now - self._begin
        if elapsed < WINDOW:
            return self._text
        measured = elapsed / max(count - self._before, 1)
        is_slow = self._before > 0 and SLOWER * expected < measured < silence
        self._text = (
            f"joint states come every {1e3 * measured:.2g} ms, gains are chosen and checked for "
            f"gains.period {1e3 * expected:.4g} ms"
        ) * (is_slow and self._was_slow)
        self._begin, self._before, self._was_slow = now, count, is_slow
        return self._text
