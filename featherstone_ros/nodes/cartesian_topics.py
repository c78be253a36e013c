"""Topics of mode cartesian_impedance: targets of the end effector, and their frames."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats, finite_array
from featherstone_ros.control.cartesian_impedance import one_pose
from featherstone_ros.errors import MessageError
from featherstone_ros.model import Model


def frame_pose(
    frame: str, tip: str, model: Model, dynamics: Dynamics, q: Floats, unknown: Collection[str]
) -> Floats:
    """Return the pose (4, 4) of a ``frame_id`` in the base frame, with the arm at q (n,)."""
    if frame in ("", model.base_link):
        return np.eye(4)
    if frame not in model.link_names:
        raise MessageError(
            f"header.frame_id is {frame!r}, expected {model.base_link!r}, nothing or a link: "
            + ", ".join(model.link_names)
        )
    links, locked = model.link_names, model.tree.link_locked
    own = locked[links.index(tip)] if tip else frozenset()
    if between := (locked[links.index(frame)] - own) & frozenset(unknown):
        raise MessageError(
            f"header.frame_id is {frame!r}, which lies beyond {', '.join(sorted(between))}: not "
            "among `joints`, and joint_states does not tell its position; expected "
            f"{model.base_link!r} or a link of this arm"
        )
    return dynamics.link_pose(q, frame)


def target_of(
    message: PoseStamped | TwistStamped | WrenchStamped, frame: Floats
) -> dict[str, Floats]:
    """Return the target's ``pose`` (4, 4), or ``twist`` or ``wrench`` (6,), in the base frame.

    ``frame``: (4, 4) that of the message.
    """
    try:
        if isinstance(message, PoseStamped):
            position, turn = message.pose.position, message.pose.orientation
            return {"pose": frame @ one_pose("pose", [*vector(position), *vector(turn), turn.w])}
        if isinstance(message, TwistStamped):
            name, linear, angular = "twist", message.twist.linear, message.twist.angular
        else:
            name, linear, angular = "wrench", message.wrench.force, message.wrench.torque
        both = finite_array(name, [*vector(linear), *vector(angular)]).reshape(2, 3)
    except ValueError as error:
        raise MessageError(str(error)) from None
    return {name: (both @ frame[:3, :3].T).reshape(6)}


def vector(message: Any) -> tuple[float, float, float]:
    """Return x, y, z."""
    return message.x, message.y, message.z
