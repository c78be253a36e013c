"""Rules on joints: limits, friction, mimicry and placement."""

import math

from featherstone_ros.model.finding import Finding, Rule, Severity
from featherstone_ros.model.mimic import orphans
from featherstone_ros.model.robot_description import Joint, RobotDescription

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
