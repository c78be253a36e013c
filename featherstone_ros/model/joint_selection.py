"""Which joints are free, which follow others and which are locked.

Locked ones (a lift, a torso, the other arm, a gripper) may be moved by somebody else: they stand
where ``joint_states`` says, else where their parameter does, else nearest to 0 in their range.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.model.robot_description import Mimic, RobotDescription, name_list
from featherstone_ros.parameter import Parameter

if TYPE_CHECKING:
    from featherstone_ros.model import Model

NAME = "locked.{}"  # of a parameter


class UnknownJointError(ModelError, UnknownNameError):
    """A name in ``joints`` or ``locked`` that is not a free joint of the robot."""


@dataclass(frozen=True, slots=True)
class JointSelection:
    """How each moving joint of a URDF is treated: it is in exactly one of the three."""

    # the free joints: entry k of every array of positions, speeds or torques
    joint_names: tuple[str, ...]
    mimics: dict[str, Mimic]  # followers of the free joints, chains multiplied out
    locked: dict[str, float]  # constant positions [rad or m], followers of locked joints included

    @property
    def ways(self) -> dict[str, Mimic]:
        """Of every joint that moves which free one moves it: itself, or the one that it follows."""
        return {name: Mimic(name) for name in self.joint_names} | self.mimics


def choose(
    robot: RobotDescription,
    joints: Iterable[str] | None = None,
    locked: Mapping[str, float] | None = None,
) -> JointSelection:
    """Decide which joints are free.

    ``joints``: the free joints in the order wanted; None takes all that are not ``locked``, in
    document order. A joint left out is locked. ``locked``: positions of locked joints [rad or m];
    those not named stand where their range is nearest to 0.
    """
    followers = robot.mimics
    moving = [j for j in robot.joints if j.moves and j.name not in followers]
    candidates = {j.name for j in moving if j.type != "floating"}
    positions = _finite_positions(locked or {})
    if isinstance(joints, (str, bytes)):
        raise ModelError(f"joints is {joints!r}, expected a sequence of joint names")
    free = tuple((j.name for j in moving) if joints is None else map(str, joints))
    for joint in moving:
        if joint.type == "floating" and joint.name in free:
            raise ModelError(
                f"joint {joint.name!r} is floating: six single degrees of freedom in its place "
                'would be singular in some orientation; expected base="floating" (of the twin, and '
                "in Python), if the whole robot hangs on it; or `joints` without it (of commands: "
                "--joints), which locks it; or three prismatic and three revolute joints instead, "
                "with the singular orientation out of reach"
            )
    for argument, names in (("joints", free), ("locked", tuple(positions))):
        for name, count in Counter(names).items():
            if name in followers:
                raise ModelError(
                    f"`{argument}` has {name!r}, which follows {followers[name].leader!r}: "
                    "expected the leader instead"
                )
            if name not in candidates:
                raise UnknownJointError(f"moving joint (in `{argument}`)", name, candidates)
            if count > 1:
                raise ModelError(f"`{argument}` has {name!r} {count} times, expected once")
    if joints is None:
        free = tuple(name for name in free if name not in positions)
    if both := [name for name in free if name in positions]:
        raise ModelError(
            f"joints {name_list(both)} are in both `joints` and `locked`, expected in one"
        )
    chosen = set(free)
    constant = {
        j.name: positions.get(j.name, sorted((j.lower, 0.0, j.upper))[1])
        for j in moving
        if j.name not in chosen
    }
    mimics = {name: mimic for name, mimic in followers.items() if mimic.leader in chosen}
    for name, (leader, multiplier, offset) in followers.items():
        if name not in mimics:  # a fixed leader stays at 0
            constant[name] = multiplier * constant.get(leader, 0.0) + offset
    return JointSelection(free, mimics, constant)


def locked_joints(robot: RobotDescription, locked: Iterable[str]) -> tuple[str, ...]:
    """Return those of the locked joints that have a position of their own, in document order."""
    names = frozenset(locked) - robot.mimics.keys()
    return tuple(j.name for j in robot.joints if j.name in names and j.type != "floating")


def followed_joints(
    robot: RobotDescription, selection: JointSelection, floating: bool
) -> dict[str, tuple[int, Mimic]]:
    """Return the locked joints whose position matters to a free one: it carries or moves them.

    All matter where the base floats. The arm beside ours does not.
    """
    free = {*selection.joint_names, *selection.mimics}
    if not free:
        return {}
    moved = {robot.base_link} if floating else set()  # links
    for joint in robot.tree:
        if joint.name in free or joint.parent in moved:
            moved.add(joint.child)
    carrying = set()
    for joint in reversed(robot.tree):
        if joint.name in free or joint.child in carrying:
            carrying.add(joint.parent)
    index = {name: k for k, name in enumerate(locked_joints(robot, selection.locked))}
    ways = {name: Mimic(name) for name in index} | {
        name: mimic for name, mimic in robot.mimics.items() if mimic.leader in index
    }
    return {
        joint.name: (index[ways[joint.name].leader], ways[joint.name])
        for joint in robot.tree
        if joint.name in ways and (joint.child in carrying or joint.parent in moved)
    }


def _finite_positions(locked: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(locked, Mapping):
        raise ModelError(f"locked is {locked!r}, expected a mapping from joint names to positions")
    for name, position in locked.items():
        if not isinstance(position, Real) or not math.isfinite(position):
            raise ModelError(f"`locked` has {name!r} at {position!r}, expected a finite number")
    return {str(name): float(position) for name, position in locked.items()}


def locked_parameters(model: Model) -> Iterator[Parameter]:
    """Yield the parameter of each locked joint."""
    low, high, _ = model.locked_ranges.tolist()
    for k, joint in enumerate(model.locked_joints):
        yield Parameter(
            NAME.format(joint),
            float(model.locked[joint]),
            "where this joint stands, which is not among joints, as long as joint_states does not "
            "tell [rad or m]",
            low[k],
            high[k],
        )


def locked_positions(values: Mapping[str, object], model: Model) -> dict[str, float]:
    """Return where the parameters have the locked joints, as far as there are parameters."""
    names = {joint: NAME.format(joint) for joint in model.locked_joints}
    return {joint: float(values[name]) for joint, name in names.items() if name in values}  # type: ignore[arg-type]


def relevant_joints(model: Model) -> list[str]:
    """Return the locked joints whose position matters to those that move."""
    followed = {joint.joint for joint in model.following().tree.followed}
    return [joint for k, joint in enumerate(model.locked_joints) if k in followed]


def standing(model: Model, at: Floats, heard: Floats, joints: Collection[str]) -> dict[str, str]:
    """Return where some locked joints are taken to stand, and who says so."""
    told = {}
    for joint, place, said in zip(model.locked_joints, at, heard, strict=True):
        if joint in joints:
            source = NAME.format(joint) if np.isnan(said) else "joint_states"
            told[joint] = f"{place:.4g}, as {source} says"
    return told


def absurd_text(joint: str, position: float, low: float, high: float) -> str:
    """Return the text for a position of a locked joint that is not believed."""
    return (
        f"joint_states has {joint!r}, which is not among joints, at {position:.4g}, expected "
        f"{low:.4g} to {high:.4g} rad or m: ignored, it is taken to stand where it was"
    )
