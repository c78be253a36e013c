"""Parameters of a joint's drive, the same in both nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import in_words, max_armature
from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.parameter import (
    Parameter,
    Value,
    bounded,
    joint_parameters_of,
    per_joint,
)


def drive_parameters(model: Model, index: int, armature: float) -> Iterator[Parameter]:
    """Yield friction, armature and units of a drive; friction is by default the description's.

    ``armature``: assumed, see ``featherstone_ros.control.armature``.
    """
    joint = model.joint_names[index]
    of_model = {"coulomb": model.friction[index], "viscous": model.damping[index]}
    for parameter in joint_parameters_of(Drives, joint, armature=armature, **of_model):
        if parameter.name == f"armature.{joint}":
            max_value = max(float(max_armature(model)[index]), armature)
            why = "what the effort limit brings to the speed limit within 30 s"
            yield replace(parameter, check=bounded("most", max_value, why))
        else:
            yield parameter
    yield from joint_parameters_of(DriveUnits, joint)


def require_same_units(values: Mapping[str, Value], before: Mapping[str, Value]) -> None:
    """Check that drives keep their units, which nobody exchanges under an arm that is held."""
    for name in values:
        if name.startswith("drives.") and values[name] != before[name]:
            raise ValueError(f"{name} is fixed until the node is cleaned up and configured")


def assumption(values: Mapping[str, Value], default: Callable[[str], Value], model: Model) -> str:
    """Return the armature that is assumed, neither set nor described; empty for none."""
    unset = _unset(values, default, model)
    return in_words(model.joint_names, np.where(model.armature > 0.0, 0.0, unset))


def described(values: Mapping[str, Value], default: Callable[[str], Value], model: Model) -> str:
    """Return the armature that is the robot description's, as of ``assumption``."""
    unset = _unset(values, default, model)
    return in_words(model.joint_names, np.where(model.armature > 0.0, unset, 0.0))


def _unset(values: Mapping[str, Value], default: Callable[[str], Value], model: Model) -> Floats:
    """Return the armature (n,) of joints for which none is set, 0 for the others."""
    armature = per_joint(values, "armature.{}", model.joint_names)
    defaults = np.array([default(f"armature.{joint}") for joint in model.joint_names])
    return np.where(armature == defaults, armature, 0.0)
