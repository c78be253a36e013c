"""What follows what: the controller's phases and the events that lead from one to another.

Both are numbered in cython_core/control/phases.pxd.

``python -m featherstone_ros.control.phases`` prints it as a picture (Graphviz), with
``--table`` as Markdown; docs/phases.md shows both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from featherstone_ros._enumerations import Event as Event
from featherstone_ros._enumerations import Phase as Phase

P, E = Phase, Event

# Names in the diagnostics, and meanings.
DESCRIPTIONS = {
    P.INACTIVE: ("inactive", "no commands"),
    P.WAITING: ("waiting for a joint state", "active; no commands yet"),
    P.FLOATING: ("gravity compensation", "the arm is carried, nothing is followed"),
    P.HOLDING: ("hold", "comes to rest and stays there"),
    P.TRAJECTORY: ("trajectory", "follows a trajectory"),
    P.REFERENCE: ("reference", "follows streamed set-points"),
    P.DAMPED: ("gravity hold", "gravity and damping, until the cause is over"),
    P.FAULT: ("fault", "gravity and damping, until it is asked to hold"),
    P.BLIND: ("blind stop", "no usable joint states: brakes by the model, for give_up_after"),
    P.SILENT: ("silent", "no commands until the next usable joint state"),
    P.STOPPING: ("stopping", "leaving: comes to rest"),
    P.SETTLING: ("settling", "leaving: gravity and damping until the arm stands"),
    P.LEAVING_BLIND: ("leaving, blind stop", "leaving, without usable joint states"),
}
TEXTS = {phase: text for phase, (text, _) in DESCRIPTIONS.items()}
EVENT_TEXTS = {
    E.ACTIVATE: "activate",
    E.DEACTIVATE: "deactivate, shutdown or a signal",
    E.STATE: "a usable joint state",
    E.STATES_STOPPED: "no usable joint state for state_timeout",
    E.GIVE_UP: "give_up_after is over",
    E.FOLLOW: "a trajectory",
    E.ARRIVED: "the trajectory has ended",
    E.SET_POINT: "a set-point",
    E.SET_POINTS_STOPPED: "no set-point for reference_timeout",
    E.HOLD: "asked to hold",
    E.ABANDON: "off the path, a gap in the states, or Python gives no sign of life",
    E.FALL_BACK: "commands too late, or not finite",
    E.RECOVER: "that is over",
    E.FAIL: "too fast, oscillating, or abandoned too often",
    E.FLOAT: "mode gravity_compensation",
    E.TRACK: "another mode",
    E.STOPPED: "stop_time is over",
    E.SETTLED: "the arm stands and give_up_after is over",
}

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
        texts = "; ".join(EVENT_TEXTS[event] for event in events)
        lines.append(f"| {TEXTS[phase]} | {texts} | {TEXTS[target]} |")
    return "\n".join(lines) + "\n"


def picture() -> str:
    """Return the table as a Graphviz graph; what all tracking phases share leaves their frame."""
    colours = {**dict.fromkeys(RUNNING, "#d5e8d4"), **dict.fromkeys(HOLDS, "#f8cecc")}
    boxes = {
        phase: f'{phase.name} [label="{text}\\n{meaning}", '
        f'fillcolor="{colours.get(phase, "#f5f5f5")}"];'
        for phase, (text, meaning) in DESCRIPTIONS.items()
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
