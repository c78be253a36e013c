"""Corrupted messages: what broken drivers, broken memory and broken networks send."""

from __future__ import annotations

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

NANOSECONDS = 1_000_000_000
HEADER = 4  # bytes of a serialised message that say how it is encoded


class Corruption:
    """Corrupts serialised messages at random."""

    def __init__(self, random: np.random.Generator) -> None:
        """Draw from ``random``."""
        self._random = random

    def state(self, payload: bytes, damage: str) -> bytes:
        """Return a JointState with one sort of damage, see ``episodes.STATE_DAMAGE``."""
        if (raw := self._raw(payload, damage)) is not None:
            return raw
        message = deserialize_message(payload, JointState)
        self._damage_state(message, damage)
        return serialize_message(message)

    def command(self, payload: bytes, damage: str) -> bytes:
        """Return a Float64MultiArray with one sort of damage, see ``episodes.COMMAND_DAMAGE``."""
        if (raw := self._raw(payload, damage)) is not None:
            return raw
        message = deserialize_message(payload, Float64MultiArray)
        if damage == "wrong length":
            message.data = message.data[: self._random.integers(1, len(message.data))]
        elif damage == "empty":
            message.data = []
        else:
            message.data[self._random.integers(len(message.data))] = self._value(damage)
        return serialize_message(message)

    def _damage_state(self, message: JointState, damage: str) -> None:
        random, n = self._random, len(message.name)
        joint = int(random.integers(n))
        field = getattr(message, str(random.choice(["position", "velocity"])))
        sign = float(random.choice([-1.0, 1.0]))
        if damage == "wrong length":
            field.pop()
        elif damage == "empty":
            message.name, message.position, message.velocity, message.effort = [], [], [], []
        elif damage == "joint missing":
            message.name[joint] = "nobody"
        elif damage == "joint twice":
            message.name[joint] = message.name[(joint + 1) % n]
        elif damage == "position spike":
            message.position[joint] += sign * 10.0 ** random.uniform(-2.0, 2.0)
        elif damage == "velocity spike":
            message.velocity[joint] += sign * 10.0 ** random.uniform(-1.0, 6.0)
        elif damage == "effort spike":
            message.effort[joint] += sign * 10.0 ** random.uniform(2.5, 6.0)
        elif damage == "stamp zero":
            message.header.stamp.sec = message.header.stamp.nanosec = 0
        elif damage == "stamp backward":
            move(message, -(10.0 ** random.uniform(-3.0, 3.0)))
        else:
            field[joint] = self._value(damage)

    def _value(self, damage: str) -> float:
        sign = float(self._random.choice([-1.0, 1.0]))
        huge = 10.0 ** self._random.choice([3.0, 30.0, 300.0])
        return sign * {"nan": np.nan, "inf": np.inf, "huge": huge}[damage]

    def _raw(self, payload: bytes, damage: str) -> bytes | None:
        """Damage the bytes themselves, or return None if the damage is not one of those."""
        random, body = self._random, bytearray(payload)
        if damage == "noise":
            return payload[:HEADER] + random.bytes(int(random.integers(0, 2 * len(body))))
        if damage == "truncated":
            return payload[: int(random.integers(HEADER, len(body)))]
        if damage == "bits flipped":
            for _ in range(random.integers(1, 9)):
                body[random.integers(HEADER, len(body))] ^= 1 << int(random.integers(8))
            return bytes(body)
        return None


def move(message: JointState, offset: float) -> None:
    """Move a message's time stamp by ``offset`` [s]."""
    stamp = message.header.stamp
    time = stamp.sec * NANOSECONDS + stamp.nanosec + round(offset * NANOSECONDS)
    stamp.sec, stamp.nanosec = divmod(max(time, 0), NANOSECONDS)


def shifted(payload: bytes, offset: float) -> bytes:
    """Return a serialised JointState with its time stamp moved by ``offset`` [s]."""
    message = deserialize_message(payload, JointState)
    move(message, offset)
    return serialize_message(message)
