"""Why compiled code refuses a message, in words."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from featherstone_ros._enumerations import ContentFault, Field, MessageFault
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.text import plain

FIELDS = {field: field.name.lower() for field in Field} | {
    Field.ENCAPSULATION: "the encapsulation header",
    Field.STAMP: "header.stamp",
    Field.FRAME: "header.frame_id",
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
CONTENT_FAULTS = {
    ContentFault.NOT_FINITE: "{what} of {about} is {found:g}, expected a finite number",
    ContentFault.BEYOND_BOUND: "{what} of {about} is {found:g}, expected at most {bound:.15g}",
    ContentFault.UNKNOWN_JOINT: "unknown joints: {joint}; valid names: {names}",
    ContentFault.NO_JOINT: "no joint named; valid names: {names}",
    ContentFault.UNKNOWN_LINK: "{link!s}",
    ContentFault.TOO_MANY_LOADS: "wrenches act on {found:g} links already, which is the most",
    ContentFault.MISSING_JOINTS: "joints missing: {missing}",
    ContentFault.NOT_MEASURED: "{what} is empty, expected {found:g} values and more",
}
MAX_NAMES = 1000  # of a message: more are no robot's
AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
WORDS = {"data": "command", "force": "wrench"}  # for figures of these fields


def message_fault(
    fault: int, field: int, claimed: int, expected: int, joint: str = "", size: int | None = None
) -> str:
    """Return in words what is wrong with a message.

    ``claimed``: number of items or values in the field; ``expected``: how many there should be;
    ``joint``: the one concerned; ``size``: of the message [bytes], None: unknown.
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
    if reason < ContentFault.NOT_FINITE:
        size, claimed, expected, _ = map(int, value)
        text = message_fault(reason, field, claimed, expected, about, size)
        return number, text.replace("data has", "command has")
    return number, CONTENT_FAULTS[ContentFault(reason)].format(
        what=what,
        about=about,
        found=value[0],
        bound=value[1],
        names=", ".join(joint_names),
        joint=name_in(value),
        link=UnknownNameError("link", name_in(value), link_names),
        missing=", ".join(chosen(value, joint_names)),
    )


def name_in(value: Sequence[float]) -> str:
    """Return the text whose first bytes stand where figures would."""
    data = struct.pack("4d", *value)
    text = data.rstrip(b"\0").decode(errors="replace")
    return plain(text + ("…" if data[-1] else ""))


def chosen(value: Sequence[float], names: Sequence[str]) -> list[str]:
    """Return the names for which there is a bit where figures would stand."""
    bits = int.from_bytes(struct.pack("4d", *value), "little")
    return [name for index, name in enumerate(names) if bits >> index & 1]
