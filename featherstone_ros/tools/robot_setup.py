"""The robot of a command that simulates it: its description, parameters and initial positions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.errors import ModelError
from featherstone_ros.model import errors_naming, read_description
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.joint_selection import NAME as LOCKED
from featherstone_ros.model.parameter_files import (
    CONTROLLER,
    NODES,
    TWIN,
    NodeParameters,
    check_names,
    read_parameters,
)
from featherstone_ros.model.robots import robot_file, robot_parameters
from featherstone_ros.parameter import of_joints

OF_DRIVES = ("armature.", "friction.", "presliding_displacement")  # parameters of both nodes


@dataclass(frozen=True)
class RobotSetup:
    """A robot ready to be driven."""

    name: str  # for titles
    path: Path  # of its description
    text: str  # its URDF
    model: Model  # of the joints that the controller moves
    # parameter files of both nodes, of which a later one overrides the earlier; none: their
    # defaults
    files: Sequence[Path]
    parameters: Mapping[str, NodeParameters]  # node name to its parameters, dots in their names
    has_assumed_drives: bool = False  # whether the drives' inertia is assumed

    @property
    def start(self) -> Floats:
        """(n,) initial positions of the twin [rad or m]."""
        return self.by_joint("digital_twin", "initial_positions.{}")

    def by_joint(self, node: str, pattern: str) -> Floats:
        """(n,) values of a parameter that each joint has, 0 where it is not given."""
        return self.parameters[node].numbers(
            pattern, self.model.joint_names, np.zeros(self.model.n)
        )

    @cached_property
    def arm(self) -> ControlledArm:
        """The arm as the controller's parameters describe it."""
        return ControlledArm.of(self.model, self.parameters[CONTROLLER])

    @cached_property
    def drives(self) -> Drives:
        """Friction and rotors of the twin."""
        given = self.parameters[TWIN].items()
        own = {name: value for name, value in given if name.startswith(OF_DRIVES)}
        return ControlledArm.of(self.model, own).drives

    def inverse_dynamics(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """(N, n) torque that moves the twin's arm, its friction and rotors included."""
        return self.drives.torque(Dynamics(self.model), q, qd, qdd)


def load(name: str) -> RobotSetup:
    """Load a robot with its parameters, or what ``setup`` proposes where it has no file of them.

    ``name``: one of the package's own (``panda``, ``ur5e``), or the path of a URDF or xacro file.
    """
    robot = described(name)
    return robot if robot.files else _with_proposal(robot)


def described(name: str, files: Sequence[Path] | None = None) -> RobotSetup:
    """Load a robot with the parameters of files, if there are any.

    ``files``: parameter files of both nodes; None: the package's own, if it has one.
    """
    path, own = robot_file(name), robot_parameters(name)
    files = files or ([own] if own else [])
    text = read_description(path)
    parameters = {node: NodeParameters({}, name) for node in NODES}
    if files:
        parameters = read_parameters(*files)
    with errors_naming(path):
        of_controller = parameters[CONTROLLER]
        model = Model.from_urdf(text, joints=of_controller.joints())
        names = model.locked_joints
        places = of_controller.numbers(LOCKED, names, model.locked_positions).tolist()
        model = model.with_locked(dict(zip(names, places, strict=True)))
    for file in files:
        check_names(file, {*model.joint_names, *model.locked})
    if not model.n:
        raise ModelError(f"robot {model.name!r} has no joint that moves: nothing to drive")
    return RobotSetup(model.name, path, text, model, files, parameters)


def _with_proposal(robot: RobotSetup) -> RobotSetup:
    from featherstone_ros.tools.proposal import propose  # which examines the description

    proposal = propose(robot.path)
    model, arm = proposal.model, proposal.arm
    joints, unset = model.joint_names, np.zeros(model.n)
    if proposal.rotors is not None:  # of geared drives, without which light joints hardly get gains
        arm = arm.with_parameters(
            {
                **of_joints("armature.{}", joints, proposal.rotors),
                **of_joints("gains.{}.p", joints, unset),
                **of_joints("gains.{}.d", joints, unset),
                "gains.bandwidth": proposal.asked,
            }
        )
    p, d = arm.feedback.gains
    armature = arm.drives.armature
    both = {
        "joints": list(joints),
        **of_joints("friction.{}.viscous", joints, model.damping),
        **of_joints("friction.{}.coulomb", joints, model.friction),
        **of_joints("armature.{}", joints, armature),
    }
    own = {
        TWIN: of_joints("initial_positions.{}", joints, proposal.start),
        CONTROLLER: {**of_joints("gains.{}.p", joints, p), **of_joints("gains.{}.d", joints, d)},
    }
    parameters = {node: NodeParameters({**both, **own[node]}, model.name) for node in NODES}
    return replace(robot, parameters=parameters, has_assumed_drives=bool(armature.any()))
