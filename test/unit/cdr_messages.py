"""Writes the codec's two messages in plain Python: either byte order, any padding, any field."""

import struct
from functools import lru_cache


class Writer:
    """Appends aligned values to a message; ``padding`` is what stands in the gaps."""

    def __init__(self, big_endian=False, padding=0):
        self.order, self.padding = ">" if big_endian else "<", padding
        self.data = b""

    def add(self, code, *values):
        if values:
            self.data += bytes([self.padding]) * (-len(self.data) % struct.calcsize(code))
            self.data += struct.pack(f"{self.order}{len(values)}{code}", *values)

    def add_string(self, text):
        encoded = text if isinstance(text, bytes) else text.encode() + b"\0"
        self.add("I", len(encoded))
        self.data += encoded

    def add_doubles(self, values):
        self.add("I", len(values))
        self.add("d", *values)

    @property
    def message(self):
        return (b"\0\0\0\0" if self.order == ">" else b"\0\1\0\0") + self.data


def joint_state(names, position, velocity=(), effort=(), stamp=(0, 0), frame_id="", **options):
    """Return a sensor_msgs/JointState; names given as bytes are written without an end."""
    writer = Writer(**options)
    writer.add("i", stamp[0])
    writer.add("I", stamp[1])
    writer.data += _named(frame_id, tuple(names), **options)
    for values in (position, velocity, effort):
        writer.add_doubles(values)
    return writer.message


@lru_cache(16)
def _named(frame_id, names, **options):
    """Return what stands between stamp and numbers, which a rig sends again and again."""
    writer = Writer(**options)
    writer.add_string(frame_id)
    writer.add("I", len(names))
    for name in names:
        writer.add_string(name)
    return writer.data


def float64_multi_array(values, dimensions=(), offset=0, **options):
    """Return a std_msgs/Float64MultiArray; a dimension is (label, size, stride)."""
    writer = Writer(**options)
    writer.add("I", len(dimensions))
    for label, size, stride in dimensions:
        writer.add_string(label)
        writer.add("I", size, stride)
    writer.add("I", offset)
    writer.add_doubles(values)
    return writer.message


def wrench_stamped(frame_id, wrench, stamp=(0, 0), **options):
    """Return a geometry_msgs/WrenchStamped."""
    writer = Writer(**options)
    writer.add("i", stamp[0])
    writer.add("I", stamp[1])
    writer.add_string(frame_id)
    writer.add("d", *wrench)
    return writer.message
