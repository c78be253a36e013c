"""Print the controller's tables of phases and causes for docs/phases.md, and the picture.

From the repository's folder: ``python docs/phases.py --table`` and ``--causes``; and without an
argument a graph for Graphviz: ``python docs/phases.py | dot -Tsvg > docs/phases.svg``.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator

from featherstone_ros.control.causes import CAUSES, EVENTS
from featherstone_ros.control.phases import (
    HOLDS,
    RUNNING,
    TEXTS,
    TRACKING,
    TRANSITIONS,
    Event,
    Phase,
)

P, E = Phase, Event

MEANINGS = {
    P.INACTIVE: "no commands",
    P.WAITING: "active; no commands yet",
    P.FLOATING: "the arm is carried, nothing is followed",
    P.HOLDING: "comes to rest and stays there",
    P.TRAJECTORY: "follows a trajectory",
    P.REFERENCE: "follows streamed set-points",
    P.DAMPED: "gravity and damping, until the cause is over",
    P.FAULT: "gravity and damping, until it is asked to hold",
    P.OPEN_LOOP: "no usable joint states: brakes by the model, for give_up_after",
    P.SILENT: "no commands until the next usable joint state",
    P.STOPPING: "leaving: comes to rest",
    P.SETTLING: "leaving: gravity and damping until the arm stands",
    P.LEAVING_OPEN_LOOP: "leaving, without usable joint states",
}
EVENT_TEXTS = {
    E.ACTIVATE: "activate",
    E.DEACTIVATE: "deactivate, shutdown or a signal",
    E.STATE: "a usable joint state",
    E.STATES_STOPPED: "no usable joint state",
    E.GIVE_UP: "give_up_after is over",
    E.FOLLOW: "a trajectory",
    E.ARRIVED: "the trajectory has ended",
    E.SET_POINT: "a set-point",
    E.SET_POINTS_STOPPED: "no set-point for reference_timeout",
    E.HOLD: "a request to hold",
    E.ABANDON: "a cause to abandon the motion",
    E.FALL_BACK: "a cause to hold by gravity",
    E.RECOVER: "the cause is over",
    E.FAIL: "a fault",
    E.FLOAT: "mode gravity_compensation",
    E.TRACK: "another mode",
    E.STOPPED: "stop_time is over",
    E.SETTLED: "the arm stands and give_up_after is over",
}


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


def causes() -> str:
    """Return the causes of events as Markdown, by their names in the table of causes."""
    lines = ["| event | causes |", "| --- | --- |"]
    for action, event in EVENTS.items():
        names = (cause.name.lower() for cause, row in CAUSES.items() if row.action == action)
        lines.append(f"| {EVENT_TEXTS[event]} | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(lines) + "\n"


def picture() -> str:
    """Return the table as a Graphviz graph; what all tracking phases share leaves their frame."""
    colours = {**dict.fromkeys(RUNNING, "#d5e8d4"), **dict.fromkeys(HOLDS, "#f8cecc")}
    boxes = {
        phase: f'{phase.name} [label="{wrapped(TEXTS[phase])}\\n{wrapped(meaning)}", '
        f'fillcolor="{colours.get(phase, "#f5f5f5")}"];'
        for phase, meaning in MEANINGS.items()
    }
    inside = " ".join(boxes[phase] for phase in sorted(TRACKING))
    lines = [
        "digraph phases {",
        "rankdir=TB; compound=true; nodesep=0.2; ranksep=0.5; fontname=Helvetica; fontsize=16;",
        'node [shape=box, style="rounded,filled", fontname=Helvetica, fontsize=16];',
        "edge [fontname=Helvetica, fontsize=14];",
        f'subgraph cluster_tracking {{ label="tracking"; style=rounded; {inside} }}',
        *(box for phase, box in boxes.items() if phase not in TRACKING),
    ]
    for (phase, target), events in drawn().items():
        label = LINE.join(event.name.lower() for event in events)
        tail = ", ltail=cluster_tracking" if (phase, target) in shared() else ""
        lines.append(f'{phase.name} -> {target.name} [label="{label}"{tail}];')
    return "\n  ".join(lines) + "\n}\n"


def wrapped(text: str) -> str:
    """Return a text in short lines: the picture is as wide as its boxes."""
    return LINE.join(textwrap.wrap(text, 20))


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
    tables = {"--table": table, "--causes": causes}
    print(tables.get(sys.argv[-1], picture)(), end="")
