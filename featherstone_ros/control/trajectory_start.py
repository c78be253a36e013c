"""When a trajectory starts, relative to the last joint state."""

from __future__ import annotations

from featherstone_ros._control import CLOCK_JUMP


def start_delay(start: float, stamp: float, now: float) -> float:
    """Return how long after the last joint state a trajectory starts [s], negative if before.

    The start is compared with the state's own stamp, so that the age of the state does not shift
    the motion, unless that stamp is missing or of another clock.

    Args:
        start: When it is to start, by its sender's clock [s].
        stamp: Stamp of the last joint state [s], 0 for none.
        now: Time of the node's clock [s].
    """
    return start - (stamp if is_same_clock(start, stamp, now) else now)


def is_same_clock(start: float, stamp: float, now: float) -> bool:
    """Tell whether a start time is by the clock that stamps joint states; as ``start_delay``."""
    return stamp > 0.0 and abs(start - stamp) < abs(start - now) + CLOCK_JUMP
