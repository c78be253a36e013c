"""Rules that compare inertial values with sizes and limits, of links and of the whole robot.

If density is nowhere negative and all mass is inside a box of half edges h, the mean square of the
coordinate along an edge, about the centre of mass, is at most h^2 (Popoviciu). For a rigid body
with inertia I about its centre of mass and mass m these mean squares are the diagonal of
S / m, with S = tr(I) E / 2 - I. If an inertia is given about the link's origin by mistake, S is too
large by m c c^T, where c is the centre of mass.
"""

from collections.abc import Container, Iterator, Mapping

import numpy as np

from featherstone_ros._core import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.inspection.geometry import PLACEHOLDER, Box
from featherstone_ros.model import Model
from featherstone_ros.model.finding import ERROR, NOTE, WARNING, Breach, Finding, Rule
from featherstone_ros.model.robot_description import Inertial, Link, RobotDescription
from featherstone_ros.model.rules import (
    HELPERS,
    POINT,
    is_helper,
    is_possible,
    of_links,
    weightless_joints,
)

MARGIN = 0.1  # of the radius, by which real parts may extend beyond the geometry
FAR_OUT = 0.5  # of the radius
THIN = 0.05  # radius of gyration / radius: a uniform body has 0.3 to 0.6
# Mean squares / the greatest that the size allows: uniform bodies have at most 0.33, real links
# rarely 0.5.
SOLID, HOLLOW = 0.5, 0.7
ABSURD = 20.0  # of the radius: wrong units rather than a rough estimate
# Radius of gyration / radius from which no estimate is that rough: uniform bodies have 0.3 to 0.6,
# and a guess of the size is generous. Inertias in g m^2 have 30 times what they should.
IMPOSSIBLE, IMPOSSIBLE_OF_A_GUESS = 8.0, 3.0
DENSE = 25_000.0  # [kg/m^3]; osmium has 22 590
REACHES = 3.0  # greatest size of a link without a shape, relative to the robot's reach
HUGE_SHAPE = 20.0  # of the robot's reach

COM_OUTSIDE = Rule(
    "com-outside",
    "has its centre of mass far outside its geometry",
    "gravity torque is wrong by weight times that distance (often the frame is another one)",
)
WRONG_POINT = Rule(
    "inertia-wrong-point",
    "has an inertia that looks as if it were about the link's origin",
    "a URDF's inertia is about the centre of mass: the term m d^2 counts twice, and "
    "acceleration torques are too large",
)
TOO_LARGE = Rule(
    "inertia-too-large",
    "has an inertia larger than its mass and geometry allow",
    "acceleration torques are too large (a placeholder, the wrong point, or the wrong units)",
)
TOO_SMALL = Rule(
    "inertia-too-small",
    "has an inertia suspiciously small for its mass and geometry",
    "the link is nearly a point: acceleration torques are too small (a placeholder, or the wrong "
    "units of mass or inertia)",
)
UNITS = Rule(
    "units",
    "has values that look like other units than kg and m",
    "torques are wrong by orders of magnitude",
)
SHAPE_UNKNOWN = Rule(
    "size-unknown",
    "has geometry that could not be measured",
    "whether mass, centre of mass and inertia fit its size is not checked",
)
MISSING = Rule(
    "missing-inertia",
    "is moved by a joint, but has no mass and no inertia",
    "it weighs nothing: the real link's gravity and inertia are missing from every torque",
)

# Unit that the inertia may be in, and by which factor it is then too large.
_INERTIA_UNITS = {"g m^2": 1e3, "kg cm^2": 1e4, "kg mm^2": 1e6, "g cm^2": 1e7, "g mm^2": 1e9}


def reach(robot: RobotDescription) -> float:
    """Return the greatest sum of distances between joints from the base outwards [m]."""
    distance = {robot.base_link: 0.0}
    for joint in robot.tree:
        step = float(np.linalg.norm(joint.translation))
        distance[joint.child] = distance[joint.parent] + step
    return max(distance.values())


def odd_sizes(robot: RobotDescription, drawn: Mapping[str, Box]) -> Iterator[Finding]:
    """Check the inertial values of all moving links against their size.

    Of a link that is not ``drawn``, the joints give a guess, if any.
    """
    span = dict.fromkeys((link.name for link in robot.links), 0.0)
    for joint in robot.joints:
        distance = float(np.linalg.norm(joint.translation))
        span[joint.parent] = max(span[joint.parent], distance)
    longest = reach(robot)

    def judge(link: Link) -> Iterator[Breach]:
        box, near = drawn.get(link.name), span[link.name]
        if box is not None:
            return _of_link(link, box, box.half_diagonal, longest)
        return _of_link(link, None, REACHES * near if near > PLACEHOLDER else longest, longest)

    return of_links(robot, judge)


