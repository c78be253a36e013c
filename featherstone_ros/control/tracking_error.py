"""Whether the arm is where it should be: checked once in a while, for the diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats

NOTABLE = 0.25  # share of the path tolerance that is worth a word
USUAL_TOLERANCE = 0.3  # [rad or m] that stands for none
STAYS = 5.0  # [s] after which an error that has not gone is a fault
GROWN = 2.0  # times the error that was first worth a word is a fault, too


@dataclass(frozen=True)
class Complaint:
    """What is to be said of the tracking error; no text: nothing."""

    text: str = ""
    is_serious: bool = False


class TrackingWatch:
    """Tells errors that pass, as in a fast motion, from those that stay or grow."""

    def __init__(self, names: Sequence[str]) -> None:
        """Begin; names are the joints', in order."""
        self._names = names
        self._since = 0.0
        self._first = 0.0  # error when it was first worth a word; 0: it is not

    def update(self, now: float, error: Floats | None, tolerance: float) -> Complaint:
        """Return what is to be said.

        Args:
            now: Steady time [s].
            error: Desired position minus the arm's (n,) [rad] or [m]; None: none is desired.
            tolerance: That ends a motion [rad or m]; 0: none does.
        """
        tolerance = tolerance or USUAL_TOLERANCE
        worst = 0 if error is None else int(np.argmax(np.abs(error)))
        size = 0.0 if error is None else float(np.abs(error[worst]))
        if size <= NOTABLE * tolerance:
            self._first = 0.0
            return Complaint()
        if not self._first:
            self._since, self._first = now, size
        lasting = now - self._since
        text = f"joint {self._names[worst]!r} is {size:.3g} away from where it should be"
        if lasting > 0.0:
            text += f", for {lasting:.0f} s"
        return Complaint(text, lasting > STAYS or size > min(tolerance, GROWN * self._first))
