"""The controller's phases and the events that lead from one to another, in one table.

``python -m featherstone_ros.control.phases`` prints it as a picture (Graphviz), with
``--table`` as Markdown; docs/phases.md shows both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import IntEnum


class Phase(IntEnum):
    """A phase of the controller; ``text`` is its name in the diagnostics."""

    INACTIVE = 0, "inactive", "no commands"
    WAITING = 1, "waiting for a joint state", "active; no commands yet"
    FLOATING = 2, "gravity compensation", "the arm is carried, nothing is followed"
    HOLDING = 3, "hold", "comes to rest and stays there"
    TRAJECTORY = 4, "trajectory", "follows a trajectory"
    REFERENCE = 5, "reference", "follows streamed set-points"
    DAMPED = 6, "gravity hold", "gravity and damping, until the cause is over"
    FAULT = 7, "fault", "gravity and damping, until it is asked to hold"
    BLIND = 8, "blind stop", "no usable joint states: brakes by the model, for give_up_after"
    SILENT = 9, "silent", "no commands until the next usable joint state"
    STOPPING = 10, "stopping", "leaving: comes to rest"
    SETTLING = 11, "settling", "leaving: gravity and damping until the arm stands"
    LEAVING_BLIND = 12, "leaving, blind stop", "leaving, without usable joint states"

    text: str
    meaning: str

    def __new__(cls, value: int, text: str = "", meaning: str = "") -> Phase:
        """Make a member from its number, its name in the diagnostics, and its meaning."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.text, member.meaning = text, meaning
        return member


