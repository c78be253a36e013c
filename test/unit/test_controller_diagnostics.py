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

# Phase: level, line, phase and what is followed, in the words that users match.
QUIET = {
    Phase.FLOATING: (DiagnosticLevel.OK, "running: hold", "running", "hold"),
    Phase.HOLDING: (DiagnosticLevel.OK, "running: hold", "running", "hold"),
    Phase.TRAJECTORY: (DiagnosticLevel.OK, "running: trajectory", "running", "trajectory"),
    Phase.REFERENCE: (DiagnosticLevel.OK, "running: reference", "running", "reference"),
    Phase.WAITING: (DiagnosticLevel.ERROR, WHY, "waiting for a joint state", "hold"),
    Phase.SILENT: (
        DiagnosticLevel.ERROR,
        f"{WHY}: no commands, waiting for joint states",
        "waiting for a joint state",
        "hold",
    ),
    Phase.INACTIVE: (DiagnosticLevel.ERROR, f"{WHY}: inactive", "inactive", "hold"),
}
HELD = (DiagnosticLevel.ERROR, f"{WHY}: gravity hold", "gravity hold", "hold")


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
    assert said == (DiagnosticLevel.WARN, f"waiting for joint states{more}")


# Finding: level, line, the running phases in which it counts.
RUNNING = {Phase.FLOATING, Phase.HOLDING, Phase.TRAJECTORY, Phase.REFERENCE}
PROBLEMS = [
    ("duplicates", "2 publishers on x", DiagnosticLevel.WARN, "2 publishers on x", RUNNING),
    ("is_silent", True, DiagnosticLevel.ERROR, "the control loop does not answer", RUNNING),
    (
        "publish_failure",
        "cannot publish on /commands",
        DiagnosticLevel.ERROR,
        "cannot publish on /commands",
        RUNNING,
    ),
    ("unheard", "/commands", DiagnosticLevel.WARN, "nobody listens to /commands", RUNNING),
    ("off_path", "far off", DiagnosticLevel.WARN, "far off", RUNNING),
    ("lost", "far off", DiagnosticLevel.ERROR, "far off", RUNNING),
    (
        "not_arrived",
        "did not arrive: elbow 21.8 mrad (expected 3)",
        DiagnosticLevel.WARN,
        "did not arrive: elbow 21.8 mrad",
        RUNNING,
    ),
    (
        "is_abandoned",
        True,
        DiagnosticLevel.WARN,
        f"the last motion was abandoned: {WHY}",
        RUNNING - {Phase.FLOATING},
    ),
    (
        "is_late",
        True,
        DiagnosticLevel.WARN,
        "commands come too late, see deadline.cycle_time",
        RUNNING,
    ),
    ("is_saturated", True, DiagnosticLevel.WARN, "effort limits reached", RUNNING),
    (
        "standing",
        "simulated time stands at 3.210 for 4 s",
        DiagnosticLevel.WARN,
        "simulated time stands at",
        RUNNING,
    ),
    (
        "is_strained",
        True,
        DiagnosticLevel.WARN,
        "the end effector is so far from its desired pose that",
        RUNNING,
    ),
    (
        "missing",
        "no wrench on ~/wrench so far: the end effector is held, and follows no target",
        DiagnosticLevel.WARN,
        "no wrench on ~/wrench so far",
        RUNNING,
    ),
    (
        "preflight",
        "too fast",
        DiagnosticLevel.WARN,
        "the arm cannot follow the trajectory: too fast",
        {Phase.TRAJECTORY},
    ),
    ("refusal", "reference: no", DiagnosticLevel.WARN, "refused reference: no", RUNNING),
    ("drives", "lift: hot", DiagnosticLevel.WARN, "lift: hot", RUNNING),
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
    assert level == DiagnosticLevel.ERROR
    assert len(line.split("; ")) == len(everything)


def test_no_finding_hides_that_the_arm_is_held():
    everything = {finding: value for finding, value, *_ in PROBLEMS}
    for phase in set(Phase) - RUNNING:
        assert summary(phase, WHY, everything) == summary(phase, WHY, {})


@pytest.mark.parametrize("line", [line for *_, line, _ in PROBLEMS[1:4] + PROBLEMS[6:12]])
def test_the_page_explains_what_is_told(line):
    assert line.partition(": ")[0].partition(" /")[0] in PAGE
