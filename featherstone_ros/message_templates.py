"""Messages with zeros as figures, which compiled code overwrites in place.

They are CDR as DDS carries it: XCDR1, little-endian. No ROS is needed. Names raise a ValueError if
CDR cannot hold them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

HEADER = b"\0\1\0\0"  # of the encapsulation
DOUBLE = 8  # [byte]

# A message on a floating base, and the offsets of its stamp (int32, uint32), pose (position,
# quaternion x y z w) and twist (linear, angular), both as doubles; 0: it has no twist.
BaseMessage = tuple[bytes, int, int, int]


class _Writer:
    """A message being built."""

    def __init__(self) -> None:
        self.data = bytearray(HEADER)

    def add_length(self, value: int) -> int:
        """Append a number of 4 bytes; return its offset from the message's beginning."""
        self.data += bytes(-len(self.data) % 4) + struct.pack("<I", value)
        return len(self.data) - 4

    def add_string(self, text: str, field: str) -> None:
        if "\0" in text:
            raise ValueError(f"{field} is {text!r}, expected no zero byte within")
        data = text.encode() + b"\0"
        self.add_length(len(data))
        self.data += data

    def add_header(self, frame_id: str) -> int:
        """Append a std_msgs/Header; return the offset of its stamp."""
        stamp = self.add_length(0)
        self.add_length(0)
        self.add_string(frame_id, "frame_id")
        return stamp

    def add_doubles(self, count: int) -> int:
        """Append zeros; return the offset of the first."""
        padding = -(len(self.data) - len(HEADER)) % DOUBLE if count else 0
        self.data += bytes(padding + DOUBLE * count)
        return len(self.data) - DOUBLE * count

    def add_sequence(self, count: int) -> None:
        """Append a float64[] of zeros."""
        self.add_length(count)
        self.add_doubles(count)


def joint_state(joint_names: Sequence[str], frame_id: str = "") -> bytes:
    """Return a sensor_msgs/JointState with position, velocity and effort."""
    writer = _Writer()
    writer.add_header(frame_id)
    writer.add_length(len(joint_names))
    for name in joint_names:
        writer.add_string(name, "joint name")
    for _ in range(3):
        writer.add_sequence(len(joint_names))
    return bytes(writer.data)


def float64_multi_array(count: int) -> bytes:
    """Return a std_msgs/Float64MultiArray with an empty layout."""
    writer = _Writer()
    writer.add_length(0)  # layout.dim
    writer.add_length(0)  # layout.data_offset
    writer.add_sequence(count)
    return bytes(writer.data)


def stamped(frame_id: str, count: int) -> bytes:
    """Return a std_msgs/Header and ``count`` doubles.

    This is the layout of a geometry_msgs/PoseStamped, TwistStamped or WrenchStamped.
    """
    writer = _Writer()
    writer.add_header(frame_id)
    writer.add_doubles(count)
    return bytes(writer.data)


def odometry(frame_id: str, child_frame_id: str) -> BaseMessage:
    """Return a nav_msgs/Odometry: twist in the child's axes, zero covariances."""
    writer = _Writer()
    stamp = writer.add_header(frame_id)
    writer.add_string(child_frame_id, "child_frame_id")
    pose = writer.add_doubles(7)
    writer.add_doubles(36)
    twist = writer.add_doubles(6)
    writer.add_doubles(36)
    return bytes(writer.data), stamp, pose, twist


def tf_message(frame_id: str, child_frame_id: str) -> BaseMessage:
    """Return a tf2_msgs/TFMessage with one transform."""
    writer = _Writer()
    writer.add_length(1)
    stamp = writer.add_header(frame_id)
    writer.add_string(child_frame_id, "child_frame_id")
    pose = writer.add_doubles(7)
    return bytes(writer.data), stamp, pose, 0
