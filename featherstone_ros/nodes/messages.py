"""Messages from bytes that a raw subscription has taken."""

from __future__ import annotations

from typing import Any

import builtin_interfaces.msg
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.errors import MalformedMessageError

# Longer messages are surely a mistake, and are refused before decoding, which would take the
# interpreter a second for every few megabytes. A trajectory of 10,000 points for seven joints, with
# all its fields, has 2.5 MB; the joint states of a humanoid have 10 kB.
LONGEST = 65_536  # [byte]
LONGEST_TRAJECTORY = 4_000_000  # [byte]


def decode(kind: type, message: bytes) -> Any:
    """Decode the bytes that a raw subscription has taken as a message of a type.

    rclpy drops other bytes silently, yet prints several lines to standard error each time.
    """
    longest = LONGEST_TRAJECTORY if kind is JointTrajectory else LONGEST
    if len(message) > longest:
        raise MalformedMessageError(
            f"a {kind.__name__} of {len(message)} bytes, expected at most {longest}: not read"
        )
    try:
        return deserialize_message(message, kind)
    except Exception:  # its type depends on the middleware
        raise MalformedMessageError(f"{len(message)} bytes that are no {kind.__name__}") from None


def seconds(time: builtin_interfaces.msg.Time | builtin_interfaces.msg.Duration) -> float:
    """Return a message's time in seconds, whatever its fields hold."""
    return time.sec + 1e-9 * time.nanosec
