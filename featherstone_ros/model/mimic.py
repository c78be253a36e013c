"""Mimic joints: what each follows in the end.

In the algorithms a leader carries its followers: see "coupled" in cython_core/dynamics/system.pxd.
"""

from collections.abc import Mapping

from featherstone_ros.errors import ModelError
from featherstone_ros.model.arguments import HUGE
from featherstone_ros.model.urdf import Joint, Mimic, RobotDescription, name_list


def resolve_mimics(robot: RobotDescription) -> dict[str, Mimic]:
    """Return what each follower follows in the end, chains multiplied out.

    A joint that names a leader the robot does not have is not a follower: real files (the Alex
    humanoid with Psyonic hands) are like that, and their joints have drives of their own.

    Raises:
        ModelError: Followers follow each other in a circle, or multiplied out are out of bounds.
    """
    joints = {joint.name: joint for joint in robot.joints}
    resolved: dict[str, Mimic] = {}
    for name in joints:
        chain: dict[str, Mimic] = {}
        while name not in resolved and (mimic := _known_mimic(joints[name], joints)):
            if name in chain:
                loop = name_list(list(chain))
                raise ModelError(f"<mimic> of joints {loop} forms a loop, expected a free leader")
            chain[name] = mimic
            name = mimic.leader
        for follower, mimic in reversed(chain.items()):
            whole = resolved[follower] = _compose(mimic, resolved.get(mimic.leader))
            if not max(abs(whole.multiplier), abs(whole.offset)) < HUGE:
                raise ModelError(
                    f"joint {follower!r}: <mimic> comes to {whole.multiplier:g} * {whole.leader!r} "
                    f"+ {whole.offset:g}, expected values below {HUGE:g}"
                )
    return resolved


def orphans(robot: RobotDescription) -> list[str]:
    """Return the joints whose ``<mimic>`` names a leader that the robot does not have."""
    names = {joint.name for joint in robot.joints}
    return [j.name for j in robot.joints if j.mimic is not None and j.mimic.leader not in names]


def _known_mimic(joint: Joint, joints: Mapping[str, Joint]) -> Mimic | None:
    return joint.mimic if joint.mimic is not None and joint.mimic.leader in joints else None


def _compose(mimic: Mimic, of_leader: Mimic | None) -> Mimic:
    if of_leader is None:
        return mimic
    return Mimic(
        of_leader.leader,
        mimic.multiplier * of_leader.multiplier,
        mimic.multiplier * of_leader.offset + mimic.offset,
    )
