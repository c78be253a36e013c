"""Why a twin refused a message: text from the record of the compiled code."""

from __future__ import annotations

from collections.abc import Sequence

from featherstone_ros import message_faults
from featherstone_ros._twin import INPUTS

TOPICS = tuple(f"~/{name}" for name in sorted(INPUTS, key=lambda name: INPUTS[name]))


def refusal(
    index: int, value: Sequence[float], joint_names: Sequence[str], link_names: Sequence[str]
) -> tuple[str, str]:
    """Return the topic and the reason, see ``message_faults.refusal``."""
    return message_faults.refusal(index, value, TOPICS, joint_names, link_names)
