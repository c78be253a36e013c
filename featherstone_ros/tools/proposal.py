"""The first parameters of a new arm: gains, tool link, and where it begins.

That posture is near the middle of its range, easy to hold, clear, and not singular.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from defusedxml import ElementTree
from numpy.typing import ArrayLike, NDArray

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import SHARES, faster_loop, min_armature
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import (
    BANDWIDTH,
    DAMPING_RATIO,
    ChosenGains,
    Damping,
    NoStableGainsError,
    SampledLoop,
    Timing,
    choose,
    error_of_friction,
    linearised,
    postures,
)
from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.inspection.doctor import Inspection, examine
from featherstone_ros.model import EARTH, Model, errors_naming, read_description
from featherstone_ros.model.urdf import (
    commanded_by_position,
    reductions,
    with_position_interface,
)
from featherstone_ros.parameter import of_joints
from featherstone_ros.tools.clearance import Clearance, chain
from featherstone_ros.tools.trial_drive import first_motion

ROUNDING = 1e-9  # [N m or N] of a weight that is none
TOOLS = ("tool0", "tcp", "tool", "ee_link", "end_?effector", "flange", "hand", "wrist", "gripper")
EASY = 0.5  # share of the effort limits that gravity may take
INNER = 0.6  # share of the range of motion, about its middle, in which a posture is looked for
WAYS = (0.25, 0.5, 0.75, 1.0)  # shares of the way there at which it is looked for
AGILE = 0.7  # share of the largest least singular value that is enough
RANK = 1e-3  # of the largest singular value: what is less is zero
COUNT = 200  # postures that are looked at, each of these ways
DIGITS = 2  # of the result, if it is as good with them
POSES = 20  # of the first motion that are looked at


@dataclass(frozen=True, eq=False)
class Proposal:
    """What the parameter file says; arrays (n,) in joint order."""

    urdf: Path  # the file
    text: str  # URDF text
    model: Model  # the arm, all joints that move
    # drives' inertia: the URDF's, or assumed where nothing could be stable without [kg m^2 or kg]
    armature: Floats
    inspection: Inspection  # findings on the description
    loop: SampledLoop  # the closed loop that gains were chosen for
    gains: ChosenGains  # of mode feedforward
    damping: Damping  # of hand guiding and the gravity hold
    asked: float  # requested bandwidth [rad/s]
    clearance: Clearance  # of the links to each other and to the floor
    start: Floats  # where the twin begins [rad or m]
    tip: str  # the link of the tool; empty if ambiguous

    @cached_property
    def rotors(self) -> Floats | None:
        """(n,) drives' inertia with which every joint would get that bandwidth [kg m^2 or kg].

        None if every joint does without, or none of ``SHARES`` is enough.
        """
        for share in SHARES if self.gains.reduced else ():
            rotors = share * self.loop.heaviest
            with_rotors = linearised(self.model, rotors, self.loop.timing)
            try:
                gains = choose(with_rotors, self.asked, DAMPING_RATIO, self.model.friction)
            except ValueError:
                continue
            if not gains.reduced:
                return rotors
        return None

    @cached_property
    def arm(self) -> ControlledArm:
        """The arm with these parameters."""
        joints, gains, timing = self.model.joint_names, self.gains, self.loop.timing
        values = {
            **of_joints("gains.{}.p", joints, gains.p),
            **of_joints("gains.{}.d", joints, gains.d),
            **of_joints("damping.{}", joints, self.damping.value),
            **of_joints("armature.{}", joints, self.armature),
            "gains.period": timing.period,
            "gains.delay": timing.delay,
            "gravity": self.model.gravity,
        }
        return ControlledArm.of(self.model, values)

    @cached_property
    def reductions(self) -> dict[str, float]:
        """Joint name to the reduction that its transmission tells."""
        return reductions(ElementTree.fromstring(self.text))

    @cached_property
    def is_of_servos(self) -> bool:
        """Whether the description's hardware takes positions, and no efforts, of all joints."""
        servos = commanded_by_position(ElementTree.fromstring(self.text))
        return servos.issuperset(self.model.joint_names)

    @cached_property
    def may_be_of_servos(self) -> bool:
        """Whether its transmissions say so, which few hold to."""
        servos = with_position_interface(ElementTree.fromstring(self.text))
        return not self.is_of_servos and servos.issuperset(self.model.joint_names)

    @cached_property
    def goal(self) -> Point:
        """Of a first motion from the start, the way on which less meets."""
        ways = [first_motion(self.model, self.start, sign) for sign in (1.0, -1.0)]
        return max(ways, key=lambda goal: min(self.clearance.min_distance(self.way(goal)), 0.0))

    def way(self, goal: Point) -> Floats:
        """Return poses (B, n) from the start to a goal."""
        share = np.linspace(0.0, 1.0, POSES)[:, None]
        return np.asarray(self.start + share * (np.array(goal.positions) - self.start))

    @cached_property
    def beside(self) -> tuple[str, list[str]]:
        """The tip, and joints that are neither on the way to it nor beyond: wheels, another arm.

        If the tip is ambiguous, the end of a longest chain takes its place.
        """
        tree = self.model.tree
        bodies = dict(zip(tree.link_names, tree.link_body, strict=True))
        chains = {link: chain(self.model, body) for link, body in bodies.items()}
        tip = self.tip or max(chains, key=lambda link: len(chains[link]))
        arm = set[int]().union(*(way for way in chains.values() if bodies[tip] in way))
        on_it = {tree.dof[body] for body in arm}
        return tip, [name for i, name in enumerate(self.model.joint_names) if i not in on_it]

    @property
    def bandwidth(self) -> Floats:
        """Bandwidth of each joint [rad/s]."""
        return np.broadcast_to(self.gains.bandwidth, (self.model.n,))

    @property
    def assumed_armature(self) -> Floats:
        """(n,) the armature of joints of which the URDF tells none [kg m^2 or kg]."""
        return np.where(self.model.armature > 0, 0.0, self.armature)

    @property
    def friction_error(self) -> Floats:
        """(n,) error at rest that Coulomb friction leaves which is wrong by 30 % [rad or m]."""
        return error_of_friction(self.loop, self.gains.p, self.model.friction)


