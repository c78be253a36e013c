"""The effort contract: what the effort field of an arm's joint states means (effort.pxd).

Its words are those of ``drives.<joint>.effort``, which says it joint by joint (``DriveUnits``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model import drive_units
from featherstone_ros.model.drive_units import DriveUnits

CONTRACTS = FULL, WITHOUT_GRAVITY, WITHOUT_FRICTION, MOTOR_CURRENT = (
    drive_units.TORQUE,  # of the joint
    drive_units.WITHOUT_GRAVITY,  # the drives add gravity and do not report it
    drive_units.WITHOUT_FRICTION,  # the torque after the friction of the gears
    drive_units.CURRENT,  # joint torque / gain; also percent of a rated torque
)
OF_ALL = (WITHOUT_GRAVITY, WITHOUT_FRICTION)  # contracts that hold for all joints or none


class ContractState(IntEnum):
    """What has been found of the contract; the greater, the worse."""

    UNDECIDED = 0
    KEPT = 1
    UNEXPLAINED = 2  # no contract fits
    BROKEN = 3  # another one fits


class ContractVerdict(NamedTuple):
    """The result of a check.

    Attributes:
        finding: What was found.
        text: The reason, one sentence for the user.
    """

    finding: ContractState
    text: str


def contract_of(units: DriveUnits) -> tuple[str, Floats]:
    """Return the contract that the drives' units make, and the torque per current or per cent (n,).

    Under another contract than ``MOTOR_CURRENT``, what it would be: 1 where that is not known.

    Raises:
        ValueError: Only some joints lack gravity or friction: a contract holds for the whole arm.
    """
    for word in OF_ALL:
        has = np.array([effort == word for effort in units.effort])
        if has.all():
            return word, np.where(units.torque_constant > 0.0, units.torque_per_current, 1.0)
        if has.any():
            joint = int(has.argmin())
            raise ValueError(
                f"drives.{units.names[joint]}.effort is {units.effort[joint]}, expected {word} as "
                "for other joints: a shadow has one contract for all"
            )
    gain = units.effort_gain
    if (gain == 1.0).all():
        return FULL, np.where(units.torque_constant > 0.0, units.torque_per_current, 1.0)
    return MOTOR_CURRENT, gain
