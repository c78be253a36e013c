"""Which joints are free, which follow others and which are locked."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.model.mimic import resolve_mimics
from featherstone_ros.model.robot_description import Mimic, RobotDescription, name_list


class UnknownJointError(ModelError, UnknownNameError):
    """A name in ``joints`` or ``locked`` that is not a free joint of the robot."""


@dataclass(frozen=True, slots=True)
class JointSelection:
    """How each moving joint of a URDF is treated: it is in exactly one of the three.

    Attributes:
        joint_names: The free joints: entry k of every array of positions, speeds or torques.
        mimics: Followers of the free joints, chains multiplied out.
        locked: Constant positions [rad or m], followers of locked joints included.
    """

    joint_names: tuple[str, ...]
    mimics: dict[str, Mimic]
    locked: dict[str, float]


def choose(
    robot: RobotDescription,
    joints: Iterable[str] | None = None,
    locked: Mapping[str, float] | None = None,
) -> JointSelection:
    """Decide which joints are free.

    Args:
        robot: The checked URDF.
        joints: The free joints in the order wanted; None takes all that are not ``locked``, in
            document order. A joint left out is locked.
        locked: Positions of locked joints [rad or m]; 0 for those not named.

    Raises:
        ModelError: A name is unknown, repeated, in both arguments or a follower's; a position is
            not finite; or followers form a loop.
    """
    followers = resolve_mimics(robot)
    moving = [j.name for j in robot.joints if j.moves and j.name not in followers]
    afloat = [j.name for j in robot.joints if j.type == "floating"]
    candidates = [name for name in moving if name not in afloat]
    positions = _finite_positions(locked or {})
    if isinstance(joints, (str, bytes)):
        raise ModelError(f"joints is {joints!r}, expected a sequence of joint names")
    free = tuple(moving if joints is None else map(str, joints))
    for name in free:
        if name in afloat:
            raise ModelError(
                f"joint {name!r} is floating: six single degrees of freedom in its place would be "
                'singular in some orientation; expected base="floating", if the whole robot hangs '
                "on it; or `joints` without it, which locks it; or three prismatic and three "
                "revolute joints instead, with the singular orientation out of reach"
            )
    _check_names("joints", free, candidates, followers)
    _check_names("locked", tuple(positions), candidates, followers)
    if joints is None:
        free = tuple(name for name in free if name not in positions)
    both = [name for name in free if name in positions]
    if both:
        raise ModelError(
            f"joints {name_list(both)} are in both `joints` and `locked`, expected in one"
        )

    chosen = set(free)
    constant = {name: positions.get(name, 0.0) for name in moving if name not in chosen}
    mimics = {}
    for name, mimic in followers.items():
        if mimic.leader in chosen:
            mimics[name] = mimic
        else:  # a fixed leader stays at 0
            constant[name] = mimic.multiplier * constant.get(mimic.leader, 0.0) + mimic.offset
    return JointSelection(free, mimics, constant)


def _check_names(
    argument: str,
    names: Sequence[str],
    candidates: Iterable[str],
    followers: Mapping[str, Mimic],
) -> None:
    valid = frozenset(candidates)
    for name, count in Counter(names).items():
        if name in followers:
            leader = followers[name].leader
            raise ModelError(
                f"`{argument}` has {name!r}, which follows {leader!r}: expected the leader instead"
            )
        if name not in valid:
            raise UnknownJointError(f"moving joint (in `{argument}`)", name, valid)
        if count > 1:
            raise ModelError(f"`{argument}` has {name!r} {count} times, expected once")


def _finite_positions(locked: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(locked, Mapping):
        raise ModelError(f"locked is {locked!r}, expected a mapping from joint names to positions")
    for name, position in locked.items():
        if not isinstance(position, Real) or not math.isfinite(position):
            raise ModelError(f"`locked` has {name!r} at {position!r}, expected a finite number")
    return {str(name): float(position) for name, position in locked.items()}
