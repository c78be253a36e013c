"""Tree: a robot built in Python, with two things that URDF lacks: screws and solid links."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import finite_number
from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.model import EARTH, robot_description
from featherstone_ros.model.arguments import at_least, finite, rotation_matrix
from featherstone_ros.model.model import Model
from featherstone_ros.model.primitives import ORIGIN, UNTURNED, together
from featherstone_ros.model.robot_description import (
    Inertial,
    Link,
    Mimic,
    RobotDescription,
    assemble,
)
from featherstone_ros.model.rotations import unit_vector


@dataclass(frozen=True, eq=False)
class Fixed:
    """A joint that never moves.

    Attributes:
        name: Unique among the joints of a tree.
    """

    name: str


@dataclass(frozen=True, eq=False)
class MovingJoint:
    """A joint with one degree of freedom; units are rad and N m, or m and N if prismatic.

    Attributes:
        name: Unique among the joints of a tree.
        axis: (3,) direction in the child link's frame, of any length.
        lower: Least position.
        upper: Greatest position.
        velocity_limit: Greatest speed.
        effort_limit: Greatest torque or force.
        acceleration_limit: Greatest acceleration of a speed that grows.
        deceleration_limit: The same of a speed that falls; None: ``acceleration_limit``.
        jerk_limit: Greatest change of the acceleration.
        damping: Viscous friction [N m s/rad or N s/m].
        friction: Coulomb friction [N m or N].
        mimic: None for a free joint, or (leader, multiplier, offset): its position is multiplier
            times that of ``leader``, a joint already in the tree, plus offset.
    """

    name: str
    axis: ArrayLike = (0.0, 0.0, 1.0)
    _: KW_ONLY
    lower: float = -math.inf
    upper: float = math.inf
    velocity_limit: float = math.inf
    effort_limit: float = math.inf
    acceleration_limit: float = math.inf
    deceleration_limit: float | None = None
    jerk_limit: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: tuple[str, float, float] | None = None


@dataclass(frozen=True, eq=False)
class Revolute(MovingJoint):
    """A joint that turns about its axis: see ``MovingJoint``."""


@dataclass(frozen=True, eq=False)
class Continuous(MovingJoint):
    """A revolute joint without end."""

    lower: float = field(init=False, default=-math.inf)
    upper: float = field(init=False, default=math.inf)


@dataclass(frozen=True, eq=False)
class Prismatic(MovingJoint):
    """A joint that slides along its axis: see ``MovingJoint``."""


@dataclass(frozen=True, eq=False)
class Screw(MovingJoint):
    """A joint that advances along its axis as it turns: RBDA's helical joint, Table 4.1.

    Its position is the angle [rad], its effort the torque [N m]: see ``MovingJoint``.

    Attributes:
        pitch: Advance per radian [m/rad]: the lead of a thread, its advance per turn, over
            2 pi; negative for a left-handed thread.
    """

    pitch: float = field(kw_only=True)


Joint: TypeAlias = Fixed | Revolute | Continuous | Prismatic | Screw


class Tree:
    """A robot under construction: links are joined one by one, from the base outward.

    A lead screw of 5 mm per turn with an arm on its nut::

        tree = fr.Tree("frame", name="lift")
        tree.add(
            "nut",
            parent="frame",
            joint=fr.Screw("spindle", axis=(0, 0, 1), pitch=0.005 / (2 * np.pi)),
            inertial=fr.cylinder(radius=0.03, length=0.04, density=7850),
        )
        tree.add(
            "arm",
            parent="nut",
            joint=fr.Revolute("elbow", axis=(0, 1, 0), lower=-2, upper=2, effort_limit=20),
            translation=(0.05, 0, 0),
            inertial=[
                fr.box((0.3, 0.04, 0.04), mass=0.6, translation=(0.15, 0, 0)),
                fr.sphere(0.03, mass=0.2, translation=(0.3, 0, 0)),
            ],
        )
        dyn = fr.Dynamics(tree.model())

    Frames are as in URDF: a link's frame is its joint's, and at position 0 it has the pose given to
    ``add``.
    """

    def __init__(
        self,
        base: str = "base",
        *,
        name: str = "tree",
        inertial: Inertial | Sequence[Inertial] | None = None,
    ) -> None:
        """Begin with the base link, in whose frame gravity and poses are given.

        ``name`` is the robot's; ``inertial`` the base's inertia, as in ``add``.
        """
        self.name = name
        self._links: dict[str, Link] = {}
        self._joints: dict[str, robot_description.Joint] = {}
        self._add_link(base, inertial)

    def __repr__(self) -> str:
        """Return the name, the number of links, and the joints."""
        joints = ", ".join(self._joints) or "none"
        return f"<Tree {self.name!r}: {len(self._links)} links, joints {joints}>"

    def add(
        self,
        link: str,
        *,
        parent: str,
        joint: Joint,
        translation: ArrayLike = ORIGIN,
        rotation: ArrayLike = UNTURNED,
        inertial: Inertial | Sequence[Inertial] | None = None,
    ) -> None:
        """Join a new link to one in the tree; if this raises, the tree is unchanged.

        Args:
            link: Name of the new link.
            parent: Name of the link that carries it.
            joint: ``Revolute``, ``Continuous``, ``Prismatic``, ``Screw`` or ``Fixed``.
            translation: (3,) the joint's origin in the parent's frame [m].
            rotation: Orientation of the joint's frame there: (3, 3), or roll, pitch and yaw about
                the parent's axes [rad].
            inertial: The link's inertia, from ``fr.inertial``, ``fr.box``, ``fr.cylinder``,
                ``fr.mesh`` or ``fr.sphere``; a sequence of them for a link of several parts; None
                for a pure frame.

        Raises:
            UnknownNameError: There is no such parent, or no moving joint that ``mimic`` names.
            ModelError: A name is taken, or a value cannot be used.
        """
        if not isinstance(joint, Joint):
            raise ModelError(f"joint of link {link!r} is {joint!r}, expected e.g. Revolute('name')")
        _check_new("joint", joint.name, self._joints)
        if parent not in self._links:
            raise UnknownNameError("link", parent, self._links)
        owner = f"joint {joint.name!r}: "
        motion: dict[str, Any] = {"axis": np.array([1.0, 0.0, 0.0])}
        if isinstance(joint, MovingJoint):
            motion = {**_motion(joint), "mimic": self._mimic(joint)}
        added = robot_description.Joint(
            name=joint.name,
            type=type(joint).__name__.lower(),
            parent=parent,
            child=link,
            translation=finite(f"{owner}translation", translation, (3,)),
            rotation=rotation_matrix(f"{owner}rotation", rotation),
            **motion,
        )
        self._add_link(link, inertial)
        self._joints[joint.name] = added

    def model(
        self,
        joints: Iterable[str] | None = None,
        locked: Mapping[str, float] | None = None,
        gravity: ArrayLike = EARTH,
        base: str = "fixed",
    ) -> Model:
        """Make a model of the tree as it is now; arguments and errors as in ``Model.from_urdf``."""
        return Model.from_description(self.robot(), joints, locked, gravity, base)

    def robot(self) -> RobotDescription:
        """Return links and joints as ``urdf.parse`` would for a URDF."""
        return assemble(self.name, tuple(self._links.values()), tuple(self._joints.values()))

    def _add_link(self, name: str, inertial: Inertial | Sequence[Inertial] | None) -> None:
        _check_new("link", name, self._links)
        parts: Sequence[Inertial] = ()
        if inertial is not None:
            parts = inertial if isinstance(inertial, Sequence) else (inertial,)
        if not all(isinstance(part, Inertial) for part in parts):
            raise ModelError(
                f"inertial of link {name!r} is {inertial!r}, expected what inertial, box, "
                "cylinder, mesh or sphere returns, or a sequence of these"
            )
        self._links[name] = Link(name, together(parts) if parts else None)

    def _mimic(self, joint: MovingJoint) -> Mimic | None:
        if joint.mimic is None:
            return None
        owner = f"joint {joint.name!r}: mimic"
        if not isinstance(joint.mimic, tuple) or len(joint.mimic) != 3:
            raise ModelError(f"{owner} is {joint.mimic!r}, expected (leader, multiplier, offset)")
        leader, multiplier, offset = joint.mimic
        moving = [name for name, added in self._joints.items() if added.moves]
        if leader not in moving:
            raise UnknownNameError(f"moving joint (that {joint.name!r} mimics)", leader, moving)
        return Mimic(leader, *finite(owner, (multiplier, offset), (2,)).tolist())


def _motion(joint: MovingJoint) -> dict[str, Any]:
    """Return how the joint moves, checked, under robot_description.Joint's names."""
    owner = f"joint {joint.name!r}: "
    axis = finite(f"{owner}axis", joint.axis, (3,))
    if not axis.any():
        raise ModelError(f"{owner}axis is zero, expected a direction")
    lower = at_least(-math.inf, f"{owner}lower", joint.lower)
    deceleration = joint.deceleration_limit
    if deceleration is None:
        deceleration = joint.acceleration_limit
    return {
        "axis": unit_vector(axis),
        "pitch": float(finite(f"{owner}pitch", getattr(joint, "pitch", 0.0))),
        "lower": lower,
        "upper": at_least(lower, f"{owner}upper", joint.upper),
        **{
            name: at_least(0, f"{owner}{name}_limit", getattr(joint, f"{name}_limit"))
            for name in ("velocity", "effort", "acceleration", "jerk")
        },
        "deceleration": at_least(0, f"{owner}deceleration_limit", deceleration),
        **{
            name: finite_number(f"{owner}{name}", getattr(joint, name), 0.0, ModelError)
            for name in ("damping", "friction")
        },
    }


def _check_new(kind: str, name: str, taken: Iterable[str]) -> None:
    if not (isinstance(name, str) and name):
        raise ModelError(f"name of a {kind} is {name!r}, expected a non-empty str")
    if name in taken:
        raise ModelError(f"{kind} {name!r} is in the tree already, expected a new name")
