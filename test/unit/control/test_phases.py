"""The controller's table of phases: complete, safe, and what the documentation shows."""

import re
import sys
from html import unescape
from pathlib import Path

import pytest

from featherstone_ros.control.phases import (
    HOLDS,
    RUNNING,
    SILENT,
    TEXTS,
    TRACKING,
    TRANSITIONS,
    Event,
    Phase,
)

sys.path.append(str(Path(__file__).parents[3] / "docs"))
import phases

DOCS = Path(__file__).parents[3] / "docs"
COMMANDING = frozenset(Phase) - SILENT
OPEN_LOOP = {Phase.OPEN_LOOP, Phase.LEAVING_OPEN_LOOP}
LEAVING = {Phase.STOPPING, Phase.SETTLING, Phase.LEAVING_OPEN_LOOP}


def reachable(start: Phase) -> set[Phase]:
    found, new = set(), {start}
    while new:
        found |= new
        new = {target for phase in new for target in TRANSITIONS[phase].values()} - found
    return found


def test_every_phase_can_be_reached_and_left():
    assert reachable(Phase.INACTIVE) == set(Phase)
    assert all(Phase.INACTIVE in reachable(phase) for phase in Phase)


@pytest.mark.parametrize("phase", sorted(COMMANDING - OPEN_LOOP), ids=lambda phase: phase.name)
def test_commands_end_only_after_the_arm_stands_or_cannot_be_seen(phase):
    ends = {e for e, target in TRANSITIONS[phase].items() if target in SILENT}
    assert ends <= {Event.SETTLED}


@pytest.mark.parametrize("phase", sorted(COMMANDING - OPEN_LOOP), ids=lambda phase: phase.name)
def test_a_phase_that_answers_states_notices_that_they_stop(phase):
    assert TRANSITIONS[phase][Event.STATES_STOPPED] in OPEN_LOOP


@pytest.mark.parametrize(
    "phase", sorted(set(Phase) - LEAVING - {Phase.INACTIVE}), ids=lambda phase: phase.name
)
def test_deactivation_leads_out_of_every_active_phase(phase):
    assert TRANSITIONS[phase][Event.DEACTIVATE] in LEAVING | {Phase.INACTIVE}


@pytest.mark.parametrize("phase", sorted(RUNNING), ids=lambda phase: phase.name)
def test_a_law_that_fails_leaves_the_arm_to_gravity_and_damping(phase):
    assert TRANSITIONS[phase][Event.FALL_BACK] is Phase.DAMPED


@pytest.mark.parametrize("phase", sorted(TRACKING), ids=lambda phase: phase.name)
def test_every_motion_can_be_held_abandoned_replaced_and_ended_by_a_fault(phase):
    next_phase = TRANSITIONS[phase]
    assert next_phase[Event.HOLD] is next_phase[Event.ABANDON] is Phase.HOLDING
    assert next_phase[Event.FAIL] is Phase.FAULT
    assert next_phase[Event.FOLLOW] is Phase.TRAJECTORY
    assert next_phase[Event.SET_POINT] is Phase.REFERENCE
    assert next_phase[Event.FLOAT] is Phase.FLOATING


def test_a_fault_is_left_only_when_asked_to():
    ways = {e for e, target in TRANSITIONS[Phase.FAULT].items() if target in RUNNING | HOLDS}
    assert ways == {Event.HOLD, Event.FLOAT, Event.STATES_STOPPED}


def test_every_phase_and_event_is_described():
    assert list(TEXTS) == list(phases.MEANINGS) == list(TRANSITIONS) == list(Phase)
    assert list(phases.EVENT_TEXTS) == list(Event)


def test_the_page_and_its_picture_show_the_table():
    page = (DOCS / "phases.md").read_text()
    assert phases.table() in page and phases.causes() in page
    drawn = re.findall(r"<title>(\w+)->(\w+)</title>", unescape((DOCS / "phases.svg").read_text()))
    assert sorted(drawn) == sorted((a.name, b.name) for a, b in phases.drawn())
    assert phases.picture().count(" -> ") == len(drawn)


def test_the_picture_leaves_nothing_out():
    drawn = {
        (source, event, target)
        for (phase, target), events in phases.drawn().items()
        for event in events
        for source in (TRACKING if (phase, target) in phases.shared() else {phase})
    }
    assert drawn == set(phases.rows())
