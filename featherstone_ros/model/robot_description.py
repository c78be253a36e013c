"""A robot as its URDF describes it: links and joints that form one tree, as plain data.

Each planar joint is split into three joints with one axis. Chains of mimic joints lead to one free
joint; how the algorithms couple them to it: "coupled" in cython_core/dynamics/system.pxd.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError
from featherstone_ros.model.arguments import HUGE
from featherstone_ros.model.finding import Finding
from featherstone_ros.model.rotations import unit_vector

UPRIGHT = 0.9  # cosine: an axis closer to the plane's normal is a poor direction in the plane


@dataclass(frozen=True, eq=False, slots=True)
class Inertial:
    """Inertial values of one link."""

    mass: float  # [kg]
    com: Floats  # (3,) centre of mass in the link's frame [m]
    inertia: Floats  # (3, 3) about the centre of mass, in the link's axes [kg m^2]


@dataclass(frozen=True, eq=False, slots=True)
class Link:
    """One ``<link>``; ``inertial`` is None for a pure frame."""

    name: str
    inertial: Inertial | None


class Mimic(NamedTuple):
    """Position = ``multiplier`` * position of ``leader`` + ``offset``."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False, slots=True)
class Joint:
    """One ``<joint>``; positions in rad (revolute, continuous, screw) or m (prismatic)."""

    name: str  # unique among the joints
    # one of ``urdf.JOINT_TYPES`` except "planar" (see ``split_planar_joints``), or "screw", which a
    # URDF cannot express
    type: str
    parent: str  # name of the parent link
    child: str  # name of the child link, whose frame is the joint's frame
    rotation: Floats  # (3, 3) orientation of the joint's frame at position 0 in the parent's frame
    translation: Floats  # (3,) origin of the joint's frame in the parent's frame [m]
    axis: Floats  # (3,) unit vector in the joint's frame
    lower: float = -math.inf  # limits, infinite where there are none; as of ``Model``
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    deceleration: float = math.inf
    jerk: float = math.inf
    damping: float = 0.0  # viscous friction [N m s/rad or N s/m]
    friction: float = 0.0  # Coulomb friction [N m or N]
    # inertia of its drive, reflected to the joint; 0 where nothing tells it [kg m^2 or kg]
    armature: float = 0.0
    mimic: Mimic | None = None  # the joint it follows, if any
    pitch: float = 0.0  # advance of a screw along its axis per radian [m/rad]

    @property
    def moves(self) -> bool:
        """Whether the joint has a position at all."""
        return self.type != "fixed"


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """A checked URDF: exactly one tree."""

    name: str  # as written; empty where it is missing
    base_link: str  # name of the root of the tree; empty if there is no link at all
    links: tuple[Link, ...]  # in document order
    joints: tuple[Joint, ...]  # in document order
    tree: tuple[Joint, ...]  # the same joints depth first, every parent before its children
    # what its text says that is not read, or that others do not read
    oddities: tuple[Finding, ...] = ()

    @cached_property
    def moving(self) -> set[str]:
        """The names of all links that move."""
        moving: set[str] = set()
        for joint in self.tree:
            if joint.moves or joint.parent in moving:
                moving.add(joint.child)
        return moving

    @cached_property
    def mimics(self) -> dict[str, Mimic]:
        """Each follower's final leader, with multipliers and offsets of the chain combined.

        A joint whose leader does not exist is not a follower: real files have such joints (the Alex
        humanoid with Psyonic hands), with drives of their own.
        """
        joints = {joint.name: joint for joint in self.joints}
        resolved: dict[str, Mimic] = {}
        for name in joints:
            chain: dict[str, Mimic] = {}
            while name not in resolved and (mimic := joints[name].mimic) and mimic.leader in joints:
                if name in chain:
                    loop = name_list(list(chain))
                    raise ModelError(
                        f"<mimic> of joints {loop} forms a loop, expected a free leader"
                    )
                chain[name] = mimic
                name = mimic.leader
            for follower, (leader, factor, offset) in reversed(chain.items()):
                if of_leader := resolved.get(leader):
                    leader, offset = of_leader.leader, factor * of_leader.offset + offset
                    factor *= of_leader.multiplier
                if not max(abs(factor), abs(offset)) < HUGE:
                    raise ModelError(
                        f"joint {follower!r}: <mimic> comes to {factor:g} * {leader!r} + "
                        f"{offset:g}, expected values below {HUGE:g}"
                    )
                resolved[follower] = Mimic(leader, factor, offset)
        return resolved


