"""Rules on the whole robot, with all joints free that are to move.

Placeholders, far too much mass, joints that cannot hold it, and joints that move (nearly) no
inertia, for which forward dynamics has no solution.
"""

import numpy as np

from featherstone_ros._core import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.inspection.sizes import reach
from featherstone_ros.model import Model
from featherstone_ros.model.finding import Finding, Rule, Severity
from featherstone_ros.model.robot_description import Inertial, RobotDescription
from featherstone_ros.model.rules import HELPERS, carriers, weightless_joints

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
FEW_POSTURES = 5  # the middle of all ranges, and four random ones
BAD, HOPELESS = 1e8, 1e12  # condition numbers that leave 8 and 4 of 16 digits
NEARLY_SINGULAR = Rule(
    "singular-mass-matrix",
    "makes the mass matrix nearly singular",
    "almost no inertia resists the joint: forward dynamics loses digits and a simulation needs a "
    "tiny time step; give the links beyond it inertia, or the joint an armature",
)
INDEFINITE = Rule(
    "indefinite-mass-matrix",
    "makes the mass matrix indefinite",
    "in some posture the joint accelerates against its torque: the model is useless for simulation "
    "and control",
)
UNCHECKED = Rule(
    "mass-matrix-unchecked",
    "has too many joints for a check of its mass matrix",
    "whether inertia resists every motion is not known",
)
MAX_JOINTS = 300  # that are checked: the time grows with their cube


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


def degenerate_joints(model: Model, idle: list[str]) -> list[Finding]:
    """Check the joint-space inertia of a robot, given the joints that its model locks for it."""
    if model.n > MAX_JOINTS:
        return [*weightless_joints(idle), Finding(Severity.NOTE, UNCHECKED, "robot", model.name)]
    return weightless_joints(idle) + (_nearly_singular(model) if model.n else [])


def _nearly_singular(model: Model) -> list[Finding]:
    """Name the joint that moves most in each motion that almost no inertia resists.

    Such a motion is an eigenvector of M whose eigenvalue is small relative to the greatest.
    """
    found: dict[
        str, tuple[float, float]
    ] = {}  # joint: least resistance, and relative to the greatest
    for M in Dynamics(model).crba(_postures(model)):
        if not np.isfinite(M).all():
            continue
        resistance, motions = np.linalg.eigh(M)
        ratios = resistance / np.abs(resistance).max()
        for k in np.flatnonzero(ratios < 1 / BAD):
            joint = model.joint_names[int(np.argmax(np.abs(motions[:, k])))]
            found[joint] = min(found.get(joint, (np.inf, 0.0)), (ratios[k], resistance[k]))
    return [_finding(joint, *values) for joint, values in found.items()]


def _finding(joint: str, ratio: float, resistance: float) -> Finding:
    text = f"an eigenvalue is {resistance:.2g}, {ratio:.2g} of the greatest"
    if ratio < -1 / HOPELESS:
        return Finding(Severity.ERROR, INDEFINITE, "joint", joint, text)
    severity = Severity.ERROR if ratio < 1 / HOPELESS else Severity.WARNING
    return Finding(severity, NEARLY_SINGULAR, "joint", joint, text)


def _postures(model: Model) -> np.ndarray:
    q = random_postures(model, FEW_POSTURES)
    q[0] = middle(model)
    return q


def random_postures(model: Model, count: int) -> Floats:
    """Return (count, n) positions within the limits, the same in every call [rad or m]."""
    lower, upper = model.position_range
    return lower + np.random.default_rng(0).uniform(size=(count, model.n)) * (upper - lower)


def middle(model: Model) -> Floats:
    """Return the (n,) positions midway between the limits [rad or m]."""
    return model.position_range.mean(axis=0)
