"""The nodes heard on /diagnostics, each with what it said last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from featherstone_ros.text import plain

STATES = ("unconfigured", "inactive", "active", "finalized")
MOST_NODES = 64  # others are passed over
LONGEST_VALUE = 100_000  # the histogram is long
SILENCE = 3.0  # [s] after which a node is called silent: it reports every second


class Level(IntEnum):
    """Levels of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass(frozen=True)
class Note:
    """What a node says of something besides its work, e.g. of the robot description."""

    level: Level
    message: str


@dataclass
class NodeStatus:
    """What one node said last.

    Attributes:
        name: Full name without the leading slash, e.g. ``left/feedforward_controller``.
        state: Of its lifecycle.
        level: Of its own status.
        message: Its status in a line.
        values: Details by name.
        notes: Its further statuses that are not OK, by name.
        heard: Steady time [s].
    """

    name: str
    state: str
    level: Level
    message: str
    values: Mapping[str, str]
    heard: float
    notes: dict[str, Note] = field(default_factory=dict)

    def is_silent(self, now: float) -> bool:
        """Tell whether it has not been heard for longer than it may be."""
        return now - self.heard > SILENCE


class Roster:
    """Picks our nodes out of all diagnostics: they say their lifecycle state."""

    def __init__(self) -> None:
        """Begin without nodes."""
        self._nodes: dict[str, NodeStatus] = {}

    @property
    def conditions(self) -> list[NodeStatus]:
        """All nodes heard so far, by name."""
        return sorted(self._nodes.values(), key=lambda condition: condition.name)

    @property
    def has_error(self) -> bool:
        """Whether a node is at ERROR."""
        return any(
            level >= Level.ERROR
            for condition in self._nodes.values()
            for level in (condition.level, *(note.level for note in condition.notes.values()))
        )

    def hear(self, statuses: Iterable[Any], now: float) -> bool:
        """Take one message.

        Args:
            statuses: diagnostic_msgs/DiagnosticStatus, or what has its fields.
            now: Steady time [s].

        Returns:
            Whether any of it was of one of our nodes.
        """
        heard: dict[str, NodeStatus] = {}
        for status in statuses:
            state = next((item.value for item in status.values if item.key == "state"), "")
            if state not in STATES:
                continue
            name, _, part = plain(status.name).partition(": ")
            level, message = as_level(status.level), plain(status.message)
            if not part and (name in self._nodes or len(self._nodes) < MOST_NODES):
                values = {plain(v.key): v.value[:LONGEST_VALUE] for v in status.values}
                heard[name] = NodeStatus(name, state, level, message, values, now)
                self._nodes[name] = heard[name]
            elif level and name in heard:
                heard[name].notes[part] = Note(level, message)
        return bool(heard)


def as_level(level: bytes | int) -> Level:
    """Return a message's level; an unknown one is ERROR."""
    number = level if isinstance(level, int) else int.from_bytes(level, "little")
    return Level(number) if number in list(Level) else Level.ERROR
