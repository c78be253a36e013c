"""Parameters of a joint's drive, the same in both nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from featherstone_ros.control.armature import in_words, max_armature
from featherstone_ros.model import Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.parameter import Parameter, Value, bounded, per_joint


def drive_parameters(model: Model, index: int, armature: float) -> tuple[Parameter, ...]:
    """Return friction and armature of a joint; the defaults of friction are the description's.

    Args:
        model: The arm.
        index: Of the joint.
        armature: Assumed, see ``featherstone_ros.control.armature`` [kg m^2 or kg].
    """
    joint = model.joint_names[index]
    return (
        Parameter(
            f"friction.{joint}.coulomb",
            float(model.friction[index]),
            "Coulomb friction, which the controller compensates at the desired velocity [N m or N]",
            0.0,
        ),
        Parameter(
            f"friction.{joint}.viscous",
            float(model.damping[index]),
            "viscous friction, which the controller compensates likewise [N m s/rad or N s/m]",
            0.0,
        ),
        Parameter(
            f"friction.{joint}.load",
            0.0,
            "Coulomb friction per torque of the links",
            0.0,
            1.0,
        ),
        Parameter(
            f"friction.{joint}.thinning",
            0.0,
            "reciprocal of the speed at which half of viscous friction is left [s/rad or s/m]",
            0.0,
        ),
        Parameter(
            f"friction.{joint}.offset",
            0.0,
            "constant additional effort of the drive, of either sign [N m or N]",
        ),
        Parameter(
            f"armature.{joint}",
            armature,
            "inertia of the drive, reflected to the joint [kg m^2 or kg]; default: 0, or the least "
            "with which there are stable gains",
            0.0,
            check=bounded(
                "most",
                max(float(max_armature(model)[index]), armature),
                "what the effort limit brings to the speed limit within 30 s",
            ),
        ),
    )


def drives_of(values: Mapping[str, Value], model: Model) -> dict[str, Any]:
    """Return friction and armature (n,) of all joints, by the names that settings have for them."""
    drives = vars(Drives.of_parameters(values, model.joint_names))
    return {name: value for name, value in drives.items() if name != "presliding_displacement"}


def assumption(
    values: Mapping[str, Value], default: Callable[[str], Value], joints: Sequence[str]
) -> str:
    """Return the armature that is assumed, not set; empty for none.

    Args:
        values: Of all parameters.
        default: Returns a parameter's default.
        joints: The arm's.
    """
    armature = per_joint(values, "armature.{}", joints)
    defaults = np.array([default(f"armature.{joint}") for joint in joints])
    return in_words(joints, np.where(armature == defaults, armature, 0.0))
