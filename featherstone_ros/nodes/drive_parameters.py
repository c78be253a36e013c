"""Parameters of a joint's drive, the same in both nodes."""

from __future__ import annotations

from featherstone_ros.model import Model
from featherstone_ros.nodes.parameters import Setting


def drive_parameters(model: Model, index: int) -> tuple[Setting, ...]:
    """Return friction and armature of a joint; the defaults of friction are the description's."""
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
            f"friction.{joint}.offset",
            0.0,
            "constant additional effort of the drive, of either sign [N m or N]",
        ),
        Setting(
            f"armature.{joint}",
            0.0,
            "inertia of the drive, reflected to the joint [kg m^2 or kg]",
            0.0,
        ),
    )
