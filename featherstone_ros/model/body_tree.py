"""The moving bodies as arrays, from which the compiled model is built."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from featherstone_ros.arrays import Floats, Indices
from featherstone_ros.errors import ModelError
from featherstone_ros.model.arguments import HUGE
from featherstone_ros.model.joint_selection import JointSelection
from featherstone_ros.model.primitives import (
    UPPER,
    in_frame,
    inertia_matrix,
    inertial_parameters,
    pseudo_inertia,
    transform,
)
from featherstone_ros.model.robot_description import Inertial, Joint, Mimic, RobotDescription
from featherstone_ros.model.rotations import rotation_about

BASE = -1
EXTENDED = np.longdouble  # more digits than a double, where the machine offers them


class Followed(NamedTuple):
    """A body behind a locked joint, which stands at ``multiplier`` x + ``offset``."""

    body: int  # its index
    joint: int  # index of the position x among those of ``Model.locked_joints``
    multiplier: float  # 1 but for a follower
    offset: float  # likewise 0


@dataclass(frozen=True, eq=False, slots=True)
class BodyTree:
    """Bodies 0..N-1, parents before children, and the links they carry.

    A body is a link moved by a free joint or by a joint that mimics one; its frame is that link's
    URDF frame.
    Links behind fixed or locked joints belong to the body (or the base) that carries them.
    """

    joint_names: tuple[str, ...]  # the n degrees of freedom
    body_names: tuple[str, ...]  # the N + 1 names of base link and bodies
    link_names: tuple[str, ...]  # all L links
    parent: Indices  # (N,) body each body is jointed to, -1 for the base
    # (N, 3, 3) orientation of the joint's frame, at position 0, in the parent body
    rotation: Floats
    translation: Floats  # (N, 3) origin of that frame in the parent body [m]
    axis: Floats  # (N, 3) unit vector of the joint in its frame
    motion: Floats  # (N, 2) rotation about and translation along the axis per unit of position
    dof: Indices  # (N,) index of the degree of freedom that moves the body
    multiplier: Floats  # (N,) joint position = multiplier * q[dof] + offset
    offset: Floats  # (N,) see ``multiplier``
    mass: Floats  # (N + 1,) of the base and each body with all it carries [kg]
    first_moment: Floats  # (N + 1, 3) mass times centre of mass, in the body's frame [kg m]
    inertia: Floats  # (N + 1, 3, 3) about the origin of the body's frame, in its axes [kg m^2]
    # (N + 1, 3) the digits of ``first_moment`` that a double cannot hold: referred to a distant
    # centre of mass, most leading digits cancel
    first_moment_rest: Floats
    inertia_rest: Floats  # (N + 1, 3, 3) the same for ``inertia``
    link_body: Indices  # (L,) body that carries each link, -1 for the base
    link_rotation: Floats  # (L, 3, 3) orientation of the link's frame in that body's frame
    link_translation: Floats  # (L, 3) origin of the link's frame in that body's frame [m]
    link_locked: tuple[frozenset[str], ...]  # (L,) the locked joints between the base and each link
    joint_body: Indices  # (n,) the body behind the joint of each degree of freedom
    # (L, 10) of each link: mass, first moment and, about the origin of the link's frame, inertia xx
    # xy xz yy yz zz, in the link's axes
    link_parameters: Floats
    link_parameters_rest: Floats  # the digits of these that a double cannot hold
    # bodies behind locked joints that compiled code may move; no degree of freedom does (their
    # ``multiplier`` is 0)
    followed: tuple[Followed, ...] = ()

    def __post_init__(self) -> None:
        """Refuse finite values whose sum overflows, here or in later products."""
        for figure, names in (
            ("mass", self.body_names),
            ("inertia", self.body_names),
            ("translation", self.body_names[1:]),
            ("link_translation", self.link_names),
        ):
            array = np.abs(getattr(self, figure))
            within = array.max(axis=tuple(range(1, array.ndim)), initial=0.0) < HUGE
            if not within.all():
                culprit = names[int(np.argmin(within))]
                raise ModelError(
                    f"{figure} of {culprit!r} adds up to more than {HUGE:g} in SI units"
                )

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return len(self.joint_names)

    def with_inertial(self, link: int, added: Inertial) -> "BodyTree":
        """Return a tree in which the link with this index carries ``added`` as well."""
        parameters = self.link_parameters + self.link_parameters_rest.astype(EXTENDED)
        parameters[link] += _parameters(added)
        return self.with_link_parameters(parameters)

    def with_link_parameters(self, parameters: Any) -> "BodyTree":
        """Return a tree whose links have these parameters (L, 10), see ``link_parameters``."""
        T = transform(self.link_rotation, self.link_translation)
        return replace(self, **_inertias(parameters, self.link_body, T, len(self.body_names)))


@np.errstate(over="ignore", invalid="ignore")  # BodyTree sees it and names the body
def _inertias(parameters: Any, link_body: Indices, T: Floats, n: int) -> dict[str, Any]:
    """Return the links' inertias (L, 10), and their sums over n bodies, as BodyTree keeps them."""
    parameters = np.asarray(parameters, EXTENDED)
    J: Any = np.zeros((n, 4, 4), EXTENDED)
    np.add.at(J, link_body + 1, in_frame(pseudo_inertia(parameters), T))
    of_bodies = inertial_parameters(J)
    exact = {
        "link_parameters": parameters,
        "first_moment": of_bodies[:, 1:4],
        "inertia": inertia_matrix(of_bodies[:, 4:]),
    }
    kept = {name: values.astype(float) for name, values in exact.items()}
    rest = {f"{name}_rest": (exact[name] - kept[name]).astype(float) for name in exact}
    return {"mass": of_bodies[:, 0].astype(float), **kept, **rest}


