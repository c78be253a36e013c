"""Why compiled code refuses a message, in words.

The enumerations are those of cython_core/ros/messages.pxd and cython_core/ros/refusals.pxd.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from featherstone_ros.errors import UnknownNameError
from featherstone_ros.text import plain

FIELDS = (
    "the encapsulation header",
    "header.stamp",
    "header.frame_id",
    "name",
    "position",
    "velocity",
    "effort",
    "layout",
    "data",
    "force",
    "torque",
)
# In the order of MessageFault.
FAULTS = (
    "",
    "{field} is 0x{claimed:04x}, expected 0x0000 or 0x0001: no plain CDR",
    "{message} ends within {field}",
    "{field} claims a length of {claimed}, but {expected} bytes follow",
    "{field} has {claimed} items, expected at most {MAX_NAMES}",
    "{field} does not end with a zero byte",
    "joints named twice: {joint}",
    "{field} has {claimed} values, expected {expected}",
    "names none of the joints",
)
MAX_NAMES = 1000  # of a message: more are no robot's
# In the order of Reason.
(
    NOT_FINITE,
    BEYOND_BOUND,
    UNKNOWN_JOINT,
    NO_JOINT,
    UNKNOWN_LINK,
    TOO_MANY_LOADS,
    MISSING_JOINTS,
    NOT_MEASURED,
) = range(100, 108)
AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
WORDS = {"data": "command", "force": "wrench"}  # for figures of these fields


def message_fault(
    fault: int, field: int, claimed: int, expected: int, joint: str = "", size: int | None = None
) -> str:
    """Return in words what is wrong with a message.

    Args:
        fault: MessageFault.
        field: Field.
        claimed: Number of items or values in the field.
        expected: How many there should be.
        joint: The joint concerned, if there is one.
        size: Of the message [bytes], None if it is not known.
    """
    return FAULTS[fault].format(
        field=FIELDS[field],
        claimed=claimed,
        expected=expected,
        joint=joint,
        message="the message" if size is None else f"message of {size} bytes",
        MAX_NAMES=MAX_NAMES,
    )


def refusal(
    index: int,
    value: Sequence[float],
    topics: Sequence[str],
    joint_names: Sequence[str],
    link_names: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the topic of a message that was refused, and the reason.

    Args:
        index: Of the record: input, reason, field and what the field is about, 4, 8, 6 and 13 bits.
        value: (4,) figures of the record, or 32 bytes of something else.
        topics: In the order of the cycle's inputs.
        joint_names: Of the arm, then those that messages may name, too.
        link_names: Of the arm.
    """
    topic, reason = topics[index & 0xF], index >> 4 & 0xFF
    field, which = index >> 12 & 0x3F, (index >> 18) - 1
    what = WORDS.get(FIELDS[field], FIELDS[field])
    names = AXES if what == "wrench" else joint_names
    about = names[which] if 0 <= which < len(names) else ""
    if reason < NOT_FINITE:
        size, claimed, expected, _ = map(int, value)
        text = message_fault(reason, field, claimed, expected, about, size)
        return topic, text.replace("data has", "command has")
    return topic, {
        NOT_FINITE: lambda: f"{what} of {about} is {value[0]:g}, expected a finite number",
        BEYOND_BOUND: lambda: (
            f"{what} of {about} is {value[0]:g}, expected at most {value[1]:.15g}"
        ),
        UNKNOWN_JOINT: lambda: (
            f"unknown joints: {name_in(value)}; valid names: {', '.join(joint_names)}"
        ),
        NO_JOINT: lambda: f"no joint named; valid names: {', '.join(joint_names)}",
        UNKNOWN_LINK: lambda: str(UnknownNameError("link", name_in(value), link_names)),
        TOO_MANY_LOADS: lambda: f"wrenches act on {value[0]:g} links already, which is the most",
        MISSING_JOINTS: lambda: f"joints missing: {', '.join(chosen(value, joint_names))}",
        NOT_MEASURED: lambda: f"{what} is empty, expected {value[0]:g} values and more",
    }[reason]()


def name_in(value: Sequence[float]) -> str:
    """Return the text whose first bytes stand where figures would."""
    data = struct.pack("4d", *value)
    text = data.rstrip(b"\0").decode(errors="replace")
    return plain(text + ("…" if data[-1] else ""))


def chosen(value: Sequence[float], names: Sequence[str]) -> list[str]:
    """Return the names for which there is a bit where figures would stand."""
    bits = int.from_bytes(struct.pack("4d", *value), "little")
    return [name for index, name in enumerate(names) if bits >> index & 1]
