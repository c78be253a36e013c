"""Messages from bytes, and arrays in joint order for messages that name their joints."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import builtin_interfaces.msg
import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.errors import MalformedMessageError, MessageError
from featherstone_ros.joint_map import Floats, JointMap, field_values, optional_values

__all__ = [
    "JointMap",
    "MessageError",
    "decode",
    "field_values",
    "joint_state",
    "optional_values",
    "require_whole",
    "seconds",
    "whole",
]

# A message that is cut off by one to three bytes arrives as long as before: RTPS fills submessages
# up to multiples of four bytes (DDSI-RTPS 9.4.1), with zeros. Sign and highest exponent bits of its
# last number are zero then: it is between 0 and this, which no effort is.
CUT_OFF = 2.0**-1007

# What is longer than anybody would mean it is refused before it is decoded, which would take the
# interpreter a second for every few megabytes. A trajectory of 10,000 points for seven joints, with
# all its fields, has 2.5 MB; the joint states of a humanoid have 10 kB.
LONGEST = 65_536  # [byte]
LONGEST_TRAJECTORY = 4_000_000  # [byte]


def decode(kind: type, message: bytes) -> Any:
    """Return the message of a type that a raw subscription has taken.

    rclpy passes over bytes that are none without a word to its user, but for each of them several
    lines go to standard error.

    Raises:
        MalformedMessageError: The bytes are no message of this type, or too many.
    """
    longest = LONGEST_TRAJECTORY if kind is JointTrajectory else LONGEST
    if len(message) > longest:
        raise MalformedMessageError(
            f"a {kind.__name__} of {len(message)} bytes, expected at most {longest}: not read"
        )
    try:
        return deserialize_message(message, kind)
    except Exception:  # what it is depends on the middleware
        raise MalformedMessageError(f"{len(message)} bytes that are no {kind.__name__}") from None


def seconds(time: builtin_interfaces.msg.Time | builtin_interfaces.msg.Duration) -> float:
    """Return a message's time in seconds, whatever its fields hold."""
    return time.sec + 1e-9 * time.nanosec


def require_whole(values: Floats, what: str) -> None:
    """Check the array (n,) at the end of a message.

    Raises:
        MalformedMessageError: Its last number is what is left of one that was cut off.
    """
    if is_cut_off(values):
        raise MalformedMessageError(f"{what} ends in {values[-1]:g}: a number that was cut off")


def whole(values: Floats) -> Floats:
    """Make an array (n,) one that ``require_whole`` takes, in place; return it."""
    if is_cut_off(values):
        values[-1] = 0.0
    return values


def is_cut_off(values: Floats) -> bool:
    """Tell whether the last number of an array (n,) is what is left of one that was cut off."""
    return len(values) > 0 and 0.0 < values[-1] < CUT_OFF


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
