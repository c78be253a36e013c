"""The level and the line of the controller's diagnostics: never OK while something is wrong."""

from pathlib import Path

import numpy as np
import pytest
from each import each

from featherstone_ros.control import diagnostics
from featherstone_ros.control.diagnostics import (
    STAYS,
    DiagnosticLevel,
    StatePeriod,
    TrackingWarning,
    TrackingWatch,
    following,
    phase_text,
    summary,
)
from featherstone_ros.control.drive_watch import DriveWatch, EffortWatch
from featherstone_ros.control.phases import Phase
from featherstone_ros.model.drive_units import DriveUnits

PAGE = (Path(__file__).parents[3] / "docs/diagnostics.md").read_text()
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


def test_a_motion_whose_end_has_another_reason_by_now_sends_to_the_log():
    """An arm that was not taken over after a silence, and then was, has no reason left."""
    said = summary(Phase.HOLDING, "", {"is_abandoned": True})
    assert said == (WARN, "the last motion was abandoned: see the log")


def test_all_findings_are_known_and_told_together():
    everything = {finding: value for finding, value, *_ in PROBLEMS}
    names = diagnostics.PROBLEMS.keys()
    assert everything.keys() == names - {"unusable"}  # there are states where one of them counts
    level, line = summary(Phase.TRAJECTORY, WHY, everything)
    assert level == ERROR
    assert len(line.split("; ")) == len(everything)


@each("phase", sorted(set(Phase) - RUNNING))
def test_no_finding_hides_that_the_arm_is_held_nor_that_its_commands_go_nowhere(phase):
    everything = {finding: value for finding, value, *_ in PROBLEMS}
    level, line = summary(phase, WHY, {})
    if phase not in (Phase.WAITING, Phase.INACTIVE):  # it has sent commands
        line += "; nobody listens to /commands"
    assert summary(phase, WHY, everything) == (level, line)


@pytest.mark.parametrize("line", [line for *_, line, _ in PROBLEMS[1:4] + PROBLEMS[6:12]])
def test_the_page_explains_what_is_told(line):
    assert line.partition(": ")[0].partition(" /")[0] in PAGE


# Joint states that come more slowly than gains are made for are told, gaps and silence are not.


def texts(counts, expected=0.002, silence=0.1):
    """One report a second; ``counts`` are the states in each."""
    watch, total, told = StatePeriod(), 0, []
    watch.update(10.0, 0, expected, silence)
    for second, count in enumerate(counts, 1):
        total += count
        told.append(watch.update(10.0 + second, total, expected, silence))
    return told


def test_slow_states_are_told_with_both_periods():
    told = texts([200, 200, 200, 500])
    assert told[:2] == ["", ""] and told[3] == ""  # the first second is not whole
    assert "every 5 ms" in told[2] and "gains.period 2 ms" in told[2]


def test_a_gap_silence_and_the_expected_period_are_not_told():
    assert not any(texts([500, 500, 200, 500, 500, 400]))
    assert not any(texts([500, 500, 0, 3, 0, 5]))
    assert not any(texts([200] * 5, expected=0.005))


def test_time_that_is_set_back_begins_anew():
    watch = StatePeriod()
    for now, count in ((10.0, 1), (11.0, 201), (12.0, 401)):
        watch.update(now, count, 0.002, 0.1)
    assert watch.text
    watch.update(3.0, 402, 0.002, 0.1)
    assert watch.text == ""
    watch.update(4.0, 902, 0.002, 0.1)
    assert watch.text == ""


# An arm that is not where it should be.


NAMES = ("shoulder", "elbow")
TOLERANCE = 0.4


QUIET_FOR = (0.15, 0.15, 0.15)


@pytest.mark.parametrize(("errors", "told", "tolerance"), [
    ((0.0, 0.09, -0.09), "...", TOLERANCE),
    ((0.15, -0.15, 0.05), "ww.", TOLERANCE),  # it passes
    ([0.15] * (int(STAYS) + 2), "w" * (int(STAYS) + 1) + "s", TOLERANCE),  # it stays
    ((0.11, 0.2, 0.23), "wws", TOLERANCE),  # it grows
    ((0.15, 0.2, 0.42), "wws", TOLERANCE),
    ([*QUIET_FOR, 0.0] * 4, "www." * 4, TOLERANCE),  # it counts anew after one that passed
    ([*QUIET_FOR, None] * 4, "www." * 4, TOLERANCE),
    ((0.07,), ".", 0.0),  # the usual tolerance counts
    ((0.08,), "w", 0.0),
    ((0.31,), "s", 0.0),
    ((7.8,), "s", 0.0),
])  # fmt: skip
def test_an_error_warns_and_becomes_serious_where_it_stays_or_grows(errors, told, tolerance):
    """Looked at once a second; of the elbow, and None where nothing is desired."""
    watch, begin = TrackingWatch(NAMES), None
    for i, (error, kind) in enumerate(zip(errors, told, strict=True)):
        at = None if error is None else np.array([0.01, error])
        said = watch.update(100.0 + i, at, tolerance)
        begin = None if kind == "." else i if begin is None else begin
        assert (said != TrackingWarning(), said.is_serious) == (kind != ".", kind == "s")
        if kind != ".":
            assert f"'elbow' is {abs(error):g}" in said.text
            assert said.text.endswith(f", for {i - begin} s") == (i > begin)


def test_finger_that_is_stuck_is_off_by_a_share_of_its_own_range():
    names, reach = ("shoulder", "finger"), np.array([6.0, 0.04])
    error = np.array([0.06, 0.03])
    assert TrackingWatch(names).update(1.0, error, 0.3) == TrackingWarning()
    watch = TrackingWatch(names, reach)
    assert "'finger' is 0.03 away" in watch.update(1.0, error, 0.3).text
    assert watch.update(1.1 + STAYS, error, 0.3).is_serious
    assert watch.update(7.0, np.array([0.06, 0.009]), 0.3) == TrackingWarning()


