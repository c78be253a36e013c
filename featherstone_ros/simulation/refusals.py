"""Why a twin refused a message, in words, from the record that compiled code made of it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from featherstone_ros._twin import INPUTS
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.message_faults import FIELDS, message_fault
from featherstone_ros.text import plain

# Reason in cython_core/simulation/cycle.pxi
(
    NOT_FINITE,
    ABSURD,
    CUT_OFF_NUMBER,
    UNKNOWN_JOINT,
    NO_JOINT,
    UNKNOWN_LINK,
    TOO_MANY,
) = range(100, 107)
AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
TOPICS = {
    INPUTS["commands"]: "~/commands",
    INPUTS["joint_commands"]: "~/joint_commands",
    INPUTS["external_wrench"]: "~/external_wrench",
    INPUTS["set_state"]: "~/set_state",
}


def refusal(
    index: int, value: Sequence[float], joint_names: Sequence[str], link_names: Sequence[str]
) -> tuple[str, str]:
    """Return the topic and the reason.

    Args:
        index: Of the record: input, reason, field and what the field is about, 4, 8, 6 and 13 bits.
        value: (4,) figures of the record, or the first 32 bytes of a name.
        joint_names: Of the arm, then those that messages may name, too.
        link_names: Of the arm.
    """
    topic, reason = TOPICS[index & 0xF], index >> 4 & 0xFF
    field, which = index >> 12 & 0x3F, (index >> 18) - 1
    is_wrench = topic == "~/external_wrench"
    names = AXES if is_wrench else joint_names
    what = {"data": "command", "force": "wrench"}.get(FIELDS[field], FIELDS[field])
    about = names[which] if 0 <= which < len(names) else ""
    if reason < NOT_FINITE:
        size, claimed, expected, _ = map(int, value)
        text = message_fault(reason, field, claimed, expected, about, size)
        if FIELDS[field] == "data":
            text = text.replace("data has", "command has")
        return topic, text
    return topic, {
        NOT_FINITE: lambda: f"{what} of {about} is {value[0]:g}, expected a finite number",
        ABSURD: lambda: f"{what} of {about} is {value[0]:g}, expected at most 10000",
        CUT_OFF_NUMBER: lambda: f"{FIELDS[field]} ends in {value[0]:g}: a number that was cut off",
        UNKNOWN_JOINT: lambda: (
            f"unknown joints: {name_in(value)}; valid names: {', '.join(joint_names)}"
        ),
        NO_JOINT: lambda: f"no joint named; valid names: {', '.join(joint_names)}",
        UNKNOWN_LINK: lambda: str(UnknownNameError("link", name_in(value), link_names)),
        TOO_MANY: lambda: f"wrenches act on {value[0]:g} links already, which is the most",
    }[reason]()


def name_in(value: Sequence[float]) -> str:
    """Return the text whose first bytes stand where figures would."""
    data = struct.pack("4d", *value)
    text = data.rstrip(b"\0").decode(errors="replace")
    return plain(text + ("…" if data[-1] else ""))
