"""What the effort field of an arm's joint states contains, and joint torque from it.

Here joint torque is what the drive exerts on rotor, friction and links together:
(H + armature) qdd + C qd + g + friction = torque + J^T w.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONTRACTS = FULL, WITHOUT_GRAVITY, WITHOUT_FRICTION, MOTOR_CURRENT = (
    "full",  # the joint torque
    "without_gravity",  # the drives add gravity and do not report it
    "without_friction",  # what is left behind the friction of the gears
    "motor_current",  # joint torque / effort_gain
)


class EffortContract:
    """Converts effort as the arm reports it into joint torque, and back."""

    def __init__(
        self,
        name: str,
        gain: Floats,
        gravity: Callable[[Floats], Floats],
        friction: Callable[[Floats], Floats],
    ) -> None:
        """Choose the contract.

        Args:
            name: One of ``CONTRACTS``.
            gain: (n,) torque per effort, under ``motor_current`` only.
            gravity: Of position (n,).
            friction: Of velocity (n,).

        Raises:
            ValueError: No such contract.
        """
        if name not in CONTRACTS:
            raise ValueError(f"effort_contract: expected one of {', '.join(CONTRACTS)}, got {name}")
        self.name = name
        self._gain = gain if name == MOTOR_CURRENT else np.ones_like(gain)
        self._hidden = {
            WITHOUT_GRAVITY: lambda q, qd: gravity(q),
            WITHOUT_FRICTION: lambda q, qd: friction(qd),
        }.get(name, lambda q, qd: 0.0)

    def torque(self, effort: Floats, q: Floats, qd: Floats) -> Floats:
        """Return the joint torque (n,) that a reported effort (n,) stands for."""
        return self._gain * effort + self._hidden(q, qd)

    def effort(self, torque: Floats, q: Floats, qd: Floats) -> Floats:
        """Return what an arm under this contract reports (n,) for a joint torque (n,)."""
        return (torque - self._hidden(q, qd)) / self._gain
