"""Mimic joints: resolves chains of followers to their free leader.

How the algorithms couple followers to their leader: "coupled" in cython_core/dynamics/system.pxd.
"""

from collections.abc import Mapping

from featherstone_ros.errors import ModelError
from featherstone_ros.model.arguments import HUGE
from featherstone_ros.model.robot_description import Joint, Mimic, RobotDescription, name_list


def resolve_mimics(robot: RobotDescription) -> dict[str, Mimic]:
    """Return each follower's final leader, with multipliers and offsets of the chain combined.

    A joint whose leader does not exist is not a follower: real files have such joints (the Alex
    humanoid with Psyonic hands), with drives of their own.
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
