"""Model: the moving joints, their limits, and the arrays for the compiled core."""

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros._core import CompiledModel, difference_of, integrated
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.model import (
    EARTH,
    body_tree,
    joint_limits,
    joint_selection,
    urdf,
    urdf_edit,
)
from featherstone_ros.model.arguments import finite
from featherstone_ros.model.body_tree import BodyTree, inertial_of, parameters_of
from featherstone_ros.model.finding import Severity, summary
from featherstone_ros.model.joint_selection import JointSelection
from featherstone_ros.model.primitives import inertial
from featherstone_ros.model.robot_description import (
    Mimic,
    RobotDescription,
    name_list,
    without_ground,
)
from featherstone_ros.model.robots import (
    errors_naming,
    read_file,
    robot_file,
    robot_names,
    robot_source,
)
from featherstone_ros.model.rules import impossible_inertias, odd_mimics, weightless_joints

logger = logging.getLogger(__name__)

BASES = ("fixed", "floating")
LIMITS = (
    *("lower", "upper", "velocity_limit", "effort_limit"),
    *("acceleration_limit", "deceleration_limit", "jerk_limit"),
)
BORNE = {"damping": 2, "friction": 1, "armature": 2}  # by the power of a follower's multiplier
NO_ROBOT = RobotDescription("", "", (), (), ())
LEAST_SLACK = 0.1  # [rad or m]
FARTHEST = 1e4  # [rad or m] that a joint without limits is believed to be
LEAST_SPEED = 1.0  # [rad/s or m/s] with which a locked joint is followed, however small its limit
IDLE = 0.1  # share of a robot's moving joints that may turn out to move no inertia


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A robot; immutable, so threads may share it.

    Made by ``from_urdf``, ``from_file``, ``from_robot`` or a ``Tree``. Arrays of shape (n,) follow
    ``joint_names`` and are read-only; units are rad or m and N m or N, by the joint's type.

    A floating base is a free body, whose coordinates precede those of the joints. Position: the
    base link's origin in the world (3), then a unit quaternion x y z w. Velocity: linear, then
    angular, in the base link's own axes. Force: force, then moment about the base link's origin, in
    the same axes. (Pinocchio's free-flyer has this layout.)

    Attributes:
        name: The robot's name.
        base_link: The root link; if it is fixed, gravity and poses are given in its frame.
        joint_types: "revolute", "continuous", "prismatic" or "screw" for each of ``joint_names``.
        lower: (n,) least positions, -inf where there is none.
        upper: (n,) greatest positions, inf where there is none.
        velocity_limit: (n,) greatest speeds, inf where there is none.
        effort_limit: (n,) greatest torques or forces, inf where there is none.
        acceleration_limit: (n,) greatest accelerations of a speed that grows [rad/s^2 or m/s^2];
            these three are from URDF 1.2, inf where there is none.
        deceleration_limit: (n,) the same of a speed that falls, positive; where the URDF gives none
            it is ``acceleration_limit``.
        jerk_limit: (n,) greatest changes of the acceleration [rad/s^3 or m/s^3].
        damping: (n,) viscous friction, followers included [N m s/rad or N s/m].
        friction: (n,) Coulomb friction, followers included [N m or N].
        armature: (n,) inertia of the drives, reflected to the joints, followers included, 0 where
            the description tells nothing of it (see ``transmissions``) [kg m^2 or kg].
        mimics: Follower name to (leader in ``joint_names``, multiplier, offset).
        locked: Joint name to constant position, followers of locked joints included.
        gravity: (3,) in the frame of the base link, or of the world if it floats [m/s^2].
        tree: The bodies, as arrays.
        base: "fixed" or "floating".
        description: The links and joints that it was made of.
        compiled: The tree in the compiled core.
    """

    name: str
    base_link: str
    joint_types: tuple[str, ...]
    lower: Floats
    upper: Floats
    velocity_limit: Floats
    effort_limit: Floats
    acceleration_limit: Floats
    deceleration_limit: Floats
    jerk_limit: Floats
    damping: Floats
    friction: Floats
    armature: Floats
    mimics: Mapping[str, Mimic]
    locked: Mapping[str, float]
    gravity: Floats
    tree: BodyTree
    base: str = "fixed"
    description: RobotDescription = NO_ROBOT
    compiled: Any = field(init=False)

    def __post_init__(self) -> None:
        """Check ``base``, make the arrays read-only and compile the tree."""
        if self.base not in BASES:
            raise ModelError(f"base is {self.base!r}, expected one of {', '.join(BASES)}")
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        compiled = CompiledModel(self.tree, self.gravity, self.floating)
        object.__setattr__(self, "compiled", compiled)

    @classmethod
    def from_urdf(
        cls,
        text: str | bytes,
        joints: Iterable[str] | None = None,
        locked: Mapping[str, float] | None = None,
        gravity: ArrayLike = EARTH,
        base: str = "fixed",
    ) -> "Model":
        """Make a model from URDF text.

        Args:
            text: The XML.
            joints: Names of the joints that move, in the order of all arrays; None takes every
                moving joint that is neither follower nor ``locked``, in document order (up to a
                tenth of them may move no inertia: they are locked, with a warning). A joint left
                out is locked.
            locked: Positions of locked joints [rad or m]; one that is not named stands where its
                range is nearest to 0.
            gravity: (3,) in the frame of the base link, or of the world if it floats [m/s^2].
            base: ``"fixed"``, or ``"floating"``: the base link is a free body. That is the root
                link, or the child of a floating joint on a root link that has neither mass nor
                other children: such a root is the world, not a link of the robot.

        Raises:
            ModelError: The URDF, or a choice of joints, cannot be used.
        """
        return cls.from_description(urdf.parse(text), joints, locked, gravity, base)

    @classmethod
    def from_description(
        cls,
        robot: RobotDescription,
        joints: Iterable[str] | None = None,
        locked: Mapping[str, float] | None = None,
        gravity: ArrayLike = EARTH,
        base: str = "fixed",
        warn: bool = True,
        tolerated: float = IDLE,
    ) -> "Model":
        """Make a model from checked links and joints, for ``from_urdf`` and ``Tree``.

        ``warn``: whether to log what is odd. Joints that move no inertia are locked: vendors ship
        humanoids with a finger or two that weigh nothing. Where the caller names them, or they are
        more than ``tolerated``, a share of all joints, they are refused: they make forward dynamics
        singular.
        """
        if not robot.links:
            raise ModelError(f"robot {robot.name!r} has no <link>, expected at least one")
        if base == "floating":
            robot = without_ground(robot)
        chosen = joint_selection.choose(robot, joints, locked)
        tree = body_tree.grow(robot, chosen)
        idle = body_tree.joints_without_inertia(tree)
        if idle:
            if joints is not None or len(idle) > tolerated * sum(j.moves for j in robot.joints):
                raise ModelError(
                    f"joint {idle[0]!r} moves no mass and no inertia, expected some in the links "
                    "beyond it (or the joint locked)"
                )
            others = [name for name in chosen.joint_names if name not in idle]
            chosen = joint_selection.choose(robot, others, locked)
            tree = body_tree.grow(robot, chosen)
        model = cls(
            name=robot.name,
            base_link=robot.base_link,
            mimics=chosen.mimics,
            locked=chosen.locked,
            gravity=finite("gravity", gravity, (3,)),
            tree=tree,
            base=base,
            description=robot,
            **_joint_properties(robot, chosen),
        )
        if warn:
            _warn(robot, idle)
            if model.armature.any():
                armatures = zip(model.joint_names, model.armature, strict=True)
                text = ", ".join(f"{joint} {value:.3g}" for joint, value in armatures if value)
                logger.info("robot %r: armature from its transmissions: %s", robot.name, text)
        return model

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        arguments: Mapping[str, object] | None = None,
        joints: Iterable[str] | None = None,
        locked: Mapping[str, float] | None = None,
        gravity: ArrayLike = EARTH,
        base: str = "fixed",
    ) -> "Model":
        """Make a model from a ``.urdf`` file, or a ``.xacro`` file if xacro is installed.

        ``arguments``: name to value of the xacro's arguments, as ``name:=value`` of its command; a
        true or false value as xacro writes it. The other arguments are those of ``from_urdf``.

        Raises:
            ModelError: As in ``from_urdf``; or xacro is needed and missing, or fails; or there are
                arguments, and the file is not xacro.
            OSError: The file cannot be read.
        """
        if arguments is not None:
            if not isinstance(arguments, Mapping):
                raise TypeError(f"arguments is {arguments!r:.100}, expected a mapping")
            path = robot_source(Path(path), arguments)
        text = read_file(path)
        with errors_naming(path):
            return cls.from_urdf(text, joints, locked, gravity, base)

    @classmethod
    def from_robot(
        cls,
        robot: str | PathLike[str],
        joints: Iterable[str] | None = None,
        locked: Mapping[str, float] | None = None,
        gravity: ArrayLike = EARTH,
        base: str = "fixed",
    ) -> "Model":
        """Make a model of a robot that comes with the package, wherever that is installed.

        Of those there are no warnings; what is odd about one is said in its file. ``robot``:
        ``"panda"``, ``"ur5e"``, or the path of a URDF or xacro file; behind it may stand the
        xacro's arguments, as in ``"ur.urdf.xacro name:=ur5e ur_type:=ur5e"``. The other arguments
        are those of ``from_urdf``.

        Raises:
            UnknownNameError: There is neither such a robot nor such a file.
            ModelError: As in ``from_file``.
            OSError: The file cannot be read.
        """
        path = robot_file(robot)
        if robot not in robot_names():
            return cls.from_file(path, None, joints, locked, gravity, base)
        description = urdf.parse(read_file(path))
        return cls.from_description(description, joints, locked, gravity, base, warn=False)

    @property
    def n(self) -> int:
        """Number of free joints."""
        return self.tree.n

    @property
    def floating(self) -> bool:
        """Whether the base link is a free body."""
        return self.base == "floating"

    @property
    def nq(self) -> int:
        """Length of a position vector: n, and seven more with a floating base."""
        return self.n + 7 * self.floating

    @property
    def nv(self) -> int:
        """Degrees of freedom, the length of a velocity vector: n, or 6 + n with a floating base."""
        return self.n + 6 * self.floating

    @property
    def neutral(self) -> Floats:
        """The position (nq,) with all joints at zero, a floating base at the world's origin."""
        q = np.zeros(self.nq)
        if self.floating:
            q[6] = 1.0
        return q

    @property
    def position_range(self) -> Floats:
        """The limits (2, n) of the positions, half a turn where there is none [rad or m]."""
        limits = np.array([self.lower, self.upper])
        turn = np.minimum(-np.pi, self.upper), np.maximum(np.pi, self.lower)
        return np.where(np.isfinite(limits), limits, turn)

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, size: int | None = None
    ) -> Floats:
        """Return a random position (nq,), or so many of them (size, nq).

        Joints are drawn uniformly from ``position_range``; a floating base stands anywhere within 1
        m of the world's origin along each axis, and is turned anyhow, all rotations being equally
        likely. ``rng``: NumPy's generator, or a seed; None: other numbers every time.
        """
        random = np.random.default_rng(rng)
        batch = () if size is None else (size,)
        low, high = self.position_range
        joints = random.uniform(low, high, (*batch, self.n))
        if not self.floating:
            return joints
        quaternion = random.normal(size=(*batch, 4))
        quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
        return np.concatenate([random.uniform(-1, 1, (*batch, 3)), quaternion, joints], axis=-1)

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> Floats:
        """Return the position (nq,) after a motion from ``q`` with constant velocity.

        ``q`` (nq,) or (B, nq) [rad, m], ``v`` (nv,) or (B, nv) [rad/s, m/s], ``dt`` [s]. A floating
        base moves along a screw: its velocity is constant in its own axes.

        Raises:
            ValueError: A shape does not fit, or the quaternion of a floating base does not have
                unit length.
        """
        return integrated(self, q, v, dt)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Floats:
        """Return the velocity (nv,) that leads from one position (nq,) to another in 1 s.

        ``integrate`` undoes it, and raises as this does. A floating base turns the shorter way
        round, by at most pi; joints go straight, a continuous one also by more than half a turn.
        """
        return difference_of(self, q0, q1)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the degrees of freedom: the order of all arrays."""
        return self.tree.joint_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, fixed ones included, in document order."""
        return self.tree.link_names

    @property
    def inertial_parameters(self) -> Floats:
        """Inertial parameters, (10 L,): ten for each of ``link_names``, payloads included.

        Mass m [kg], first moment m c (3) [kg m], and inertia xx xy xz yy yz zz about the origin of
        the link's frame [kg m^2], both in the link's axes. ``Dynamics.regressor`` times this vector
        is the torque.
        """
        return self.tree.link_parameters.flatten()

    def with_payload(
        self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike | None = None
    ) -> "Model":
        """Return a model whose ``link`` carries a rigid load in addition.

        ``mass`` [kg], ``com`` (3,) its centre in the link's frame [m], ``inertia`` (3, 3) about
        that point, in the link's axes [kg m^2]; None for a point mass.

        Raises:
            UnknownNameError: There is no such link.
            ModelError: A value is not finite, mass or a principal moment of inertia is negative,
                or inertia is not symmetric.
        """
        if link not in self.link_names:
            raise UnknownNameError("link", link, self.link_names)
        load = inertial(mass, com, inertia)
        return replace(self, tree=self.tree.with_inertial(self.link_names.index(link), load))

    def with_inertial_parameters(self, vector: ArrayLike) -> "Model":
        """Return the model with other inertial parameters, as ``inertial_parameters`` orders them.

        They need not be physically possible: identified parameters may fit the torque and still be
        those of no real body (``featherstone-ros inspect`` finds out).

        Raises:
            ModelError: The shape is not (10 L,), or a value is not finite.
        """
        vector = finite("vector", vector, (10 * len(self.link_names),))
        return replace(self, tree=self.tree.with_link_parameters(vector.reshape(-1, 10)))

    def to_urdf(self, text: str | bytes) -> str:
        """Return a URDF with this model's inertials and everything else unchanged, byte for byte.

        Links whose values already agree are left alone. ``text``: the URDF that the model was made
        from, or another with the same links.

        Raises:
            ModelError: The text is not a URDF, or its links are not the model's; or a link has
                negative mass, or a first moment without mass, which a URDF cannot express.
        """
        robot = urdf.parse(text)
        if self.floating:
            robot = without_ground(robot)
        if odd := {link.name for link in robot.links} ^ {*self.link_names}:
            raise ModelError(
                f"the text describes another robot than {self.name!r}: links "
                f"{name_list(sorted(odd))} are in one of the two only"
            )
        mine = dict(zip(self.link_names, self.tree.link_parameters, strict=True))
        changed = {
            link.name: inertial_of(link.name, mine[link.name])
            for link in robot.links
            if not np.array_equal(mine[link.name], parameters_of(link.inertial))
        }
        return urdf_edit.replace(text, changed)

    def with_joint_limits(self, limits: str | PathLike[str] | Mapping[str, Any]) -> "Model":
        """Return the model with limits of MoveIt's joint_limits.yaml in place of its own.

        Limits that are not given stay as they are, also where ``has_..._limits`` is false.
        ``limits``: the file, or what is in it: ``{"joint_limits": {joint: {"max_velocity": ...}}}``
        [rad or m, s, N m or N]. Joints that the model does not have are left out, with a warning.

        Raises:
            ModelError: It has no ``joint_limits``, or a limit is no finite number or impossible.
            OSError: The file cannot be read.
        """
        own = {name: getattr(self, name) for name in LIMITS}
        given = joint_limits.read_limits(limits)
        others = {*self.mimics, *self.locked}
        return replace(self, **joint_limits.with_limits(own, given, self.joint_names, others))

    @property
    def locked_joints(self) -> tuple[str, ...]:
        """Those of ``locked`` that have a position of their own: no followers, none that floats."""
        return joint_selection.locked_joints(self.description, self.locked)

    @property
    def locked_positions(self) -> Floats:
        """Where ``locked_joints`` stand (m,) [rad or m]."""
        return np.array([self.locked[joint] for joint in self.locked_joints], dtype=float)

    @property
    def locked_ranges(self) -> Floats:
        """Of each of ``locked_joints`` (3, m): between which positions it can be, and its speed.

        The positions are generous, a range beyond the range: beyond them another unit is meant. A
        range of nothing is none. The speed is at least 1 [rad/s or m/s]: descriptions have limits
        that drives do not keep.
        """
        joints = {joint.name: joint for joint in self.description.joints}
        chosen = [joints[name] for name in self.locked_joints]
        lower, upper = np.sort(np.reshape([(j.lower, j.upper) for j in chosen], (-1, 2))).T
        slack = np.where(upper > lower, np.maximum(upper - lower, LEAST_SLACK), np.inf)
        low, high = np.maximum(lower - slack, -FARTHEST), np.minimum(upper + slack, FARTHEST)
        limits = [j.velocity if math.isfinite(j.velocity) else 0.0 for j in chosen]
        return np.array([low, high, np.maximum(limits, LEAST_SPEED)]).reshape(3, -1)

    def with_locked(self, positions: Mapping[str, float]) -> "Model":
        """Return the model with some of its ``locked_joints`` elsewhere, payloads included.

        ``positions``: joint name to position [rad or m]; the others stay where they are.

        Raises:
            ModelError: One is none of ``locked_joints``, or its position is not finite.
        """
        if all(self.locked.get(name) == position for name, position in positions.items()):
            return self
        chosen = self._selection(positions)
        return replace(self, locked=chosen.locked, tree=self._tree_of(chosen))

    def following(self) -> "Model":
        """Return a copy whose locked joints compiled code can move, for one owner alone.

        ``tree.followed`` tells which: they are bodies that no degree of freedom moves.
        """
        if not self.locked:
            return self
        chosen = self._selection({})
        followed = joint_selection.followed_joints(self.description, chosen, self.floating)
        return replace(self, tree=self._tree_of(chosen, followed)) if followed else self

    def _selection(self, positions: Mapping[str, float]) -> JointSelection:
        own = {name: self.locked[name] for name in self.locked_joints}
        return joint_selection.choose(self.description, self.joint_names, {**own, **positions})

    def _tree_of(
        self,
        chosen: JointSelection,
        followed: Mapping[str, tuple[int, Mimic]] = MappingProxyType({}),
    ) -> BodyTree:
        """Return the tree with these locked joints, and with this model's payloads."""
        tree = body_tree.grow(self.description, chosen, followed)
        if np.array_equal(tree.link_parameters, self.tree.link_parameters):
            return tree
        return tree.with_link_parameters(self.tree.link_parameters)

    def with_gravity(self, g: ArrayLike) -> "Model":
        """Return the model with gravity ``g``, (3,) [m/s^2], in the axes of ``gravity``."""
        return replace(self, gravity=finite("gravity", g, (3,)))

    def __repr__(self) -> str:
        """Return the robot's name and its free joints."""
        base = ", floating base" if self.floating else ""
        return f"<Model {self.name!r}: {self.n} joints ({', '.join(self.joint_names)}){base}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without the compiled part, which is rebuilt."""
        return partial(Model, **{f.name: getattr(self, f.name) for f in fields(self) if f.init}), ()


