"""Rules of links and joints: inertias that no body has; limits, friction, mimicry, placement."""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model.finding import ERROR, NOTE, WARNING, Breach, Finding, Rule, Severity
from featherstone_ros.model.robot_description import Joint, Link, RobotDescription

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
    "mimic-of-fixed", "mimics a joint that does not move", "it is locked at its offset"
)
MIMIC_OF_NO_EFFECT = Rule("mimic-multiplier", "follows with multiplier 0", "it stays at its offset")
NO_EFFORT = Rule(
    "effort-zero",
    'has effort="0"',
    "the torque governor clamps its command to 0: it cannot be driven",
)
NO_SPEED = Rule("velocity-zero", 'has velocity="0"', "every motion exceeds its speed limit")
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
NO_EFFORT_LIMIT = Rule("effort-missing", "has no effort limit", "commands to it are not clamped")
NO_VELOCITY_LIMIT = Rule("velocity-missing", "has no velocity limit", "its speed is not checked")
CANNOT_MOVE = Rule(
    "limits-equal", "has lower = upper", "it cannot move; make it fixed, or give it its range"
)
SWAPPED = Rule("limits-swapped", "has lower > upper", "no position is within its limits")
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


def impossible_inertias(robot: RobotDescription) -> Iterator[Finding]:
    """Check all links."""
    driven = {joint.child for joint in robot.tree if joint.moves}
    return of_links(robot, lambda link: _judged(link, link.name in driven))


def of_links(
    robot: RobotDescription, judge: Callable[[Link], Iterable[Breach]]
) -> Iterator[Finding]:
    """Judge all links; findings on those that never move are notes, as they have no effect."""
    for link in robot.links:
        for severity, rule, found in judge(link):
            severity = severity if link.name in robot.moving else NOTE
            yield Finding(severity, rule, "link", link.name, found)


def _judged(link: Link, driven: bool) -> Iterator[Breach]:
    if (inertial := link.inertial) is None:
        return
    mass, moments = inertial.mass, np.linalg.eigvalsh(inertial.inertia)
    least, middle, greatest = moments
    trace = np.abs(moments).sum()
    excess = greatest - least - middle
    text = f"principal moments {moments_text(moments)} kg m^2"
    if is_helper(link):
        yield NOTE, HELPER, f"{mass:.3g} kg"
    elif mass == 0:
        if trace:  # a pure frame is fine
            yield WARNING, MASSLESS, text
    elif trace <= mass * POINT**2:
        # A point mass fixed to another link, e.g. a sensor or a payload, does no harm.
        yield ERROR if driven else NOTE, ZERO_INERTIA, f"mass {mass:.3g} kg, {text}"
    elif least < -ROUNDING * trace:
        yield ERROR, INDEFINITE, text
    elif excess > ROUNDING * trace:
        severity = ERROR if excess > COARSE * trace else WARNING
        yield severity, TRIANGLE, f"{text}, the greatest exceeds the sum of the others"
    elif least <= ROUNDING * trace:
        yield WARNING, INDEFINITE, f"{text}, an ideal rod"


def is_helper(link: Link) -> bool:
    """Whether a link has a mass, but a negligible one."""
    inertial = link.inertial
    return (
        inertial is not None
        and 0 < inertial.mass < HELPERS
        and float(np.abs(inertial.inertia).max()) <= HELPERS
    )


def is_possible(inertia: Floats) -> bool:
    """Whether a body that extends in all three dimensions can have an inertia (3, 3)."""
    least, middle, greatest = np.linalg.eigvalsh(inertia)
    return bool(0 < greatest < least + middle)


def moments_text(moments: np.ndarray) -> str:
    """Return principal moments for a message."""
    return " ".join(f"{moment:.3g}" for moment in moments)


def odd_mimics(robot: RobotDescription) -> Iterator[Finding]:
    """Check the joints' leaders."""
    moves = {joint.name: joint.moves for joint in robot.joints}
    for joint in robot.joints:
        if (mimic := joint.mimic) is None:
            continue
        leader = f"it names {mimic.leader[:100]!r}"
        if mimic.leader not in moves:
            yield Finding(WARNING, MIMIC_OF_NOTHING, "joint", joint.name, leader)
        elif not moves[mimic.leader]:
            yield Finding(WARNING, MIMIC_OF_FIXED, "joint", joint.name, leader)
        elif mimic.multiplier == 0:
            yield Finding(WARNING, MIMIC_OF_NO_EFFECT, "joint", joint.name)


def odd_joints(robot: RobotDescription) -> Iterator[Finding]:
    """Check limits, friction and origins."""
    for joint in robot.joints:
        for is_broken, severity, rule, *found in _checks(joint):
            if is_broken:
                yield Finding(severity, rule, "joint", joint.name, *found)


def weightless_joints(idle: Iterable[str]) -> Iterator[Finding]:
    """Report the joints that ``body_tree.joints_without_inertia`` found."""
    return (Finding(ERROR, WEIGHTLESS, "joint", name) for name in idle)


def _checks(joint: Joint) -> Iterator[tuple[bool, Severity, Rule, str]]:
    """Yield whether the joint breaks each rule, how bad that is, and the values found."""
    distance = math.hypot(*joint.translation)
    yield distance > FAR, ERROR, FAR_OFF, f"origin {distance:.4g} m away"
    if not joint.moves or joint.type == "floating":  # nothing drives that one
        return
    low, high, effort, velocity = joint.lower, joint.upper, joint.effort, joint.velocity
    damping, friction = joint.damping, joint.friction
    rates = (joint.acceleration, joint.deceleration, joint.jerk)
    drag = f"damping {damping:g}, friction {friction:g}"
    limits = f"effort {effort:g}, velocity {velocity:g}"
    yield low == high, WARNING, CANNOT_MOVE, f"both {low:g}"
    yield low > high, ERROR, SWAPPED, f"{low:g} > {high:g}"
    yield damping < 0 or friction < 0, ERROR, NEGATIVE_FRICTION, drag
    yield effort < 0 or velocity < 0, ERROR, NEGATIVE, limits
    if joint.mimic is not None:  # its leader's limits and drive count
        return
    has_range = joint.type in ("revolute", "prismatic")
    yield has_range and math.isinf(low), WARNING, NO_RANGE, ""
    yield effort == 0, WARNING, NO_EFFORT, ""
    yield velocity == 0, WARNING, NO_SPEED, ""
    yield 0 in rates, WARNING, NO_ACCELERATION, ""
    yield math.isinf(effort), NOTE, NO_EFFORT_LIMIT, ""
    yield math.isinf(velocity), NOTE, NO_VELOCITY_LIMIT, ""