def missing_inertias(robot: RobotDescription, drawn: Container[str]) -> Iterator[Finding]:
    """Check that the child of every moving joint has a mass, with the links fixed to it."""
    weighs = {
        link.name
        for link in robot.links
        if link.inertial is not None and (link.inertial.mass > 0 or link.inertial.inertia.any())
    }
    beyond, body = set(weighs), set(weighs)
    for joint in reversed(robot.tree):
        if joint.child in beyond:
            beyond.add(joint.parent)
        if joint.child in body and not joint.moves:
            body.add(joint.parent)
    for link in (joint.child for joint in robot.tree if joint.moves):
        if link not in beyond:
            yield Finding(ERROR, MISSING, "link", link)
        elif link not in weighs and link in drawn:
            yield Finding(WARNING, MISSING, "link", link, "it has geometry")
        elif link not in body:
            yield Finding(NOTE, MISSING, "link", link, "a pure frame")


def unknown_sizes(drawn: Mapping[str, Box | str]) -> Iterator[Finding]:
    """Note the links whose geometry could not be measured."""
    for name, unknown in drawn.items():
        if isinstance(unknown, str):
            yield Finding(NOTE, SHAPE_UNKNOWN, "link", name, unknown)


def gyration(inertial: Inertial) -> float:
    """Return the radius of gyration about the axis of the greatest moment [m]."""
    greatest = np.linalg.eigvalsh(inertial.inertia)[-1]
    return float(np.sqrt(max(greatest, 0.0) / inertial.mass)) if inertial.mass else 0.0


def _of_link(link: Link, box: Box | None, radius: float, longest: float) -> Iterator[Breach]:
    if box is not None and radius > HUGE_SHAPE * max(longest, 1.0):
        text = f"geometry of {2 * radius:.3g} m on a robot whose joints span {longest:.3g} m"
        yield ERROR, UNITS, f'{text}: meshes in mm need scale="0.001 0.001 0.001"'
        return
    inertial = link.inertial
    if radius <= PLACEHOLDER or inertial is None or inertial.mass <= 0 or is_helper(link):
        return
    mass, com = inertial.mass, inertial.com
    size = f"a link of about {radius:.3g} m, judging by the joints"
    distance = max(float(np.linalg.norm(com)) - radius, 0.0)
    if box is not None:
        x, y, z = 2 * box.half
        size = f"a box of {x:.3g} x {y:.3g} x {z:.3g} m"
        distance = box.distance(com)
        if mass > DENSE * box.volume > 0:
            density = mass / box.volume
            text = f"mass {mass:.3g} kg is {density:.2g} kg/m^3 in the box around it; in g?"
            yield ERROR if density > 10 * DENSE else WARNING, UNITS, text
    text = f"{distance:.3g} m outside of {size}"
    if distance > ABSURD * radius:
        place = f"centre of mass {com[0]:.3g} {com[1]:.3g} {com[2]:.3g} m"
        yield ERROR, UNITS, f"{place}, {text}; in mm?"
    elif distance > FAR_OUT * radius:
        yield WARNING, COM_OUTSIDE, text
    yield from _of_inertia(inertial, box, radius, size)


def _of_inertia(inertial: Inertial, box: Box | None, radius: float, size: str) -> Iterator[Breach]:
    k, mass, c = gyration(inertial), inertial.mass, inertial.com
    if k <= POINT:  # a point mass
        return
    text = f"radius of gyration {k:.3g} m, {size}"
    fill = _fill(inertial.inertia, mass, box, radius)
    about_com = inertial.inertia - mass * (c @ c * np.eye(3) - np.outer(c, c))
    if k > (IMPOSSIBLE_OF_A_GUESS if box is None else IMPOSSIBLE) * radius:
        log_excess = 2 * np.log(k / (0.5 * radius))  # the excess itself might overflow
        unit = min(_INERTIA_UNITS, key=lambda unit: abs(np.log(_INERTIA_UNITS[unit]) - log_excess))
        yield ERROR, UNITS, f"{text}; inertia in {unit}?"
    elif (
        box is not None
        and fill > HOLLOW
        and is_possible(about_com)
        and _fill(about_com, mass, box, radius) < SOLID
    ):
        yield WARNING, WRONG_POINT, text
    elif fill > 1:
        yield WARNING, TOO_LARGE, text
    elif box is not None and k < THIN * radius:
        yield WARNING, TOO_SMALL, text


