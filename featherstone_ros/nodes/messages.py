"""Messages from bytes, and arrays in joint order for messages that name their joints."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from featherstone_ros.errors import MalformedMessageError, MessageError
from featherstone_ros.joint_map import Floats, JointMap, field_values, optional_values

__all__ = ["JointMap", "MessageError", "decode", "field_values", "joint_state", "optional_values"]


def decode(kind: type, message: bytes) -> Any:
    """Return the message of a type that a raw subscription has taken.

    rclpy passes over bytes that are none without a word to its user, but for each of them several
    lines go to standard error.

    Raises:
        MalformedMessageError: The bytes are no message of this type.
    """
    try:
        return deserialize_message(message, kind)
    except Exception:  # what it is depends on the middleware
        raise MalformedMessageError(f"{len(message)} bytes that are no {kind.__name__}") from None


def joint_state(joint_names: Sequence[str]) -> tuple[JointState, Floats, Floats, Floats]:
    """Make a JointState to be published over and over.

    Returns:
        The message, and its position, velocity and effort as (n,) arrays: what is written into
        them is what the next ``publish`` sends.
    """
    count = len(joint_names)
    message = JointState(name=list(joint_names))
    message.position = array("d", bytes(8 * count))
    message.velocity = array("d", bytes(8 * count))
    message.effort = array("d", bytes(8 * count))
    return (
        message,
        np.frombuffer(message.position),
        np.frombuffer(message.velocity),
        np.frombuffer(message.effort),
    )
