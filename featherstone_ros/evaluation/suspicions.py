"""Signs that the effort recorded is not the torque that moves the arm, gravity included."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ALIKE = (
    0.95  # correlation from which a factor between measured and predicted torque means something
)
FACTORS = 0.6, 1.6  # that errors of a model do not explain
BETTER = 0.25  # share of the squares left over that makes the other reading the likelier one


def suspicions(
    joints: Sequence[str], measured: Floats, rigid: Floats, gravity: Floats
) -> list[str]:
    """Say what the effort seems to be instead of torque.

    Args:
        joints: n names.
        measured: (N, n) effort.
        rigid: (N, n) torque predicted [N m or N].
        gravity: (N, n) what gravity has of that.
    """
    if squares(measured - rigid + gravity) < BETTER * squares(measured - rigid):
        return [
            "The torque is explained better without gravity: does the driver report effort "
            "without it, or is --gravity another one?"
        ]
    notes = []
    for joint, m, p in zip(joints, measured.T, rigid.T, strict=True):
        if m.std() == 0 or p.std() == 0 or abs(np.corrcoef(m, p)[0, 1]) < ALIKE:
            continue
        factor = float(m @ p / (p @ p))
        if factor < 0:
            notes.append(f"{joint}: measured torque has the opposite sign of predicted torque.")
        elif not FACTORS[0] < factor < FACTORS[1]:
            notes.append(
                f"{joint}: measured torque is {factor:.2g} times that predicted: another unit, a "
                "motor's torque or current, or another load?"
            )
    return notes


def squares(values: Floats) -> float:
    """Return the sum of squares."""
    return float((values**2).sum())
