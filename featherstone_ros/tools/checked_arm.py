"""Loads the arm for which a trajectory is checked, from its URDF and parameter file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import assumed_armature
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.payload import MODEL_NAMES, model_with_payload
from featherstone_ros.control.settings import Interpolation
from featherstone_ros.model import Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT
from featherstone_ros.model.parameter_files import (
    NodeParameters,
    ParameterFileError,
    check_names,
    read_parameters,
)
from featherstone_ros.model.robots import robot_file, robot_parameters

NO_PAYLOAD = {
    "payload.link": "",
    "payload.mass": 0.0,
    "payload.com": [0.0] * 3,
    "payload.inertia": [0.0] * 6,
}


@dataclass(frozen=True, eq=False)
class CheckedArm:
    """An arm with its drives and limits.

    Attributes:
        model: With payload; its joints are the trajectory's, in that order; others are locked.
        drives: Friction and armature.
        limits: Of the same joints.
        may_end_moving: Whether the last point may have velocity.
        interpolation: Between points that have positions alone.
        parameters: The controller's parameter file; None: there is none.
    """

    model: Model
    drives: Drives
    limits: JointSpace
    may_end_moving: bool
    interpolation: Interpolation
    parameters: Path | None = None


def load_arm(robot: str, joints: Sequence[str], parameters: Path | None = None) -> CheckedArm:
    """Load an arm.

    Args:
        robot: ``panda``, ``ur5e``, or the path of a URDF or xacro file.
        joints: The joints that move.
        parameters: A parameter file of the controller; friction, armature, payload, gravity,
            ``effort_limit``, ``presliding_displacement``, ``effort_scale``, ``interpolation`` and
            ``allow_nonzero_velocity_at_trajectory_end`` are taken from it. None: the package's file
            for ``panda`` and ``ur5e``, else the URDF alone. Armature that it does not have is what
            both nodes assume.

    Raises:
        FeatherstoneError: A file or a joint is missing, or a value cannot be used.
    """
    model = Model.from_file(robot_file(robot), joints=list(joints))
    parameters = parameters or robot_parameters(robot)
    values = NodeParameters({}, "")
    if parameters:
        values = read(parameters)
        check_names(parameters, {*model.joint_names, *model.locked})
    return replace(arm_of(model, values), parameters=parameters)


def arm_of(model: Model, values: NodeParameters) -> CheckedArm:
    """Return the arm of a model and the controller's parameters, as of ``load_arm``.

    Raises:
        FeatherstoneError: A value cannot be used.
    """
    armature = assumed_armature(model)
    try:
        model = model_with_payload(_model_values(values, model), model)
        drives = Drives(
            _by_joint(values, "armature.{}", armature, model),
            _by_joint(values, "friction.{}.viscous", model.damping, model),
            _by_joint(values, "friction.{}.coulomb", model.friction, model),
            values.number("presliding_displacement", PRESLIDING_DISPLACEMENT),
            _by_joint(values, "friction.{}.load", np.zeros(model.n), model),
            _by_joint(values, "friction.{}.thinning", np.zeros(model.n), model),
        )
        effort = values.numbers("effort_limit.{}", model.joint_names, model.effort_limit)
        limits = JointSpace.of(model, effort * values.number("effort_scale", 1.0))
        interpolation = Interpolation(values.get("interpolation", Interpolation.LINEAR))
    except ParameterFileError:
        raise
    except (TypeError, ValueError) as error:
        raise ParameterFileError(f"{values.source}: {error}") from None
    may_end_moving = bool(values.get("allow_nonzero_velocity_at_trajectory_end", False))
    return CheckedArm(model, drives, limits, may_end_moving, interpolation)


def read(path: Path) -> NodeParameters:
    """Return the controller's parameters in a file, dots in their names.

    Raises:
        ParameterFileError: The file cannot be read, or has none.
    """
    values = read_parameters(path)["feedforward_controller"]
    if not values:
        raise ParameterFileError(
            f"{path} has no ros__parameters under /** or /**/feedforward_controller"
        )
    return values


def _model_values(values: Mapping[str, object], model: Model) -> dict[str, object]:
    default = {"gravity": model.gravity, **NO_PAYLOAD}
    return {name: values.get(name, default[name]) for name in MODEL_NAMES}


def _by_joint(values: NodeParameters, pattern: str, default: Floats, model: Model) -> Floats:
    """Return a parameter that each joint has (n,)."""
    array = values.numbers(pattern, model.joint_names, default)
    for joint, value in zip(model.joint_names, array, strict=True):
        if not 0.0 <= value < np.inf:
            name = pattern.format(joint)
            raise ValueError(f"{name} is {value}, expected a finite number >= 0")
    return array
