"""Why compiled code refuses a message, in words."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from featherstone_ros._enumerations import Field, MessageFault, Reason
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.text import plain

FIELDS = {
    Field.ENCAPSULATION: "the encapsulation header",
    Field.STAMP: "header.stamp",
    Field.FRAME: "header.frame_id",
    Field.NAME: "name",
    Field.POSITION: "position",
    Field.VELOCITY: "velocity",
    Field.EFFORT: "effort",
    Field.LAYOUT: "layout",
    Field.DATA: "data",
    Field.FORCE: "force",
    Field.TORQUE: "torque",
}
FAULTS = {
    MessageFault.NOT_PLAIN_CDR: (
        "{field} is 0x{claimed:04x}, expected 0x0000 or 0x0001: no plain CDR"
    ),
    MessageFault.CUT_OFF: "{message} ends within {field}",
    MessageFault.TOO_LONG: "{field} claims a length of {claimed}, but {expected} bytes follow",
    MessageFault.TOO_MANY: "{field} has {claimed} items, expected at most {MAX_NAMES}",
    MessageFault.NOT_TERMINATED: "{field} does not end with a zero byte",
    MessageFault.NAMED_TWICE: "joints named twice: {joint}",
    MessageFault.OTHER_LENGTH: "{field} has {claimed} values, expected {expected}",
    MessageFault.FOREIGN: "names none of the joints",
}
MAX_NAMES = 1000  # of a message: more are no robot's
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
    return FAULTS[MessageFault(fault)].format(
        field=FIELDS[Field(field)],
        claimed=claimed,
        expected=expected,
        joint=joint,
        message="the message" if size is None else f"message of {size} bytes",
        MAX_NAMES=MAX_NAMES,
    )


def refusal(
    index: int,
    value: Sequence[float],
    joint_names: Sequence[str],
    link_names: Sequence[str] = (),
) -> tuple[int, str]:
    """Return the input of a message that was refused, and the reason.

    Args:
        index: Of the record: input, reason, field and what the field is about, 4, 8, 6 and 13 bits.
        value: (4,) figures of the record, or 32 bytes of something else.
        joint_names: Of the arm, then those that messages may name, too.
        link_names: Of the arm.
    """
    number, reason = index & 0xF, index >> 4 & 0xFF
    field, which = index >> 12 & 0x3F, (index >> 18) - 1
    what = WORDS.get(FIELDS[field], FIELDS[field])
    names = AXES if what == "wrench" else joint_names
    about = names[which] if 0 <= which < len(names) else ""
    if reason < Reason.NOT_FINITE:
        size, claimed, expected, _ = map(int, value)
        text = message_fault(reason, field, claimed, expected, about, size)
        return number, text.replace("data has", "command has")
    return number, {
        Reason.NOT_FINITE: lambda: f"{what} of {about} is {value[0]:g}, expected a finite number",
        Reason.BEYOND_BOUND: lambda: (
            f"{what} of {about} is {value[0]:g}, expected at most {value[1]:.15g}"
        ),
        Reason.UNKNOWN_JOINT: lambda: (
            f"unknown joints: {name_in(value)}; valid names: {', '.join(joint_names)}"
        ),
        Reason.NO_JOINT: lambda: f"no joint named; valid names: {', '.join(joint_names)}",
        Reason.UNKNOWN_LINK: lambda: str(UnknownNameError("link", name_in(value), link_names)),
        Reason.TOO_MANY_LOADS: lambda: (
            f"wrenches act on {value[0]:g} links already, which is the most"
        ),
        Reason.MISSING_JOINTS: lambda: f"joints missing: {', '.join(chosen(value, joint_names))}",
        Reason.NOT_MEASURED: lambda: f"{what} is empty, expected {value[0]:g} values and more",
    }[Reason(reason)]()


def name_in(value: Sequence[float]) -> str:
    """Return the text whose first bytes stand where figures would."""
    data = struct.pack("4d", *value)
    text = data.rstrip(b"\0").decode(errors="replace")
    return plain(text + ("…" if data[-1] else ""))


def chosen(value: Sequence[float], names: Sequence[str]) -> list[str]:
    """Return the names for which there is a bit where figures would stand."""
    bits = int.from_bytes(struct.pack("4d", *value), "little")
    return [name for index, name in enumerate(names) if bits >> index & 1]