def grow(
    robot: RobotDescription,
    selection: JointSelection,
    followed: Mapping[str, tuple[int, Mimic]] = MappingProxyType({}),
) -> BodyTree:
    """Turn links and joints into bodies."""
    index = {name: k for k, name in enumerate(selection.joint_names)}
    ways = {name: (index[way.leader], *way[1:]) for name, way in selection.ways.items()}
    ways |= {name: (0, 0.0, selection.locked[name]) for name in followed}
    placements = {robot.base_link: (BASE, np.eye(3), np.zeros(3))}
    locked = {robot.base_link: frozenset[str]()}
    bodies: list[Joint] = []
    frames: list[tuple[int, Floats, Floats]] = []
    for joint in robot.tree:
        locked[joint.child] = locked[joint.parent] | ({joint.name} & selection.locked.keys())
        body, rotation, translation = placements[joint.parent]
        translation = translation + rotation @ joint.translation
        rotation = rotation @ joint.rotation
        if joint.name in ways:
            placements[joint.child] = (len(bodies), np.eye(3), np.zeros(3))
            bodies.append(joint)
            frames.append((body, rotation, translation))
        else:
            angle, slide = (rate * selection.locked.get(joint.name, 0.0) for rate in _motion(joint))
            turn, shift = rotation_about(joint.axis, angle), slide * joint.axis
            placements[joint.child] = (body, rotation @ turn, translation + rotation @ shift)

    parent, body_rotation, body_translation = _frame_arrays(frames)
    link_body, link_rotation, link_translation = _frame_arrays(
        [placements[link.name] for link in robot.links]
    )
    names = [joint.name for joint in bodies]
    dof, multiplier, offset = np.reshape([ways[name] for name in names], (-1, 3)).astype(float).T
    return BodyTree(
        joint_names=selection.joint_names,
        body_names=(robot.base_link, *(joint.child for joint in bodies)),
        link_names=tuple(link.name for link in robot.links),
        parent=parent,
        rotation=body_rotation,
        translation=body_translation,
        axis=np.array([joint.axis for joint in bodies]).reshape(-1, 3),
        motion=np.array([_motion(joint) for joint in bodies], dtype=float).reshape(-1, 2),
        dof=dof.astype(np.intp),
        multiplier=multiplier,
        offset=offset,
        link_body=link_body,
        link_rotation=link_rotation,
        link_translation=link_translation,
        link_locked=tuple(locked[link.name] for link in robot.links),
        joint_body=np.array([names.index(name) for name in selection.joint_names], dtype=np.intp),
        followed=tuple(
            Followed(names.index(name), joint, way.multiplier, way.offset)
            for name, (joint, way) in followed.items()
        ),
        **_inertias(
            np.array([_parameters(link.inertial) for link in robot.links]),
            link_body,
            transform(link_rotation, link_translation),
            len(bodies) + 1,
        ),
    )


def _motion(joint: Joint) -> tuple[float, float]:
    """Return rotation about and translation along the axis per unit of position."""
    return (0.0, 1.0) if joint.type == "prismatic" else (1.0, joint.pitch)


def _frame_arrays(frames: list[tuple[int, Floats, Floats]]) -> tuple[Indices, Floats, Floats]:
    bodies, rotations, translations = zip(*frames, strict=True) if frames else ((), (), ())
    rotation, translation = np.reshape(rotations, (-1, 3, 3)), np.reshape(translations, (-1, 3))
    return np.array(bodies, dtype=np.intp), rotation, translation


@np.errstate(over="ignore", invalid="ignore")  # as above
def _parameters(inertial: Inertial | None) -> Any:
    """Return the ten inertial parameters of a link about its origin, in extended precision."""
    if inertial is None:
        return np.zeros(10, EXTENDED)
    mass, c = inertial.mass, inertial.com.astype(EXTENDED)
    about = inertial.inertia + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, about[UPPER]])


def parameters_of(inertial: Inertial | None) -> Floats:
    """Return the ten inertial parameters of a link about its origin, see BodyTree."""
    return np.asarray(_parameters(inertial), float)


def inertial_of(link: str, parameters: Floats) -> Inertial:
    """Return a link's inertial values about its centre of mass; inverse of ``parameters_of``."""
    mass, first_moment = float(parameters[0]), parameters[1:4]
    if mass < 0 or (mass == 0 and first_moment.any()):
        raise ModelError(
            f"link {link!r} has mass {mass:g} kg and first moment {first_moment.tolist()} kg m, "
            "expected mass > 0, since a URDF gives the centre of mass"
        )
    com = first_moment / mass if mass else np.zeros(3)
    about_origin = inertia_matrix(parameters[4:])
    return Inertial(mass, com, about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com)))


def joints_without_inertia(tree: BodyTree) -> list[str]:
    """Return the degrees of freedom that move no mass and no inertia."""
    has_inertia = (tree.mass != 0) | tree.inertia.any(axis=(1, 2))
    for body in reversed(range(len(tree.parent))):
        has_inertia[tree.parent[body] + 1] |= has_inertia[body + 1]
    moves_inertia = np.zeros(tree.n, dtype=bool)
    np.logical_or.at(moves_inertia, tree.dof, has_inertia[1:] & (tree.multiplier != 0))
    return [name for name, moves in zip(tree.joint_names, moves_inertia, strict=True) if not moves]