class Event(IntEnum):
    """An event that may change the phase; ``text`` describes it."""

    ACTIVATE = 0, "activate"
    DEACTIVATE = 1, "deactivate, shutdown or a signal"
    STATE = 2, "a usable joint state"
    STATES_STOPPED = 3, "no usable joint state for state_timeout"
    GIVE_UP = 4, "give_up_after is over"
    FOLLOW = 5, "a trajectory"
    ARRIVED = 6, "the trajectory has ended"
    SET_POINT = 7, "a set-point"
    SET_POINTS_STOPPED = 8, "no set-point for reference_timeout"
    HOLD = 9, "asked to hold"
    ABANDON = 10, "off the path, a gap in the states, or Python gives no sign of life"
    FALL_BACK = 11, "commands too late, or not finite"
    RECOVER = 12, "that is over"
    FAIL = 13, "too fast, oscillating, or abandoned too often"
    FLOAT = 14, "mode gravity_compensation"
    TRACK = 15, "another mode"
    STOPPED = 16, "stop_time is over"
    SETTLED = 17, "the arm stands and give_up_after is over"

    text: str

    def __new__(cls, value: int, text: str = "") -> Event:
        """Make a member from its number and its description."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member


P, E = Phase, Event

# Transitions of every phase with commands and usable states.
_COMMANDING = {E.STATES_STOPPED: P.BLIND}
_TRACKING = {
    **_COMMANDING,
    E.DEACTIVATE: P.STOPPING,
    E.FOLLOW: P.TRAJECTORY,
    E.SET_POINT: P.REFERENCE,
    E.HOLD: P.HOLDING,
    E.ABANDON: P.HOLDING,
    E.FALL_BACK: P.DAMPED,
    E.FAIL: P.FAULT,
    E.FLOAT: P.FLOATING,
}

TRANSITIONS: dict[Phase, dict[Event, Phase]] = {
    P.INACTIVE: {E.ACTIVATE: P.WAITING},
    P.WAITING: {E.STATE: P.HOLDING, E.DEACTIVATE: P.INACTIVE},
    P.FLOATING: {
        **_COMMANDING,
        E.DEACTIVATE: P.SETTLING,
        E.FALL_BACK: P.DAMPED,
        E.TRACK: P.HOLDING,
    },
    P.HOLDING: _TRACKING,
    P.TRAJECTORY: {**_TRACKING, E.ARRIVED: P.HOLDING},
    P.REFERENCE: {**_TRACKING, E.SET_POINTS_STOPPED: P.HOLDING},
    P.DAMPED: {
        **_COMMANDING,
        E.DEACTIVATE: P.SETTLING,
        E.RECOVER: P.HOLDING,
        E.FAIL: P.FAULT,
    },
    P.FAULT: {**_COMMANDING, E.DEACTIVATE: P.SETTLING, E.HOLD: P.HOLDING, E.FLOAT: P.FLOATING},
    P.BLIND: {E.STATE: P.HOLDING, E.GIVE_UP: P.SILENT, E.DEACTIVATE: P.LEAVING_BLIND},
    P.SILENT: {E.STATE: P.HOLDING, E.DEACTIVATE: P.INACTIVE},
    P.STOPPING: {
        E.ACTIVATE: P.HOLDING,
        E.STATES_STOPPED: P.LEAVING_BLIND,
        E.STOPPED: P.SETTLING,
        E.FALL_BACK: P.SETTLING,
        E.FAIL: P.SETTLING,
        E.FLOAT: P.SETTLING,
    },
    P.SETTLING: {
        E.ACTIVATE: P.HOLDING,
        E.STATES_STOPPED: P.LEAVING_BLIND,
        E.SETTLED: P.INACTIVE,
    },
    P.LEAVING_BLIND: {E.ACTIVATE: P.BLIND, E.STATE: P.SETTLING, E.GIVE_UP: P.INACTIVE},
}

TRACKING = frozenset({P.HOLDING, P.TRAJECTORY, P.REFERENCE})  # there is a desired position
RUNNING = TRACKING | {P.FLOATING}  # the selected law commands
HOLDS = frozenset({P.DAMPED, P.FAULT, P.BLIND})  # active, but the selected law does not command
SILENT = frozenset({P.INACTIVE, P.WAITING, P.SILENT})  # no commands


def rows() -> Iterator[tuple[Phase, Event, Phase]]:
    """Return the table line by line."""
    for phase, events in TRANSITIONS.items():
        for event, target in events.items():
            yield phase, event, target


def table() -> str:
    """Return the table as Markdown: a line for each phase and the phase that follows."""
    lines = ["| phase | event | next phase |", "| --- | --- | --- |"]
    for (phase, target), events in arrows().items():
        texts = "; ".join(event.text for event in events)
        lines.append(f"| {phase.text} | {texts} | {target.text} |")
    return "\n".join(lines) + "\n"


def picture() -> str:
    """Return the table as a Graphviz graph; what all tracking phases share leaves their frame."""
    colours = {**dict.fromkeys(RUNNING, "#d5e8d4"), **dict.fromkeys(HOLDS, "#f8cecc")}
    boxes = {
        phase: f'{phase.name} [label="{phase.text}\\n{phase.meaning}", '
        f'fillcolor="{colours.get(phase, "#f5f5f5")}"];'
        for phase in Phase
    }
    inside = " ".join(boxes[phase] for phase in sorted(TRACKING))
    lines = [
        "digraph phases {",
        "rankdir=TB; compound=true; nodesep=0.5; ranksep=0.6; fontname=Helvetica; fontsize=11;",
        'node [shape=box, style="rounded,filled", fontname=Helvetica, fontsize=11];',
        "edge [fontname=Helvetica, fontsize=9];",
        f'subgraph cluster_tracking {{ label="tracking"; style=rounded; {inside} }}',
        *(box for phase, box in boxes.items() if phase not in TRACKING),
    ]
    for (phase, target), events in drawn().items():
        label = LINE.join(event.name.lower() for event in events)
        tail = ", ltail=cluster_tracking" if (phase, target) in shared() else ""
        lines.append(f'{phase.name} -> {target.name} [label="{label}"{tail}];')
    return "\n  ".join(lines) + "\n}\n"


def drawn() -> dict[tuple[Phase, Phase], list[Event]]:
    """Return the arrows of the picture; one stands for those that all tracking phases share."""
    common = shared()
    own = {
        ends: left
        for ends, events in arrows().items()
        if (left := [e for e in events if ends[0] not in TRACKING or e not in flat(common)])
    }
    return own | common


def shared() -> dict[tuple[Phase, Phase], list[Event]]:
    """Return the transitions that all tracking phases share, as if from the last one."""
    found: dict[tuple[Phase, Phase], list[Event]] = {}
    for event in Event:
        targets = {TRANSITIONS[phase].get(event) for phase in TRACKING}
        target = targets.pop()
        if not targets and target is not None and target not in TRACKING:
            found.setdefault((max(TRACKING), target), []).append(event)
    return found


def flat(found: dict[tuple[Phase, Phase], list[Event]]) -> set[Event]:
    """Return all events of some arrows."""
    return {event for events in found.values() for event in events}


LINE = "\\n"  # in Graphviz's labels


def arrows() -> dict[tuple[Phase, Phase], list[Event]]:
    """Return the events that lead from one phase to another."""
    found: dict[tuple[Phase, Phase], list[Event]] = {}
    for phase, event, target in rows():
        found.setdefault((phase, target), []).append(event)
    return found


if __name__ == "__main__":
    print(table() if "--table" in sys.argv else picture(), end="")
