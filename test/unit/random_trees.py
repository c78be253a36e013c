"""Generates robots: trees of any size and branching, with geometry that is awkward for frames."""

from functools import cache

import numpy as np
from urdf_text import joint, link, robot

from featherstone_ros import Continuous, Fixed, Model, Prismatic, Revolute, Screw, Tree
from featherstone_ros.model import urdf

RIGHT_ANGLES = ("0", "1.5708", "-1.5708", "1.57079632679", repr(np.pi / 2), "3.14159", repr(-np.pi))
JOINTS = {"revolute": Revolute, "continuous": Continuous, "prismatic": Prismatic}
KINDS = tuple(JOINTS)


def random_tree(
    seed,
    bodies,
    kinds=KINDS,
    geometry="oblique",
    branching=0.3,
    massless=0.0,
    mimic=0.0,
    fixed=0.0,
):
    """Return the URDF of a random tree.

    Args:
        seed: The same seed gives the same tree.
        bodies: Number of joints that move (and of links that they carry).
        kinds: Types of the joints.
        geometry: A key of GEOMETRIES: how each joint lies on the link before it.
        branching: 0 for a chain, 1 for parents drawn from all bodies.
        massless: Share of the links between two others that have no inertia.
        mimic: Share of the joints that follow one before them (possibly a follower itself).
        fixed: Share of the joints with a fixed joint and a link in front of them.
    """
    random = np.random.default_rng(seed)
    parents = [random.integers(k + 1) if random.random() < branching else k for k in range(bodies)]
    heavy = [k not in parents or random.random() >= massless for k in range(bodies + 1)]
    parts = [random_link(random, "link0")]
    for k, parent in enumerate(parents, start=1):
        # Two massless links in a row could leave a joint without inertia along its axis.
        heavy[k] = heavy[k] or not heavy[parent]
        parts.append(random_link(random, f"link{k}") if heavy[k] else link(f"link{k}", None))
        before = f"link{parent}"
        if random.random() < fixed:
            parts.append(random_link(random, f"bracket{k}"))
            where = GEOMETRIES["oblique"](random)
            parts.append(joint(f"weld{k}", before, f"bracket{k}", "fixed", **where))
            before = f"bracket{k}"
        inside = '<limit lower="-9" upper="9" effort="99" velocity="9"/>'
        if k > 1 and random.random() < mimic:
            multiplier, offset = random.choice([-2, -1, 0.5, 1]), random.uniform(-1, 1)
            leader = f"joint{random.integers(1, k)}"
            inside += f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>'
        kind = str(random.choice(kinds))
        where = GEOMETRIES[geometry](random)
        parts.append(joint(f"joint{k}", before, f"link{k}", kind, inside, **where))
    return robot(*parts)


def random_link(random, name):
    """Return a link of a box's inertia: physical, not aligned with its frame, off its origin."""
    mass = random.uniform(0.5, 4)
    a, b, c = random.uniform(0.1, 0.6, 3) ** 2
    moments = mass / 12 * np.array([b + c, a + c, a + b])
    com, rpy = random.uniform(-0.2, 0.2, 3), random.uniform(-3, 3, 3)
    return link(name, mass, numbers(com), moments, numbers(rpy))


def oblique(random):
    """Any pose, and an axis of any direction and length."""
    return {
        "xyz": numbers(random.uniform(-0.4, 0.4, 3)),
        "rpy": numbers(random.uniform(-3, 3, 3)),
        "axis": numbers(random.uniform(0.1, 3) * random.normal(size=3)),
    }


def along_axes(random):
    """Right angles as people write them, axes along +-x, y or z, offsets along one axis."""
    return {
        "xyz": numbers(random.permutation([random.uniform(-0.4, 0.4), 0, 0])),
        "rpy": " ".join(random.choice(RIGHT_ANGLES, 3)),
        "axis": numbers(random.choice([-1, 1]) * np.eye(3)[random.integers(3)]),
    }


def parallel_within(angle):
    """Axes that differ by about ``angle`` [rad]."""

    def geometry(random):
        tilt = angle * random.uniform(-1, 1, 2)
        return {
            "xyz": numbers(random.uniform(-0.4, 0.4, 3)),
            "rpy": numbers([*tilt, random.uniform(-3, 3)]),
            "axis": numbers([0, 0, random.choice([-1, 1])]),
        }

    return geometry


