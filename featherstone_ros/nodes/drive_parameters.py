"""Parameters of a joint's drive, the same in both nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from featherstone_ros.control.armature import in_words, max_armature
from featherstone_ros.declaration import per_joint
from featherstone_ros.model import Model
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.parameters import Parameters, Setting, Value, bounded

ASSUMED = "armature assumed"  # in the diagnostics


def drive_parameters(model: Model, index: int, armature: float) -> tuple[Setting, ...]:
    """Return friction and armature of a joint; the defaults of friction are the description's.

    Args:
        model: The arm.
        index: Of the joint.
        armature: Assumed, see ``featherstone_ros.control.armature`` [kg m^2 or kg].
    """
    joint = model.joint_names[index]
    return (
        Setting(
            f"friction.{joint}.coulomb",
            float(model.friction[index]),
            "Coulomb friction, which the controller compensates at the desired velocity [N m or N]",
            0.0,
        ),
        Setting(
            f"friction.{joint}.viscous",
            float(model.damping[index]),
            "viscous friction, which the controller compensates likewise [N m s/rad or N s/m]",
            0.0,
        ),
        Setting(
            f"friction.{joint}.load",
            0.0,
            "Coulomb friction per torque of the links",
            0.0,
            1.0,
        ),
        Setting(
            f"friction.{joint}.thinning",
            0.0,
            "reciprocal of the speed at which half of viscous friction is left [s/rad or s/m]",
            0.0,
        ),
        Setting(
            f"friction.{joint}.offset",
            0.0,
            "constant additional effort of the drive, of either sign [N m or N]",
        ),
        Setting(
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
    return {
        name: per_joint(values, pattern, model.joint_names)
        for name, pattern in {
            "viscous": "friction.{}.viscous",
            "coulomb": "friction.{}.coulomb",
            "load": "friction.{}.load",
            "thinning": "friction.{}.thinning",
            "offset": "friction.{}.offset",
            "armature": "armature.{}",
        }.items()
    }


def assumption(parameters: Parameters, joints: Sequence[str]) -> str:
    """Return the armature that is assumed, not set; empty for none."""
    values = per_joint(parameters, "armature.{}", joints)
    defaults = [parameters.default(f"armature.{joint}") for joint in joints]
    return in_words(joints, np.where(values == np.array(defaults), values, 0.0))


def tell_assumption(node: ModelNode) -> None:
    """Log what is assumed of the drives."""
    assumed = assumption(node.parameters, node.model.joint_names)
    if assumed:
        node.get_logger().warning(
            "no gains are stable without inertia of the drives, of which the robot description "
            f"tells nothing. Assumed: {assumed}; set what your arm has (data sheet, or "
            "featherstone-ros identify)"
        )