def propose(
    urdf: Path,
    bandwidth: float = BANDWIDTH,
    timing: Timing | None = None,
    gravity: ArrayLike = EARTH,
    joints: Sequence[str] | None = None,
    locked: Mapping[str, float] | None = None,
) -> Proposal:
    """Propose parameters for an arm.

    ``bandwidth``: of the gains [rad/s]. ``timing``: of the loop; None: the controller's default.
    ``gravity`` (3,) in the base link's frame [m/s^2]. ``joints``: those that move, in this order;
    None: all that are not locked. ``locked``: where locked joints stand [rad or m].
    """
    text = read_description(urdf)
    with errors_naming(urdf):
        model = Model.from_urdf(text, joints, locked, gravity)
    if not model.n:
        raise FeatherstoneError(f"robot {model.name!r} has no joint that moves: nothing to control")
    _require_effort(model)
    try:
        held = min_armature(model, bandwidth, timing)
    except NoStableGainsError as error:
        faster = faster_loop(model, bandwidth, timing or Timing())
        raise FeatherstoneError(f"{error}: {faster}") from None
    except ValueError as error:
        raise FeatherstoneError(str(error)) from None
    loop, tip = linearised(model, held.armature, timing or Timing()), tool_link(model)
    folder = urdf.resolve().parent
    inspection = examine(text, folder, joints, locked)
    clearance = Clearance.of(model, text, folder, drawn=inspection.drawn)
    return Proposal(
        urdf,
        text,
        model,
        held.armature,
        inspection,
        loop,
        held.gains,
        held.damping,
        bandwidth,
        clearance,
        start_posture(model, tip, clearance.free),
        tip,
    )


def _require_effort(model: Model) -> None:
    helpless = np.flatnonzero(model.effort_limit <= 0.0)
    if len(helpless):
        weight = np.abs(Dynamics(model).gravity(postures(model))).max(axis=0)
        weight[weight < ROUNDING] = 0.0
        joints = ", ".join(f"{model.joint_names[i]} (weight {weight[i]:.3g})" for i in helpless)
        raise FeatherstoneError(
            f"<limit effort> is 0, so nothing can hold the arm: {joints}; write into the URDF what "
            "the drives can do, more than the weight given here [N m or N]"
        )


