"""The level and the line of the controller's diagnostics: never OK while something is wrong."""

from pathlib import Path

import pytest
from each import each

from featherstone_ros.control import diagnostics
from featherstone_ros.control.diagnostics import (
    DiagnosticLevel,
    following,
    phase_text,
    summary,
)
from featherstone_ros.control.phases import Phase

PAGE = (Path(__file__).parents[2] / "docs/diagnostics.md").read_text()
WHY = "joint 'elbow' is 0.2 away"

OK, WARN, ERROR = DiagnosticLevel.OK, DiagnosticLevel.WARN, DiagnosticLevel.ERROR
UNSEEN = "waiting for a joint state"
# Phase: level, line, phase and what is followed, in the words that users match.
QUIET = {
    Phase.FLOATING: (OK, "running: hold", "running", "hold"),
    Phase.HOLDING: (OK, "running: hold", "running", "hold"),
    Phase.TRAJECTORY: (OK, "running: trajectory", "running", "trajectory"),
    Phase.REFERENCE: (OK, "running: reference", "running", "reference"),
    Phase.WAITING: (ERROR, WHY, UNSEEN, "hold"),
    Phase.SILENT: (ERROR, f"{WHY}: no commands, waiting for joint states", UNSEEN, "hold"),
    Phase.INACTIVE: (ERROR, f"{WHY}: inactive", "inactive", "hold"),
}
HELD = (ERROR, f"{WHY}: gravity hold", "gravity hold", "hold")


@pytest.mark.parametrize("phase", Phase, ids=lambda phase: phase.name)
def test_every_phase_has_its_level_line_and_words(phase):
    level, line, words, followed = QUIET.get(phase, HELD)
    assert summary(phase, WHY, {}) == (level, line)
    assert (phase_text(phase), following(phase)) == (words, followed)


@pytest.mark.parametrize(
    ("finding", "more"),
    [
        ({}, ""),
        ({"unusable": "70000 bytes"}, "; refused joint_states: 70000 bytes"),
        ({"unheard": "/arm/commands"}, "; nobody listens to /arm/commands"),
    ],
)
def test_a_controller_that_waits_for_its_first_state_only_warns_and_says_why(finding, more):
    said = summary(Phase.WAITING, "", finding)
    assert said == (WARN, f"waiting for joint states{more}")


RUNNING = {Phase.FLOATING, Phase.HOLDING, Phase.TRAJECTORY, Phase.REFERENCE}
STIFF = RUNNING - {Phase.FLOATING}
NO_WRENCH = "no wrench on ~/wrench so far"
SHORT = "did not arrive: elbow 21.8 mrad"
# Finding: its value, level, line, the running phases in which it counts.
PROBLEMS = [
    ("duplicates", "2 publishers on x", WARN, "2 publishers on x", RUNNING),
    ("is_silent", True, ERROR, "the control loop does not answer", RUNNING),
    ("publish_failure", "cannot publish on /a", ERROR, "cannot publish on /a", RUNNING),
    ("unheard", "/commands", WARN, "nobody listens to /commands", RUNNING),
    ("off_path", "far off", WARN, "far off", RUNNING),
    ("lost", "far off", ERROR, "far off", RUNNING),
    ("not_arrived", f"{SHORT} (expected 3)", WARN, SHORT, RUNNING),
    ("is_abandoned", True, WARN, f"the last motion was abandoned: {WHY}", STIFF),
    ("is_late", True, WARN, "commands come too late, see deadline.cycle_time", RUNNING),
    ("is_saturated", True, WARN, "effort limits reached", RUNNING),
    ("standing", "simulated time stands at 3.2 for 4 s", WARN, "simulated time stands at", RUNNING),
    ("is_strained", True, WARN, "the end effector is so far from its desired pose that", RUNNING),
    ("missing", f"{NO_WRENCH}: the end effector is held", WARN, NO_WRENCH, RUNNING),
    ("preflight", "x", WARN, "the arm cannot follow the trajectory: x", {Phase.TRAJECTORY}),
    ("refusal", "reference: no", WARN, "refused reference: no", RUNNING),
    ("drives", "lift: hot", WARN, "lift: hot", RUNNING),
]


@pytest.mark.parametrize(("finding", "value", "level", "line", "phases"), PROBLEMS)
@each("phase", sorted(RUNNING))
def test_every_finding_is_told_where_it_counts(phase, finding, value, level, line, phases):
    said = summary(phase, WHY, {finding: value})
    if phase in phases:
        assert said[0] == level and said[1].startswith(line)
    else:
        assert said == summary(phase, WHY, {})


def test_all_findings_are_known_and_told_together():
    everything = {finding: value for finding, value, *_ in PROBLEMS}
    names = diagnostics.PROBLEMS.keys()
    assert everything.keys() == names - {"unusable"}  # there are states where one of them counts
    level, line = summary(Phase.TRAJECTORY, WHY, everything)
    assert level == ERROR
    assert len(line.split("; ")) == len(everything)


def test_no_finding_hides_that_the_arm_is_held():
    everything = {finding: value for finding, value, *_ in PROBLEMS}
    for phase in set(Phase) - RUNNING:
        assert summary(phase, WHY, everything) == summary(phase, WHY, {})


@pytest.mark.parametrize("line", [line for *_, line, _ in PROBLEMS[1:4] + PROBLEMS[6:12]])
def test_the_page_explains_what_is_told(line):
    assert line.partition(": ")[0].partition(" /")[0] in PAGE