def intersecting(random):
    """Axes that meet: a joint's origin lies on the axis before it, often where that one's does."""
    return {
        "xyz": numbers([0, 0, random.choice([0, random.uniform(-0.4, 0.4)])]),
        "rpy": numbers(random.uniform(-3, 3, 3)),
        "axis": "0 0 1",
    }


GEOMETRIES = {
    "oblique": oblique,
    "along axes": along_axes,
    "parallel": parallel_within(0),
    "parallel within 1e-9": parallel_within(1e-9),
    "parallel within 1e-6": parallel_within(1e-6),
    "parallel within 1e-3": parallel_within(1e-3),
    "parallel within 1e-2": parallel_within(1e-2),
    "intersecting": intersecting,
}


def numbers(values):
    """Return numbers as a URDF attribute, to the last bit."""
    return " ".join(repr(float(value)) for value in values)


TREES = {
    "one revolute joint": random_tree(1, 1, ["revolute"]),
    "one prismatic joint": random_tree(2, 1, ["prismatic"]),
    "chain": random_tree(3, 7, branching=0),
    "star": random_tree(4, 8, branching=1, geometry="along axes"),
    "three prismatic": random_tree(5, 3, ["prismatic"], branching=0),
    "massless between": random_tree(6, 15, ["revolute"], massless=0.5),
    "fixed between": random_tree(7, 12, fixed=0.7),
    "mimic": random_tree(8, 14, mimic=0.5),
    "all at once": random_tree(9, 40, massless=0.2, mimic=0.2, fixed=0.3),
    "200 bodies": random_tree(10, 200, branching=0.5),
    **{
        name: random_tree(20 + k, 10, ["revolute", "continuous"], name)
        for k, name in enumerate(GEOMETRIES)
    },
    "prismatic along axes": random_tree(40, 9, geometry="along axes"),
}


def as_tree(text, screws=0.0):
    """Return the robot of a URDF, which has parents before children, as a Tree.

    Args:
        text: The URDF.
        screws: Share of the moving joints that become screws.
    """
    random = np.random.default_rng(len(text))
    robot = urdf.parse(text)
    inertial = {read.name: read.inertial for read in robot.links}
    tree = Tree(robot.base_link, name=robot.name, inertial=inertial[robot.base_link])
    for read in robot.joints:
        pitch = random.uniform(-0.5, 0.5) if random.random() < screws else None
        tree.add(
            read.child,
            parent=read.parent,
            joint=_as_joint(read, pitch) if read.moves else Fixed(read.name),
            translation=read.translation,
            rotation=read.rotation,
            inertial=inertial[read.child],
        )
    return tree


def _as_joint(joint, pitch):
    figures = {
        "axis": joint.axis,
        "velocity_limit": joint.velocity,
        "effort_limit": joint.effort,
        "damping": joint.damping,
        "friction": joint.friction,
        "mimic": joint.mimic,
    }
    if joint.type != "continuous":
        figures |= {"lower": joint.lower, "upper": joint.upper}
    if pitch is not None:
        return Screw(joint.name, pitch=pitch, **figures)
    return JOINTS[joint.type](joint.name, **figures)


SCREWS = {
    f"{name}, with screws": as_tree(TREES[name], share)
    for name, share in (
        ("one revolute joint", 1),
        ("chain", 0.6),
        ("massless between", 0.6),
        ("mimic", 0.6),
        ("all at once", 0.6),
    )
}


@cache
def model_of(name):
    """Return the model of one of these."""
    return Model.from_urdf(TREES[name]) if name in TREES else SCREWS[name].model()


# All agree with Pinocchio; for identities these six differ enough: one joint, branches with joints
# along the axes, joints that only slide, axes that are parallel by a hair, followers, screws, fixed
# joints and links without mass among 40, and 200 bodies.
UNLIKE = (
    "one revolute joint", "star", "three prismatic", "parallel within 1e-6",
    "all at once, with screws", "200 bodies",
)  # fmt: skip
