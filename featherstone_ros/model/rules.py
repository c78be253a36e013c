"""Rules of links and joints: inertias that no body has; limits, friction, mimicry, placement."""

import math

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model.finding import Finding, Rule, Severity
from featherstone_ros.model.robot_description import Joint, Link, RobotDescription, orphans

ROUNDING = 1e-6  # of the trace: URDFs give few digits
COARSE = 0.1  # of the trace: error that coarse rounding or identification may leave
HELPERS = 1e-5  # [kg, kg m^2] at most of helper links, which some simulators require
POINT = 1e-5  # [m] radius of gyration below which a body counts as a point

MASSLESS = Rule(
    "massless",
    "has inertia but no mass",
    "no body has that; without mass there is neither weight nor a centre of mass",
)
ZERO_INERTIA = Rule(
    "zero-inertia",
    "has mass but no inertia: a point mass",
    "turning it takes no torque: computed torques are too small, and if its centre of mass lies on "
    "the joint's axis, forward dynamics has no solution",
)
INDEFINITE = Rule(
    "not-positive-definite",
    "has an inertia that is not positive definite",
    "turning it about some axis takes no or negative energy: forward dynamics may diverge",
)
HELPER = Rule(
    "negligible-mass",
    "weighs next to nothing: a helper link for some simulator",
    "it has no effect on torque; its inertia is not checked further",
)
TRIANGLE = Rule(
    "triangle-inequality",
    "has principal moments that break the triangle inequality, A + B >= C",
    "no mass distribution has such an inertia (often izz is wrong, or two values are swapped): "
    "torques about that axis are wrong, and MuJoCo refuses the link",
)
FAR = 20.0  # [m] between neighbouring joints
MIMIC_OF_NOTHING = Rule(
    "mimic-of-nothing",
    "mimics a joint that does not exist",
    "it is taken as an independent joint, with its own coordinate and drive",
)
MIMIC_OF_FIXED = Rule(
    "mimic-of-fixed",
    "mimics a joint that does not move",
    "it is locked at its offset",
)
MIMIC_OF_NO_EFFECT = Rule("mimic-multiplier", "follows with multiplier 0", "it stays at its offset")
NO_EFFORT = Rule(
    "effort-zero",
    'has effort="0"',
    "the torque governor clamps its command to 0: it cannot be driven",
)
NO_SPEED = Rule(
    "velocity-zero",
    'has velocity="0"',
    "every motion exceeds its speed limit",
)
NO_ACCELERATION = Rule(
    "acceleration-zero",
    "has a limit of acceleration, deceleration or jerk that is 0",
    "every motion exceeds it",
)
NO_RANGE = Rule(
    "limits-missing",
    "has no lower and upper limit",
    "it is taken as unlimited: nothing stops a trajectory or the twin at its real stop",
)
NO_EFFORT_LIMIT = Rule(
    "effort-missing",
    "has no effort limit",
    "commands to it are not clamped",
)
NO_VELOCITY_LIMIT = Rule(
    "velocity-missing",
    "has no velocity limit",
    "its speed is not checked",
)
CANNOT_MOVE = Rule(
    "limits-equal",
    "has lower = upper",
    "it cannot move; make it fixed, or give it its range",
)
SWAPPED = Rule(
    "limits-swapped",
    "has lower > upper",
    "no position is within its limits",
)
NEGATIVE = Rule(
    "negative-limit",
    "has a negative effort or velocity limit",
    "no torque or speed is within its limits",
)
NEGATIVE_FRICTION = Rule(
    "negative-friction",
    "has negative damping or friction",
    "it drives itself: the twin gains energy and diverges",
)
FAR_OFF = Rule(
    "units",
    "lies implausibly far from its parent: this looks like mm instead of m",
    "gravity torques and inertias are wrong by factors of a thousand and a million",
)
WEIGHTLESS = Rule(
    "weightless-joint",
    "moves no mass and no inertia (locked at 0, or the model refused)",
    "it makes the mass matrix singular: forward dynamics has no solution",
)


def carriers(robot: RobotDescription) -> tuple[set[str], set[str]]:
    """Return the names of all links that move, and of those that a joint moves directly."""
    moving: set[str] = set()
    for joint in robot.tree:
        if joint.moves or joint.parent in moving:
            moving.add(joint.child)
    return moving, {joint.child for joint in robot.tree if joint.moves}


def impossible_inertias(robot: RobotDescription) -> list[Finding]:
    """Check all links; findings on links that never move are notes, as they have no effect."""
    moving, driven = carriers(robot)
    links = [(link, link.inertial) for link in robot.links if link.inertial is not None]
    inertias = np.array([inertial.inertia for _, inertial in links]).reshape(-1, 3, 3)
    findings = []
    for (link, inertial), moments in zip(links, np.linalg.eigvalsh(inertias), strict=True):
        found = _judge(inertial.mass, moments, link.name in driven)
        if is_helper(link):
            found = (Severity.NOTE, HELPER, f"{inertial.mass:.3g} kg")
        if found is not None:
            severity, rule, text = found
            finding = Finding(severity, rule, "link", link.name, text)
            findings.append(finding if link.name in moving else finding.noted())
    return findings


