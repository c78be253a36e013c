"""The effort contract: what the effort field of an arm's joint states means (effort.pxd)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from featherstone_ros.arrays import Floats
from featherstone_ros.model.drive_units import DriveUnits

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


def contract_of(units: DriveUnits) -> tuple[str, Floats]:
    """Return contract and gain (n,) that say the same of the efforts as the drives' units.

    Raises:
        ValueError: Only some joints hide gravity: a contract holds for the whole arm.
    """
    hides = units.hides_gravity
    if hides.any() and not hides.all():
        joint = units.names[int(hides.argmin())]
        raise ValueError(
            f"drives.{joint}.effort is {units.effort[int(hides.argmin())]}, expected "
            "torque_without_gravity as for other joints: a shadow has one contract for all"
        )
    gain = units.effort_gain
    if hides.all():
        return WITHOUT_GRAVITY, gain
    return (FULL if (gain == 1.0).all() else MOTOR_CURRENT), gain
