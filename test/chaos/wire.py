"""What goes over DDS between the nodes, read and corrupted as bytes."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from corruption import UNREADABLE, Corruption, State
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros.arrays import Floats

NANOSECONDS = 1_000_000_000
HEADER = 4  # bytes of a serialised message that say how it is encoded


class WireCorruption:
    """Corrupts serialised messages: their numbers, or what numbers alone do not have."""

    def __init__(self, random: np.random.Generator) -> None:
        """Draw from ``random``."""
        self._random, self._numbers = random, Corruption(random)

    def state(self, payload: bytes, damage: str) -> bytes:
        """Return a JointState with one sort of damage, see ``episodes.STATE_DAMAGE``."""
        if damage in ("noise", "truncated", "bits flipped"):
            return self._raw(payload, damage)
        message = deserialize_message(payload, JointState)
        joint = int(self._random.integers(len(message.name)))
        if damage == "wrong length":
            message.position.pop()
        elif damage == "empty":
            message.name, message.position, message.velocity, message.effort = [], [], [], []
        elif damage == "joint missing":
            message.name[joint] = "nobody"
        elif damage == "joint twice":
            message.name[joint] = message.name[joint - 1]
        else:
            rows = map(np.array, (message.position, message.velocity, message.effort))
            before = State(stamp_of(payload) / NANOSECONDS, *rows, 0)
            after = self._numbers.state(before, damage)
            message.position, message.velocity, message.effort = map(np.ndarray.tolist, after[1:4])
            if after.stamp != before.stamp:
                message.header.stamp = ros_time(round(after.stamp * NANOSECONDS))
        return serialize_message(message)

    def command(self, payload: bytes, damage: str) -> bytes:
        """Return a Float64MultiArray with one sort of damage, see ``episodes.COMMAND_DAMAGE``."""
        if damage in ("noise", "truncated", "bits flipped"):
            return self._raw(payload, damage)
        message = deserialize_message(payload, Float64MultiArray)
        if damage in UNREADABLE:
            count = self._random.integers(1, len(message.data)) if damage != "empty" else 0
            message.data = message.data[:count]
        else:
            message.data = self._numbers.command(np.array(message.data), damage).tolist()
        return serialize_message(message)

    def _raw(self, payload: bytes, damage: str) -> bytes:
        random, body = self._random, bytearray(payload)
        if damage == "noise":
            return payload[:HEADER] + random.bytes(int(random.integers(0, 2 * len(body))))
        if damage == "truncated":
            return payload[: int(random.integers(HEADER, len(body)))]
        for _ in range(random.integers(1, 9)):
            body[random.integers(HEADER, len(body))] ^= 1 << int(random.integers(8))
        return bytes(body)


def shifted(payload: bytes, offset: float) -> bytes:
    """Return a serialised JointState with its time stamp moved by ``offset`` [s]."""
    message = deserialize_message(payload, JointState)
    message.header.stamp = ros_time(stamp_of(payload) + round(offset * NANOSECONDS))
    return serialize_message(message)


def rows_of(payload: bytes, n: int) -> Floats:
    """Return position, velocity and effort (3, n) of a serialised JointState that has them all."""
    last = np.frombuffer(payload[-8 * (3 * n + 2) :])  # between two: their length, padded
    return np.array([last[k * (n + 1) : k * (n + 1) + n] for k in range(3)])


def stamp_of(payload: bytes) -> int:
    """Return the time stamp of a serialised message that begins with its header [ns]."""
    seconds, nanoseconds = np.frombuffer(payload, "<i4", 2, 4)
    return int(seconds) * NANOSECONDS + int(nanoseconds)


def ros_time(nanoseconds: int) -> Time:
    """Return a time as message."""
    seconds, rest = divmod(max(nanoseconds, 0), NANOSECONDS)
    return Time(sec=seconds, nanosec=rest)