def _fill(inertia: Floats, mass: float, box: Box | None, radius: float) -> float:
    """Return the greatest mean square relative to what the size allows, see above."""
    mean_squares = (np.trace(inertia) / 2 * np.eye(3) - inertia).diagonal() / mass
    if box is None:
        return float((mean_squares / radius / radius).max())  # ** may raise OverflowError
    return float((mean_squares / (box.half + MARGIN * radius) ** 2).max())


SHORTEST = 0.05  # [m] below this reach, mass is not judged
# [kg/m^3] of the cube of a robot's reach: arms have 10 to 120
HEAVY, FAR_TOO_HEAVY = 1500.0, 6000.0
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


def implausible(robot: RobotDescription) -> Iterator[Finding]:
    """Check the robot as a whole, without its base."""
    inertials = [
        link.inertial
        for link in robot.links
        if link.name in robot.moving and link.inertial is not None and link.inertial.mass > HELPERS
    ]
    if len(inertials) >= 2:
        for severity, rule, text in _of_robot(inertials, reach(robot)):
            yield Finding(severity, rule, "robot", robot.name, text)


def _of_robot(inertials: list[Inertial], length: float) -> Iterator[Breach]:
    count, first = len(inertials), inertials[0]
    mass, moment = first.mass, first.inertia[0, 0]
    ball = moment * np.eye(3)
    if moment > 0 and all(
        one.mass == mass and np.array_equal(one.inertia, ball) for one in inertials
    ):
        text = f"{count} links have mass {mass:.3g} kg, inertia {moment:.3g} kg m^2"
        yield ERROR if moment == 1 else WARNING, PLACEHOLDERS, text
    if not any(one.com.any() for one in inertials):
        yield WARNING, CENTRES_AT_ORIGIN, f"{count} links"
    total = sum(one.mass for one in inertials)
    if length >= SHORTEST and total > HEAVY * length**3:
        severity = ERROR if total > FAR_TOO_HEAVY * length**3 else WARNING
        text = f"the moving links weigh {total:.4g} kg, the joints span {length:.3g} m"
        yield severity, TOO_HEAVY, text


def weak_joints(model: Model) -> Iterator[Finding]:
    """Check the effort limits against gravity along -z of the base, in random postures."""
    if not 0 < model.n <= MAX_JOINTS:
        return
    torque = np.abs(Dynamics(model).gravity(random_postures(model, POSTURES)))
    figures = zip(torque.max(axis=0), np.median(torque, axis=0), model.effort_limit, strict=True)
    for name, (worst, usual, limit) in zip(model.joint_names, figures, strict=True):
        if 0 < limit < np.inf and worst > BEYOND * limit:
            severity = ERROR if usual > FAR_BEYOND * limit else WARNING
            text = f"gravity needs up to {worst:.3g} in random postures, in half of them more than "
            text += f"{usual:.3g}, of {limit:.3g}"
            yield Finding(severity, CANNOT_HOLD, "joint", name, text)


def degenerate_joints(model: Model, idle: list[str]) -> Iterator[Finding]:
    """Check the joint-space inertia of a robot, given the joints that its model locks for it.

    Of each motion that almost no inertia resists, an eigenvector of M whose eigenvalue is small
    relative to the greatest, the joint is named that moves most.
    """
    yield from weightless_joints(idle)
    if model.n > MAX_JOINTS:
        yield Finding(NOTE, UNCHECKED, "robot", model.name)
    if not 0 < model.n <= MAX_JOINTS:
        return
    postures = random_postures(model, FEW_POSTURES)
    postures[0] = model.position_range.mean(axis=0)
    # joint: least resistance, and relative to the greatest
    found: dict[str, tuple[float, float]] = {}
    for M in Dynamics(model).crba(postures):
        if not np.isfinite(M).all():
            continue
        resistance, motions = np.linalg.eigh(M)
        ratios = resistance / np.abs(resistance).max()
        for k in np.flatnonzero(ratios < 1 / BAD):
            joint = model.joint_names[int(np.argmax(np.abs(motions[:, k])))]
            found[joint] = min(found.get(joint, (np.inf, 0.0)), (ratios[k], resistance[k]))
    for joint, (ratio, least) in found.items():
        severity = ERROR if ratio < 1 / HOPELESS else WARNING
        rule = INDEFINITE if ratio < -1 / HOPELESS else NEARLY_SINGULAR
        text = f"an eigenvalue is {least:.2g}, {ratio:.2g} of the greatest"
        yield Finding(severity, rule, "joint", joint, text)


def random_postures(model: Model, count: int) -> Floats:
    """Return (count, n) positions within the limits, the same in every call [rad or m]."""
    lower, upper = model.position_range
    return lower + np.random.default_rng(0).uniform(size=(count, model.n)) * (upper - lower)