def _warn(robot: RobotDescription, idle: list[str]) -> None:
    """Warn about impossible values that vendors ship, and about joints not taken as written."""
    findings = chain(
        robot.oddities, impossible_inertias(robot), odd_mimics(robot), weightless_joints(idle)
    )
    odd = [finding for finding in findings if finding.severity > Severity.NOTE]
    if odd:
        logger.warning("robot %r is used as written, but: %s", robot.name, summary(odd))


def _joint_properties(robot: RobotDescription, chosen: JointSelection) -> dict[str, Any]:
    """Return types, limits and friction of the degrees of freedom.

    A leader bears its followers' friction and armature, scaled by their multipliers m: from the
    powers d qd^2 and f |qd| and the energy a qd^2 / 2, m^2 for viscous friction and armature and
    |m| for Coulomb friction.
    """
    joints = {joint.name: joint for joint in robot.joints}
    borne = {what: dict.fromkeys(chosen.joint_names, 0.0) for what in BORNE}
    for name, (leader, multiplier, _) in chosen.ways.items():
        for what, power in BORNE.items():
            value = getattr(joints[name], what)
            if value < 0:
                raise ModelError(
                    f"joint {name!r}: <dynamics {what}> is {value:g}, expected >= 0: it would "
                    "drive the joint"
                )
            borne[what][leader] += abs(multiplier) ** power * value
    for what, figures in borne.items():
        for name, value in figures.items():
            if not math.isfinite(value):
                raise ModelError(
                    f"joint {name!r}: {'' if what == 'armature' else '<dynamics> '}{what!r} of it "
                    f"and its followers adds up to {value:g}, expected a finite number"
                )
    free = [joints[name] for name in chosen.joint_names]
    return {
        "joint_types": tuple(joint.type for joint in free),
        **{
            name: np.array([getattr(joint, name.removesuffix("_limit")) for joint in free])
            for name in LIMITS
        },
        **{what: np.array(list(figures.values())) for what, figures in borne.items()},
    }
