"""The effort contract: what the effort field of an arm's joint states means (effort.pxd)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

CONTRACTS = FULL, WITHOUT_GRAVITY, WITHOUT_FRICTION, MOTOR_CURRENT = (
    "full",  # the joint torque
    "without_gravity",  # the drives add gravity and do not report it
    "without_friction",  # the torque after the friction of the gears
    "motor_current",  # joint torque / effort_gain
)


class ContractState(Enum):
    """What a check of the contract has found."""

    UNDECIDED = "undecided"
    KEPT = "kept"
    BROKEN = "broken"  # another contract fits
    UNEXPLAINED = "unexplained"  # none does


@dataclass(frozen=True)
class ContractVerdict:
    """The result of a check.

    Attributes:
        finding: What was found.
        text: The reason, one sentence for the user.
    """

    finding: ContractState
    text: str
