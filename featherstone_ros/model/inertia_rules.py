"""Rules on inertial values: what no rigid body can have."""

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model.finding import Finding, Rule, Severity
from featherstone_ros.model.robot_description import Link, RobotDescription

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