def _judge(mass: float, moments: Floats, driven: bool) -> tuple[Severity, Rule, str] | None:
    least, middle, greatest = moments
    trace = np.abs(moments).sum()
    text = f"principal moments {moments_text(moments)} kg m^2"
    if mass == 0:
        return (Severity.WARNING, MASSLESS, text) if trace else None  # a pure frame is fine
    if trace <= mass * POINT**2:
        # A point mass fixed to another link, e.g. a sensor or a payload, does no harm.
        severity = Severity.ERROR if driven else Severity.NOTE
        return severity, ZERO_INERTIA, f"mass {mass:.3g} kg, {text}"
    if least < -ROUNDING * trace:
        return Severity.ERROR, INDEFINITE, text
    excess = (greatest - least - middle) / trace
    if excess > ROUNDING:
        severity = Severity.ERROR if excess > COARSE else Severity.WARNING
        return severity, TRIANGLE, f"{text}, the greatest exceeds the sum of the others"
    if least <= ROUNDING * trace:
        return Severity.WARNING, INDEFINITE, f"{text}, an ideal rod"
    return None


def is_helper(link: Link) -> bool:
    """Whether a link has a mass, but a negligible one."""
    inertial = link.inertial
    return (
        inertial is not None
        and 0 < inertial.mass < HELPERS
        and (float(np.abs(inertial.inertia).max()) <= HELPERS)
    )


def is_possible(inertia: np.ndarray) -> bool:
    """Whether a body that extends in all three dimensions can have an inertia (3, 3)."""
    least, middle, greatest = np.linalg.eigvalsh(inertia)
    return bool(0 < greatest < least + middle)


def moments_text(moments: np.ndarray) -> str:
    """Return principal moments for a message."""
    return " ".join(f"{moment:.3g}" for moment in moments)


def odd_mimics(robot: RobotDescription) -> list[Finding]:
    """Check the joints' leaders."""
    findings = []
    nobody = set(orphans(robot))
    still = {joint.name for joint in robot.joints if not joint.moves}
    for joint in robot.joints:
        if joint.mimic is None:
            continue
        leader = f"it names {joint.mimic.leader[:100]!r}"
        if joint.name in nobody:
            findings.append(_finding(Severity.WARNING, MIMIC_OF_NOTHING, joint, leader))
        elif joint.mimic.leader in still:
            findings.append(_finding(Severity.WARNING, MIMIC_OF_FIXED, joint, leader))
        elif joint.mimic.multiplier == 0:
            findings.append(_finding(Severity.WARNING, MIMIC_OF_NO_EFFECT, joint))
    return findings


def odd_joints(robot: RobotDescription) -> list[Finding]:
    """Check limits, friction and origins."""
    return [finding for joint in robot.joints for finding in _of_joint(joint)]


def weightless_joints(idle: list[str]) -> list[Finding]:
    """Report the joints that ``body_tree.joints_without_inertia`` found."""
    return [Finding(Severity.ERROR, WEIGHTLESS, "joint", name) for name in idle]


def _of_joint(joint: Joint) -> list[Finding]:
    findings = []

    def add(severity: Severity, rule: Rule, found: str = "") -> None:
        findings.append(_finding(severity, rule, joint, found))

    distance = math.hypot(*joint.translation)
    if distance > FAR:
        add(Severity.ERROR, FAR_OFF, f"origin {distance:.4g} m away")
    if not joint.moves or joint.type == "floating":  # nothing drives that one
        return findings
    if joint.lower == joint.upper:
        add(Severity.WARNING, CANNOT_MOVE, f"both {joint.lower:g}")
    elif joint.lower > joint.upper:
        add(Severity.ERROR, SWAPPED, f"{joint.lower:g} > {joint.upper:g}")
    if joint.damping < 0 or joint.friction < 0:
        add(
            Severity.ERROR,
            NEGATIVE_FRICTION,
            f"damping {joint.damping:g}, friction {joint.friction:g}",
        )
    if joint.effort < 0 or joint.velocity < 0:
        add(Severity.ERROR, NEGATIVE, f"effort {joint.effort:g}, velocity {joint.velocity:g}")
    if joint.mimic is not None:  # its leader's limits and drive count
        return findings
    if joint.type in ("revolute", "prismatic") and math.isinf(joint.lower):
        add(Severity.WARNING, NO_RANGE)
    if joint.effort == 0:
        add(Severity.WARNING, NO_EFFORT)
    if joint.velocity == 0:
        add(Severity.WARNING, NO_SPEED)
    if 0 in (joint.acceleration, joint.deceleration, joint.jerk):
        add(Severity.WARNING, NO_ACCELERATION)
    if math.isinf(joint.effort):
        add(Severity.NOTE, NO_EFFORT_LIMIT)
    if math.isinf(joint.velocity):
        add(Severity.NOTE, NO_VELOCITY_LIMIT)
    return findings


def _finding(severity: Severity, rule: Rule, joint: Joint, found: str = "") -> Finding:
    return Finding(severity, rule, "joint", joint.name, found)
