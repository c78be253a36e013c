"""Parameters of a joint's drive, the same in both nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from featherstone_ros.control.armature import in_words, max_armature
from featherstone_ros.model import Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.parameter import (
    Parameter,
    Value,
    bounded,
    joint_parameters_of,
    per_joint,
)


def drive_parameters(model: Model, index: int, armature: float) -> Iterator[Parameter]:
    """Yield friction and armature of a joint; the defaults of friction are the description's.

    Args:
        model: The arm.
        index: Of the joint.
        armature: Assumed, see ``featherstone_ros.control.armature`` [kg m^2 or kg].
    """
    joint = model.joint_names[index]
    of_model = {"coulomb": model.friction[index], "viscous": model.damping[index]}
    for parameter in joint_parameters_of(Drives, joint, armature=armature, **of_model):
        if parameter.name == f"armature.{joint}":
            most = max(float(max_armature(model)[index]), armature)
            why = "what the effort limit brings to the speed limit within 30 s"
            yield replace(parameter, check=bounded("most", most, why))
        else:
            yield parameter


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