def assemble(
    name: str,
    links: tuple[Link, ...],
    joints: tuple[Joint, ...],
    oddities: Sequence[Finding] = (),
) -> RobotDescription:
    """Return the robot made of links and joints, in document order; refuse what is not one tree."""
    for kind, elements in (("link", links), ("joint", joints)):
        names = Counter(element.name for element in elements)
        if twice := [name for name, count in names.items() if count > 1]:
            raise ModelError(
                f"{kind} name {name_list(twice)} appears more than once, expected unique"
            )
    children: dict[str, list[Joint]] = {link.name: [] for link in links}
    carrier: dict[str, Joint] = {}
    for joint in joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in children:
                raise ModelError(f"joint {joint.name!r}: <{role} link> {link!r} is not a <link>")
        other = carrier.setdefault(joint.child, joint)
        if other is not joint:
            raise ModelError(
                f"link {joint.child!r} is the child of joints {other.name!r} and {joint.name!r}, "
                "expected at most one: kinematic loops are not supported"
            )
        children[joint.parent].append(joint)
    roots = [link.name for link in links if link.name not in carrier]
    if len(roots) > 1:
        raise ModelError(f"links {name_list(roots)} have no parent joint, expected one root link")
    tree: dict[str, Joint] = {}
    pending = [joint for root in roots for joint in reversed(children[root])]
    while pending:
        joint = pending.pop()
        tree[joint.name] = joint
        pending.extend(reversed(children[joint.child]))
    if loop := [joint.name for joint in joints if joint.name not in tree]:
        raise ModelError(
            f"joints {name_list(loop)} form a loop, expected a tree from one root link"
        )
    base_link = roots[0] if roots else ""
    return RobotDescription(name, base_link, links, joints, tuple(tree.values()), tuple(oddities))


def without_ground(robot: RobotDescription) -> RobotDescription:
    """Remove the floating joint that connects a robot to the ground, if there is one."""
    first = [joint for joint in robot.joints if joint.parent == robot.base_link]
    if [joint.type for joint in first] != ["floating"]:
        return robot
    (ground,) = (link for link in robot.links if link.name == robot.base_link)
    if ground.inertial is not None and ground.inertial.mass > 0:
        return robot
    return assemble(
        robot.name,
        tuple(link for link in robot.links if link is not ground),
        tuple(joint for joint in robot.joints if joint is not first[0]),
        robot.oddities,
    )


def name_list(names: Sequence[str], limit: int = 100) -> str:
    """Return the names quoted, for a message; cut short, since the URDF may be hostile."""
    rest = [f"and {len(names) - limit} more"] if len(names) > limit else []
    return ", ".join([*map(repr, names[:limit]), *rest])


def split_planar_joints(robot: RobotDescription) -> RobotDescription:
    """Replace each planar joint ``j`` by three joints with massless links between them.

    They are ``j/x`` and ``j/y`` (prismatic) and ``j/theta`` (continuous); the links are ``j/x`` and
    ``j/y``.
    """
    planar = [joint for joint in robot.joints if joint.type == "planar"]
    if not planar:
        return robot
    frames = (Link(f"{joint.name}/{part}", None) for joint in planar for part in "xy")
    parts = (part for joint in robot.joints for part in _split(joint))
    return assemble(robot.name, (*robot.links, *frames), tuple(parts), robot.oddities)


def _split(joint: Joint) -> Iterator[Joint]:
    """Yield the three single joints that make up a planar joint; any other joint as it is."""
    if joint.type != "planar":
        yield joint
        return
    normal = joint.axis
    x = np.array([1.0, 0.0, 0.0] if abs(normal[0]) < UPRIGHT else [0.0, 1.0, 0.0])
    x = unit_vector(x - (x @ normal) * normal)
    x_link, y_link = f"{joint.name}/x", f"{joint.name}/y"
    yield replace(joint, name=x_link, type="prismatic", child=x_link, axis=x)
    joint = replace(joint, rotation=np.eye(3), translation=np.zeros(3))
    y = np.cross(normal, x)
    yield replace(joint, name=y_link, type="prismatic", parent=x_link, child=y_link, axis=y)
    yield replace(joint, name=f"{joint.name}/theta", type="continuous", parent=y_link)
