"""Topics of mode cartesian_impedance: targets of the end effector, and their frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import finite_array, one_pose
from featherstone_ros.control.end_effector import end_effector_jacobian
from featherstone_ros.errors import MessageError
from featherstone_ros.model import Model


def frame_pose(frame: str, model: Model, dynamics: Dynamics, q: Floats) -> Floats:
    """Return the pose (4, 4) of a message's frame in the base frame, now.

    Raises:
        MessageError: The frame is neither empty nor a link.
    """
    if frame in ("", model.base_link):
        return np.eye(4)
    if frame not in model.link_names:
        raise MessageError(
            f"header.frame_id is {frame!r}, expected {model.base_link!r}, nothing or a link: "
            + ", ".join(model.link_names)
        )
    return dynamics.link_pose(q, frame)


def pose_of(message: PoseStamped, frame: Floats) -> Floats:
    """Return a target pose in the base frame, (4, 4).

    Raises:
        MessageError: It is not finite, or its quaternion's length is not 1.
    """
    position, orientation = message.pose.position, message.pose.orientation
    numbers = [*vector(position), *vector(orientation), orientation.w]
    try:
        return frame @ one_pose("pose", numbers)
    except ValueError as error:
        raise MessageError(str(error)) from None


def twist_of(message: TwistStamped, frame: Floats) -> Floats:
    """Return a target velocity (6,) in base axes, linear first.

    Raises:
        MessageError: It is not finite.
    """
    return turned("twist", message.twist.linear, message.twist.angular, frame)


def wrench_of(message: WrenchStamped, frame: Floats) -> Floats:
    """Return a wrench (6,) in base axes, force first.

    Raises:
        MessageError: It is not finite.
    """
    return turned("wrench", message.wrench.force, message.wrench.torque, frame)


def turned(name: str, linear: Any, angular: Any, frame: Floats) -> Floats:
    """Return two vectors in base axes, (6,)."""
    try:
        numbers = finite_array(name, [*vector(linear), *vector(angular)])
    except ValueError as error:
        raise MessageError(str(error)) from None
    return (numbers.reshape(2, 3) @ frame[:3, :3].T).reshape(6)


def vector(message: Any) -> tuple[float, float, float]:
    """Return x, y, z."""
    return message.x, message.y, message.z


def singular_values(dynamics: Dynamics, q: Floats, tip: str, offset: Floats) -> Floats:
    """Return those of the end effector's Jacobian (6, n), largest first."""
    J = end_effector_jacobian(dynamics, q, tip, offset)
    return np.asarray(np.linalg.svd(J, compute_uv=False), dtype=np.float64)
