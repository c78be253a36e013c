"""The robot of the demo: its description, parameters and initial positions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import tostring

import numpy as np
import yaml
from defusedxml import ElementTree

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError
from featherstone_ros.model import errors_naming, read_description
from featherstone_ros.model.friction import friction_torque
from featherstone_ros.model.parameter_files import NODES, NodeParameters, read_parameters
from featherstone_ros.model.robots import robot_file, robot_parameters

# For a robot without a parameter file: gains chosen from the effort limits, and rotor inertia
# typical of such drives, without which light wrists would be unstable at those gains.
_FULL_EFFORT_ERROR = 0.15  # [rad or m] at which P alone reaches the effort limit
_ROTOR_FREQUENCY = 40.0  # [rad/s] natural frequency of P with the rotor inertia alone
_HALF_TURN = np.pi  # [rad] in place of a missing limit


@dataclass(frozen=True)
class RobotSetup:
    """A robot ready to be driven.

    Attributes:
        name: For titles.
        text: Its URDF.
        model: With finite ``lower`` and ``upper`` only where the URDF gives them.
        parameters: Node name to its parameters, dots in their names.
        has_invented_rotors: Whether gains and rotor inertia were invented for the demo.
    """

    name: str
    text: str
    model: Model
    parameters: Mapping[str, NodeParameters]
    has_invented_rotors: bool = False

    @property
    def start(self) -> Floats:
        """(n,) initial positions of the twin [rad or m]."""
        return self.by_joint("digital_twin", "initial_positions.{}")

    def by_joint(self, node: str, pattern: str) -> Floats:
        """(n,) values of a parameter that each joint has, 0 where it is not given."""
        return self.parameters[node].numbers(
            pattern, self.model.joint_names, np.zeros(self.model.n)
        )

    def inverse_dynamics(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """(N, n) torque that moves the twin's arm, its friction and rotors included."""
        rigid = Dynamics(self.model).rnea(q, qd, qdd)
        viscous, coulomb = (
            self.by_joint("digital_twin", f"friction.{{}}.{kind}")
            for kind in ("viscous", "coulomb")
        )
        rotors = self.by_joint("digital_twin", "armature.{}") * qdd
        return rigid + rotors + friction_torque(qd, viscous, coulomb)


def load(name: str) -> RobotSetup:
    """Load a robot.

    Args:
        name: One of the package's own (``panda``, ``ur5e``), or the path of a URDF or xacro file.

    Raises:
        UnknownNameError: There is no such robot or file.
        ModelError: The file cannot be used.
    """
    path = robot_file(name)
    text = read_description(path)
    file = robot_parameters(name)
    if file is None:
        with errors_naming(path):
            model = Model.from_urdf(text)
        if not model.n:
            raise ModelError(f"robot {model.name!r} has no joint that moves: nothing to drive")
        return RobotSetup(
            model.name, text, model, chosen_parameters(model), has_invented_rotors=True
        )
    parameters = read_parameters(file)
    with errors_naming(path):
        model = Model.from_urdf(text, joints=parameters["digital_twin"].joints())
    return RobotSetup(model.name, text, model, parameters)


def write_invented(robot: RobotSetup, path: Path) -> None:
    """Write the invented parameters as a file for both nodes."""
    head = (
        f"# {robot.name}: what featherstone-ros demo drove it with. Rotor inertia (armature) and\n"
        "# gains are invented from the effort limits, for a demonstration: for work with the arm,\n"
        "# `featherstone-ros setup` chooses gains, and `identify` finds what the drives have.\n\n"
    )
    content = {f"/**/{node}": {"ros__parameters": dict(robot.parameters[node])} for node in NODES}
    path.write_text(head + yaml.safe_dump(content, sort_keys=False, width=100))


def with_heavier_links(text: str, excess: float) -> str:
    """Return the URDF with every mass and inertia multiplied by ``1 + excess``."""
    if excess == 0:
        return text
    robot = ElementTree.fromstring(text)
    for inertial in robot.iterfind("link/inertial"):
        for element in (*inertial.iterfind("mass"), *inertial.iterfind("inertia")):
            for key, value in element.items():
                element.set(key, repr(float(value) * (1 + excess)))
    return tostring(robot, encoding="unicode")


def chosen_parameters(model: Model) -> dict[str, NodeParameters]:
    """Choose start, gains and rotor inertia from the model; returned as by ``read_parameters``."""
    lower = np.where(np.isfinite(model.lower), model.lower, -_HALF_TURN)
    upper = np.where(np.isfinite(model.upper), model.upper, _HALF_TURN)
    start = (lower + upper) / 2
    inertia = np.diag(Dynamics(model).crba(start))
    weight = np.abs(Dynamics(model).gravity(start))
    effort = np.where(
        np.isfinite(model.effort_limit), model.effort_limit, 3 * weight + 20 * inertia
    )
    p = effort / _FULL_EFFORT_ERROR
    armature = p / _ROTOR_FREQUENCY**2
    d = 1.4 * np.sqrt(p * (inertia + armature))
    own = {
        "digital_twin": {"initial_positions.{}": start},
        "feedforward_controller": {"gains.{}.p": p, "gains.{}.d": d},
    }
    both = {
        "friction.{}.viscous": model.damping,
        "friction.{}.coulomb": model.friction,
        "armature.{}": armature,
    }
    parameters = {}
    for node in NODES:
        parameters[node] = NodeParameters({"joints": list(model.joint_names)}, model.name)
        for pattern, values in {**both, **own[node]}.items():
            for joint, value in zip(model.joint_names, values, strict=True):
                parameters[node][pattern.format(joint)] = float(value)
    return parameters
