"""Why compiled code refuses a message, in words (enumerations of cython_core/ros/messages.pxd)."""

from __future__ import annotations

from collections.abc import Callable

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
TEXTS: dict[int, Callable[[str, int, int, int, str], str]] = {
    1: lambda field, size, claimed, expected, joint: "the bytes are no plain CDR",
    2: lambda field, size, claimed, expected, joint: f"message of {size} bytes ends within {field}",
    3: lambda field, size, claimed, expected, joint: (
        f"{field} claims a length of {claimed}, more than follows in a message of {size} bytes"
    ),
    4: lambda field, size, claimed, expected, joint: f"{field} has {claimed} items, too many",
    5: lambda field, size, claimed, expected, joint: f"{field} does not end with a zero byte",
    6: lambda field, size, claimed, expected, joint: f"joints named twice: {joint}",
    7: lambda field, size, claimed, expected, joint: (
        f"{field} has {claimed} values, expected {expected}"
    ),
    8: lambda field, size, claimed, expected, joint: "names none of the joints",
}


def message_fault(
    fault: int, field: int, size: int, claimed: int, expected: int, joint: str = ""
) -> str:
    """Return in words what is wrong with a message.

    Args:
        fault: MessageFault.
        field: Field.
        size: Of the message [bytes].
        claimed: Number of items or values in the field.
        expected: How many there should be.
        joint: The joint that it is about, if there is one.
    """
    return TEXTS[fault](FIELDS[field], size, claimed, expected, joint)
