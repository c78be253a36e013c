"""Why compiled code refuses a message, in words (enumerations of cython_core/ros/messages.pxd)."""

from __future__ import annotations

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
    "the bytes are no plain CDR",
    "{message} ends within {field}",
    "{field} claims a length of {claimed}, more than follows",
    "{field} has {claimed} items, expected at most {MOST_NAMES}",
    "{field} does not end with a zero byte",
    "joints named twice: {joint}",
    "{field} has {claimed} values, expected {expected}",
    "names none of the joints",
)
MOST_NAMES = 1000  # of a message: more are no robot's


def message_fault(
    fault: int, field: int, claimed: int, expected: int, joint: str = "", size: int | None = None
) -> str:
    """Return in words what is wrong with a message.

    Args:
        fault: MessageFault.
        field: Field.
        claimed: Number of items or values in the field.
        expected: How many there should be.
        joint: The joint that it is about, if there is one.
        size: Of the message [bytes], None if it is not known.
    """
    return FAULTS[fault].format(
        field=FIELDS[field],
        claimed=claimed,
        expected=expected,
        joint=joint,
        message="the message" if size is None else f"message of {size} bytes",
        MOST_NAMES=MOST_NAMES,
    )