def test_joint_without_a_range_is_no_finger():
    watch = TrackingWatch(NAMES, np.array([0.0, np.inf]))
    assert watch.update(1.0, np.array([0.07, 0.07]), 0.3) == TrackingWarning()


# Drives whose own limits bind.


DRIVEN = ("lift", "elbow", "wrist")
MOTOR = {"torque_constant": 0.1, "resistance": 1.0, "supply_voltage": 24.0, "stiffness": 100.0}
UNITS = DriveUnits(
    DRIVEN,
    ("current", "duty", "position"),
    max_current=3.0,
    max_duty=0.9,
    continuous_current=[2.0, np.inf, np.inf],
    thermal_time=10.0,
    **MOTOR,
)
NONE = np.zeros(3)
LIMIT = np.array([100.0, 50.0, 10.0])
UNMEASURED = np.zeros((3, 3)), 0  # no efforts measured


def test_each_limit_is_named_with_what_it_has_cut_since_the_last_look():
    watch = DriveWatch(UNITS, LIMIT)
    assert watch.update(0.0, NONE, NONE, *UNMEASURED) == {}
    assert watch.update(1.0, np.array([4.0, 2.0, 1.0]), NONE, *UNMEASURED) == {
        "lift": "drives.lift.max_current of 3 A cut 4 commands",
        "elbow": "drives.elbow.max_duty of 0.9 cut 2 commands",
        "wrist": "the joint's position limit cut 1 commands",
    }
    assert watch.update(2.0, np.array([4.0, 2.0, 1.0]), NONE, *UNMEASURED) == {}


def test_a_motor_is_told_of_once_it_is_too_warm():
    watch, current = DriveWatch(UNITS, LIMIT), np.array([4.0, 4.0, 0.0])
    limit = 10.0 * np.log(4.0 / 3.0)  # [s] until 4 A are too much for 2 A
    told = {t: watch.update(t, NONE, t * current**2, *UNMEASURED) for t in np.arange(0.0, 4.0, 0.1)}
    warm = min(t for t, what in told.items() if what)
    assert warm == pytest.approx(limit, abs=0.1)
    assert list(told[warm]) == ["lift"]
    assert "its continuous current of 2 A" in told[warm]["lift"]
    charge = 4.0 * current**2
    assert watch.update(1e4, NONE, charge, *UNMEASURED) == {}  # it has cooled down
    charge[0] += 2.0**2 * 1e4
    assert watch.update(2e4, NONE, charge, *UNMEASURED) == {}  # that it bears for ever


def test_all_that_binds_a_drive_is_told_together():
    watch, current = DriveWatch(UNITS, LIMIT), np.array([4.0, 0.0, 0.0])
    watch.update(0.0, NONE, NONE, *UNMEASURED)
    said = watch.update(60.0, np.array([2.0, 0.0, 0.0]), 60.0 * current**2, *UNMEASURED)
    cut, warm = said.pop("lift").split("; ")
    assert cut.endswith("cut 2 commands") and warm.startswith("the motor is at ") and not said


def echo(command, effort):
    """Return the sums of commands and efforts (N, 3), and how many they are."""
    sums = [(command**2).sum(axis=0), (effort**2).sum(axis=0), (command * effort).sum(axis=0)]
    return np.array(sums), len(command)


def test_an_effort_in_another_unit_is_named_until_torque_is_measured():
    watch = EffortWatch(UNITS, LIMIT)
    command = 0.3 * LIMIT + 0.1 * LIMIT * np.sin(np.arange(500)[:, None] * [0.01, 0.02, 0.03])
    noise = 0.01 * LIMIT * np.random.default_rng(1).normal(size=command.shape)
    wrong = command * [0.09, 1.0, -1.0] + noise
    first, count = echo(command, wrong)
    said = watch.update(first, count)
    assert set(said) == {"lift", "wrist"}
    assert (
        said["lift"].startswith("measured effort is 0.09 times") and "drives.lift" in said["lift"]
    )
    assert "opposite sign" in said["wrist"]
    assert watch.update(first, count) == said  # nothing new
    second, more = echo(command, command + noise)
    assert watch.update(first + second, count + more) == {}


def test_an_effort_that_has_not_followed_its_command_yet_is_no_other_unit():
    """A change of phase is reported at once: since the last report there may be a single state."""
    watch = EffortWatch(UNITS, LIMIT)
    command = 0.4 * LIMIT * np.ones((500, 1))
    late, one = echo(command[:1], 0.4 * command[:1])
    assert watch.update(late, one) == {}
    rest, more = echo(command, command)
    assert watch.update(late + rest, one + more) == {}
    few, count = echo(command[:25], 0.4 * command[:25])
    assert "lift" in watch.update(late + rest + few, one + more + count)


def test_an_effort_that_carries_little_or_follows_no_command_says_nothing():
    watch = EffortWatch(UNITS, LIMIT)
    command = 0.05 * LIMIT * np.ones((500, 1))
    assert watch.update(*echo(command, 0.1 * command)) == {}
    random = np.random.default_rng(2).normal(size=(500, 3))
    assert EffortWatch(UNITS, LIMIT).update(*echo(10.0 * command, random)) == {}  # brakes hold
    endless = np.full(3, np.inf)
    assert EffortWatch(UNITS, endless).update(*echo(command, 0.1 * command)) == {}
    with np.errstate(all="raise"):
        assert EffortWatch(UNITS, endless).update(np.zeros((3, 3)), 0) == {}  # no state yet
