"""Rules on the whole robot: placeholders, far too much mass, joints that cannot hold it."""

import numpy as np

from featherstone_ros._core import Dynamics
from featherstone_ros.inspection.free_model import MAX_JOINTS, random_postures
from featherstone_ros.inspection.sizes import reach
from featherstone_ros.model import Model
from featherstone_ros.model.finding import Finding, Rule, Severity
from featherstone_ros.model.inertia_rules import HELPERS, carriers
from featherstone_ros.model.robot_description import Inertial, RobotDescription

SHORTEST = 0.05  # [m] below this reach, mass is not judged
# [kg/m^3] of the cube of a robot's reach: arms have 10 to 120
HEAVY, ABSURD = 1500.0, 6000.0
POSTURES = 64
BEYOND, FAR_BEYOND = 1.0, 3.0  # gravity torque / effort limit

PLACEHOLDERS = Rule(
    "placeholder-inertia",
    "has links that all have the same mass and isotropic inertia",
    "these look like placeholders: computed torques have little to do with the real robot's",
)
CENTRES_AT_ORIGIN = Rule(
    "com-at-origin",
    "has every centre of mass at the origin of its link",
    "gravity then has no lever about the joints: torques lack most of the robot's weight",
)
TOO_HEAVY = Rule(
    "units",
    "is far too heavy for its reach: masses look like g instead of kg",
    "torques are wrong by orders of magnitude",
)
CANNOT_HOLD = Rule(
    "gravity-beyond-effort",
    "cannot hold the robot against gravity with its effort limit",
    "the torque governor clamps the command, and the arm sinks; masses or the limit are wrong",
)


def implausible(robot: RobotDescription) -> list[Finding]:
    """Check the robot as a whole, without its base."""
    moving, _ = carriers(robot)
    inertials = [
        link.inertial
        for link in robot.links
        if link.name in moving and link.inertial is not None and link.inertial.mass > HELPERS
    ]
    if len(inertials) < 2:
        return []
    checks = (_placeholders, _centres, _weight)
    return [finding for check in checks for finding in check(robot, inertials)]


def weak_joints(model: Model) -> list[Finding]:
    """Check the effort limits against gravity along -z of the base, in random postures."""
    if not 0 < model.n <= MAX_JOINTS:
        return []
    torque = np.abs(Dynamics(model).gravity(random_postures(model, POSTURES)))
    findings = []
    for j, name in enumerate(model.joint_names):
        limit = model.effort_limit[j]
        worst, usual = float(torque[:, j].max()), float(np.median(torque[:, j]))
        if not 0 < limit < np.inf or not worst > BEYOND * limit:
            continue
        severity = Severity.ERROR if usual > FAR_BEYOND * limit else Severity.WARNING
        text = f"gravity needs up to {worst:.3g} in random postures, in half of them more than "
        text += f"{usual:.3g}, of {limit:.3g}"
        findings.append(Finding(severity, CANNOT_HOLD, "joint", name, text))
    return findings


def _placeholders(robot: RobotDescription, inertials: list[Inertial]) -> list[Finding]:
    first = inertials[0]
    same = all(
        one.mass == first.mass and np.array_equal(one.inertia, first.inertia) for one in inertials
    )
    ball = np.array_equal(first.inertia, first.inertia[0, 0] * np.eye(3))
    if not (same and ball and first.inertia[0, 0] > 0):
        return []
    text = f"{len(inertials)} links have mass {first.mass:.3g} kg, "
    text += f"inertia {first.inertia[0, 0]:.3g} kg m^2"
    severity = Severity.ERROR if first.inertia[0, 0] == 1 else Severity.WARNING
    return [Finding(severity, PLACEHOLDERS, "robot", robot.name, text)]


def _centres(robot: RobotDescription, inertials: list[Inertial]) -> list[Finding]:
    if any(inertial.com.any() for inertial in inertials):
        return []
    return [
        Finding(Severity.WARNING, CENTRES_AT_ORIGIN, "robot", robot.name, f"{len(inertials)} links")
    ]


def _weight(robot: RobotDescription, inertials: list[Inertial]) -> list[Finding]:
    length, mass = reach(robot), sum(inertial.mass for inertial in inertials)
    if length < SHORTEST or not mass > HEAVY * length**3:
        return []
    severity = Severity.ERROR if mass > ABSURD * length**3 else Severity.WARNING
    text = f"the moving links weigh {mass:.4g} kg, the joints span {length:.3g} m"
    return [Finding(severity, TOO_HEAVY, "robot", robot.name, text)]
