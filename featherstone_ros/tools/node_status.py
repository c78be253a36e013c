"""What is heard of nodes: the last status of each on /diagnostics, values of joints in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.diagnostics import DiagnosticLevel
from featherstone_ros.model import Model
from featherstone_ros.text import plain

STATES = ("unconfigured", "inactive", "active", "finalized")
MAX_NODES = 64  # further ones are ignored
LONGEST_VALUE = 100_000  # [characters] the histogram is long
SILENCE = 3.0  # [s] after which a node is called silent: it reports every second
SAY = 2.0  # [s] of waiting for a node until it is said what for
PATIENCE = 30.0  # [s] of waiting until it is given up: the machine may be busy


@dataclass(frozen=True)
class Note:
    """A further status of a node, e.g. on the robot description."""

    level: DiagnosticLevel
    message: str


@dataclass
class NodeStatus:
    """The last status of one node."""

    name: str  # full name without the leading slash, e.g. ``left/feedforward_controller``
    state: str  # of its lifecycle
    level: DiagnosticLevel  # of its own status
    message: str  # its own status in one line
    values: Mapping[str, str]  # details by name
    heard: float  # steady time of the last message [s]
    # its further statuses that are not OK, by name
    notes: dict[str, Note] = field(default_factory=dict)

    @property
    def has_abandoned(self) -> bool:
        """Whether a controller has abandoned its last motion."""
        return self.values.get("motion abandoned") == "yes"

    def is_silent(self, now: float, after: float = SILENCE) -> bool:
        """Tell whether the last message is older than that [s]."""
        return now - self.heard > after


class StatusTable:
    """The nodes of this package among all diagnostics: those that report a lifecycle state."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._nodes: dict[str, NodeStatus] = {}

    @property
    def nodes(self) -> list[NodeStatus]:
        """All nodes heard so far, sorted by name."""
        return sorted(self._nodes.values(), key=lambda node: node.name)

    @property
    def has_error(self) -> bool:
        """Whether a node is at ERROR."""
        return any(
            level >= DiagnosticLevel.ERROR
            for node in self._nodes.values()
            for level in (node.level, *(note.level for note in node.notes.values()))
        )

    def hear(self, statuses: Iterable[Any], now: float) -> bool:
        """Take one message.

        ``now``: steady time [s]. Returns whether any of them came from a node of this package.
        """
        heard: dict[str, NodeStatus] = {}
        for status in statuses:
            state = next((item.value for item in status.values if item.key == "state"), "")
            if state not in STATES:
                continue
            name, _, part = plain(status.name).partition(": ")
            level, message = as_level(status.level), plain(status.message)
            if not part and (name in self._nodes or len(self._nodes) < MAX_NODES):
                values = {plain(v.key): v.value[:LONGEST_VALUE] for v in status.values}
                heard[name] = NodeStatus(name, state, level, message, values, now)
                self._nodes[name] = heard[name]
            elif level and name in heard:
                heard[name].notes[part] = Note(level, message)
        return bool(heard)


def as_level(level: bytes | int) -> DiagnosticLevel:
    """Return a message's level; an unknown one is ERROR."""
    number = level if isinstance(level, int) else int.from_bytes(level, "little")
    return DiagnosticLevel(number) if number in list(DiagnosticLevel) else DiagnosticLevel.ERROR


def by_joint(names: Sequence[str], values: Sequence[float], model: Model) -> Floats | None:
    """Return a message's values in the model's order; None if one is missing."""
    found = dict(zip(names, values, strict=False))
    if not set(model.joint_names) <= set(found):
        return None
    return np.array([found[joint] for joint in model.joint_names])
