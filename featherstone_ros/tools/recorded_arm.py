"""What commands on recordings share: the arm, and what is said of how it explains the torque."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.explanation import Explanation
from featherstone_ros.identification.payload import Payload
from featherstone_ros.model import Model
from featherstone_ros.model.parameter_files import controller_parameters


def load_arm(
    urdf: str | Path, joints: Sequence[str], known: Path | None, gravity: Sequence[float]
) -> Arm:
    """Return the arm of a description and a parameter file of the controller.

    Args:
        urdf: Robot description, .urdf or .xacro.
        joints: Those that move.
        known: Parameter file with friction, armature, offset, payload and gravity of the
            controller; what it lacks is taken from the URDF. None: links only.
        gravity: In the base link's frame, where the file says none [m/s^2].

    Raises:
        FeatherstoneError: A file or something in it cannot be used.
    """
    if known is None:
        return Arm.without_drives(Model.from_file(urdf, joints=joints, gravity=gravity))
    arm = ControlledArm.from_robot(str(urdf), joints, known)
    has_gravity = "gravity" in controller_parameters(known)
    model = arm.model if has_gravity else arm.model.with_gravity(gravity)
    return Arm(model, arm.drives)


def scores(explanation: Explanation | None) -> dict[str, Any]:
    """Return the RMS of the unexplained torque and R^2, joint by joint."""
    if explanation is None:
        return {"rms": None, "r2": None}
    return {"rms": explanation.rms, "r2": explanation.r2}


def r2_text(value: float) -> str:
    """Write R^2 as in the literature; a dash where there is none."""
    return "–" if np.isnan(value) else f"{value:.3f}"


def load_text(load: Payload) -> str:
    """Say what is missing from the model."""
    x, y, z = load.com
    return (
        f"This looks like an unmodelled {load.mass:.2g} kg at {x:.2f} {y:.2f} {z:.2f} m of "
        f"{load.link}: it explains {load.explained:.0%} of the rest. A tool or gripper that the "
        "URDF lacks? `featherstone-ros payload` tells more."
    )