def tool_link(model: Model) -> str:
    """Return the link at the end of the arm: by its name, else the last one of the longest chain.

    Where the longest chains fork in their outer half, as fingers do, it is on the body that they
    share, the hand. Empty where they fork before, as two arms or legs.
    """
    tree = model.tree
    depth = [0]
    for parent, dof in zip(tree.parent, tree.dof, strict=True):
        slides = model.joint_types[dof] == "prismatic"  # as fingers do
        depth.append(depth[parent + 1] + (not slides))
    reach = {
        link: depth[body + 1]
        for link, body in zip(tree.link_names, tree.link_body, strict=True)
        if body >= 0  # no joint moves the others
    }
    longest = max(reach.values())
    ends = [link for link in reach if reach[link] == longest]
    bodies = {tree.link_body[tree.link_names.index(link)] for link in ends}
    if len({_branch(tree.parent, body, depth, longest) for body in bodies}) > 1:
        hand = max(set.intersection(*(chain(model, body) for body in bodies)), default=-1)
        if hand < 0 or 2 * depth[hand + 1] < longest:
            return ""
        owners = zip(tree.link_names, tree.link_body, strict=True)
        ends = [link for link, body in owners if body == hand]
    for tool in TOOLS:
        named = [link for link in ends if re.search(rf"(^|[^a-z]){tool}($|[^a-z])", link.lower())]
        if named:
            return named[-1]
    return ends[-1]


def _branch(parent: NDArray[np.intp], body: int, depth: list[int], longest: int) -> int:
    """Return the first body up the chain that is as deep: fingers share that of their hand."""
    while parent[body] >= 0 and depth[parent[body] + 1] == longest:
        body = parent[body]
    return int(body)


class Agility:
    """How well a tip moves in the direction in which it moves worst.

    That is the least singular value of its Jacobian that is not zero in all postures; lengths count
    in units of the arm's reach.
    """

    def __init__(self, model: Model, tip: str, q: Floats) -> None:
        """Take the arm.

        ``tip``: its tool's link; empty if that is unknown: then all postures are the same. ``q``
        (B, n) postures that show what the arm can do.
        """
        self._dynamics, self._tip, self._reach = Dynamics(model), tip, 1.0
        if tip:
            speed = np.linalg.norm(self._dynamics.jacobian(q, tip)[:, :3], axis=1)
            self._reach = float(speed.max()) or 1.0
            values = self._singular_values(q)
            self._last = int((values > RANK * values[:, :1]).sum(axis=1).max()) - 1

    def _singular_values(self, q: Floats) -> Floats:
        J = self._dynamics.jacobian(q, self._tip)
        J[:, :3] /= self._reach
        return np.asarray(np.linalg.svd(J, compute_uv=False))

    def of(self, q: Floats) -> Floats:
        """Return it (B,) in postures (B, n)."""
        return self._singular_values(q)[:, self._last] if self._tip else np.ones(len(q))


def start_posture(
    model: Model, tip: str = "", clear: Callable[[Floats], NDArray[np.bool_]] | None = None
) -> Floats:
    """Return a posture (n,) near the middle of the range that is good to begin in.

    It is easy to hold, clear, and the tip can move in all directions; where no posture is easy to
    hold, it is the easiest, and where none of them is clear, this counts for nothing.
    """
    q = postures(model, COUNT)
    middle, far = q[0], INNER * (q[1:] - q[0])
    q = np.concatenate([middle[None], *(middle + way * far for way in WAYS)])
    load, agility = gravity_load(model, q), Agility(model, tip, q)
    if not (load <= EASY).any():
        return np.asarray(q[int(np.argmin(load))])
    enough = AGILE * agility.of(q[load <= EASY]).max()

    def are_good(q: Floats) -> NDArray[np.bool_]:
        good = np.asarray((gravity_load(model, q) <= EASY) & (agility.of(q) >= enough))
        if clear and good.any():
            good[good] = clear(q[good])
        return good

    good = q[are_good(q)]
    if not len(good):
        return start_posture(model, tip)
    displacement = (good - middle) / np.abs(far).max(axis=0, initial=1e-9)
    best = good[int(np.argmin(np.linalg.norm(displacement, axis=1)))]
    for joint in np.argsort(np.abs(best - middle)):  # what is not needed stays in the middle
        other = best.copy()
        other[joint] = middle[joint]
        best = other if are_good(other[None])[0] else best
    tidy = np.clip(np.round(best, DIGITS), model.lower, model.upper)
    return np.asarray(tidy if are_good(tidy[None])[0] else best)


def gravity_load(model: Model, q: Floats) -> Floats:
    """Return (B,) the largest share of an effort limit that gravity takes in postures (B, n)."""
    return np.asarray((np.abs(Dynamics(model).gravity(q)) / model.effort_limit).max(axis=1))
