"""Whether the arm follows the desired motion: checked at intervals, for the diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats

NOTABLE = 0.25  # share of the path tolerance that causes a warning
USUAL_TOLERANCE = 0.3  # [rad or m] path tolerance used if none is set
STAYS = 5.0  # [s] after which a lasting error is serious
GROWN = 2.0  # growth since the first warning that is serious, too


@dataclass(frozen=True)
class TrackingWarning:
    """A warning about the tracking error; without text there is none."""

    text: str = ""
    is_serious: bool = False


class TrackingWatch:
    """Distinguishes passing errors, as in a fast motion, from lasting or growing ones."""

    def __init__(self, names: Sequence[str], reach: Floats | None = None) -> None:
        """Begin.

        ``reach``: (n,) the joints' range: the error of a joint with a shorter range than the
        tolerance, as a gripper's finger, is compared with that; None: none is shorter.
        """
        self._names = names
        some = np.zeros(len(names)) if reach is None else reach
        self._reach = np.where(some > 0.0, some, np.inf)
        self._since = 0.0
        self._first = 0.0  # error at the first warning; 0: none

    def update(self, now: float, error: Floats | None, tolerance: float) -> TrackingWarning:
        """Return the warning of an error (n,) of the position; None: none is desired.

        ``tolerance``: the error that ends a motion [rad or m]; 0: none.
        """
        bounds = np.minimum(tolerance or USUAL_TOLERANCE, self._reach)
        worst = 0 if error is None else int(np.argmax(np.abs(error) / bounds))
        size = 0.0 if error is None else float(np.abs(error[worst]))
        tolerance = float(bounds[worst])
        if size <= NOTABLE * tolerance:
            self._first = 0.0
            return TrackingWarning()
        if not self._first:
            self._since, self._first = now, size
        lasting = now - self._since
        text = f"joint {self._names[worst]!r} is {size:.3g} away from where it should be"
        if lasting > 0.0:
            text += f", for {lasting:.0f} s"
        return TrackingWarning(text, lasting > STAYS or size > min(tolerance, GROWN * self._first))
