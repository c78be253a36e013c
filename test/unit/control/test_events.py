"""Texts for the log and the diagnostics, made from the compiled controller's records."""

import numpy as np
import pytest
from control_arm import NAMES, Q
from control_loop import LoopBench
from each import each

from featherstone_ros._enumerations import Cause, NoteKind, Refusal, Rejection
from featherstone_ros.control import reasons
from featherstone_ros.control.causes import CAUSES, EVENTS, Action
from featherstone_ros.control.phases import RUNNING, TRANSITIONS, Event, Phase
from featherstone_ros.control.reasons import Reason, RecordFormatter, late_start, unusable_state
from featherstone_ros.tools.robot_setup import load

NAN = float("nan")


def lines(bench: LoopBench) -> list[str]:
    """Return what the log says of all records so far, as they would come from the loop."""
    formatter = RecordFormatter(NAMES)
    records = [(kind, index, 0, tuple(values), 0) for kind, index, values in bench.records]
    bench.records.clear()
    return [line for record in records for line in formatter.lines([record])]


@pytest.fixture
def bench() -> LoopBench:
    bench = LoopBench().start()
    bench.run(0.05)
    bench.records.clear()
    return bench


def test_nothing_is_said_of_a_motion_that_goes_well(bench):
    bench.move(Q + 0.1, 0.3)
    bench.run(1.0)
    assert bench.records
    assert lines(bench) == []


def test_states_that_stop_are_told_of_with_all_that_follows(bench):
    bench.run(3.0, states=False)
    said = lines(bench)
    assert len(said) == 2
    assert said[0].startswith("no usable joint state for 0.")
    assert said[0].endswith(": braking on predicted states; the motion is abandoned")
    assert said[1] == "no commands until the next usable joint state"
    bench.run(0.01)
    assert lines(bench) == []  # back from silence
    bench.run(0.3, states=False)
    assert bench.controller.phase is Phase.OPEN_LOOP
    bench.run(0.01)
    assert lines(bench)[-1] == "the gravity hold is over: holding where the arm is now"


def test_a_refused_state_is_told_of_with_joint_figure_and_bound(bench):
    bench.give(bench.arm.q + np.array([0.0, 3.0]))
    (record,) = (r for r in bench.records if r[0] == NoteKind.REJECTED)
    _, joint, (code, *figures, _) = record
    text = Reason(Rejection(int(code)), joint, *figures).text(NAMES)
    assert text.startswith("position out of reach: joint 'elbow', ")
    assert ", bound " in text


@pytest.mark.parametrize(
    ("joint", "found", "text"),
    [
        (-1, 0.0, "not finite"),
        (0, NAN, "not finite: joint 'shoulder', nan"),
        (1, NAN, "not finite: joint 'elbow', nan"),
    ],
)
def test_what_is_not_finite_has_no_bound(joint, found, text):
    assert Reason(Rejection.NOT_FINITE, joint, found).text(NAMES) == text


def test_a_motion_that_is_refused_after_a_fault_has_the_faults_reason():
    text = Reason(Refusal.IN_FAULT).text(NAMES, "fault", "joint 'elbow' oscillates")
    assert "joint 'elbow' oscillates" in text and "~/hold" in text
    text = Reason(Refusal.NOT_RUNNING).text(NAMES, "open-loop stop")
    assert text.endswith("running: open-loop stop")


def test_every_cause_and_refusal_has_a_text():
    assert set(CAUSES) == set(Cause)
    assert set(reasons.REFUSALS) == set(Refusal)
    assert set(reasons.REJECTIONS) == set(Rejection)
    assert "not motions of the joints" in reasons.REFUSALS[Refusal.FOLLOWS_POSES]
    assert "and admittance only" in reasons.REFUSALS[Refusal.FOLLOWS_NO_POSES]


def test_every_action_has_its_event_and_every_class_is_one_of_the_fault_model():
    assert set(EVENTS) == set(Action) - {Action.NO_ACTION}
    for cause, row in CAUSES.items():
        assert set(row.fault_classes) <= {1, 2, 3, 4, 5}, cause
        assert bool(row.text) == (cause is not Cause.NO_CAUSE)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase in RUNNING])
def test_what_a_cause_asks_for_can_follow_in_every_phase_that_runs(phase):
    """A motion is given up only where there is one."""
    for action, event in EVENTS.items():
        is_possible = TRANSITIONS[phase].get(event) is not None
        assert is_possible or (phase is Phase.FLOATING and action is Action.ABANDON_MOTION), action


@pytest.mark.parametrize("code", list(Refusal)[1:])
def test_every_refusal_names_joint_figure_and_bound(code):
    text = Reason(code, 1, 0.5, 0.125).text(NAMES, "fault", "the reason")
    template = reasons.REFUSALS[code]
    for word, value in (("joint", "'elbow'"), ("found", "0.5"), ("bound", "0.125")):
        assert (f"{{{word}" in template) == (value in text)
    assert "{" not in text


BRAKING = "braking on predicted states"
CHANGES = [
    (Event.STATES_STOPPED, Phase.HOLDING, Phase.OPEN_LOOP, f"{BRAKING}; the motion"),
    (Event.STATES_STOPPED, Phase.STOPPING, Phase.LEAVING_OPEN_LOOP, BRAKING),
    (Event.ABANDON, Phase.TRAJECTORY, Phase.HOLDING, "the motion is abandoned, holding where"),
    (Event.FALL_BACK, Phase.HOLDING, Phase.DAMPED, "gravity hold; the motion is abandoned"),
    (Event.FAIL, Phase.REFERENCE, Phase.FAULT, "gravity hold; the motion is abandoned"),
]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("event", "before", "after", "text"), CHANGES)
def test_a_change_is_told_of_once_its_cause_is_known(event, before, after, text, together):
    formatter = RecordFormatter(NAMES)
    change = (NoteKind.PHASE, event, 0, (float(before), float(after), 0.0, 0.0), 0)
    cause = (NoteKind.CAUSE, 1, 0, (Cause.OFF_PATH, 0.2, 0.1, 0.0), 0)
    if together:
        said = formatter.lines([change, cause])
    else:
        assert formatter.lines([change]) == []
        said = formatter.lines([cause])
    reason = "joint 'elbow' is 0.2 away from where it should be (path_tolerance 0.1)"
    assert len(said) == 1 and said[0].startswith(f"{reason}: {text}")


def test_why_the_arm_is_not_taken_over_is_told_though_it_comes_with_the_activation():
    activated = float(Phase.INACTIVE), float(Phase.WAITING), 0.0, 0.0
    change = (NoteKind.PHASE, Event.ACTIVATE, 0, activated, 0)
    cause = (NoteKind.CAUSE, 1, 0, (Cause.DISPUTED, 7.9, -3.1, 0.0), 0)
    (said,) = RecordFormatter(NAMES).lines([change, cause])
    assert said.startswith("the measured effort of joint 'elbow' is 7.9 where gravity asks for")


@pytest.mark.parametrize(
    ("event", "before", "after", "said"),
    [
        (Event.RECOVER, Phase.DAMPED, Phase.HOLDING, True),
        (Event.STATE, Phase.OPEN_LOOP, Phase.HOLDING, True),
        (Event.STATE, Phase.SILENT, Phase.HOLDING, False),
        (Event.GIVE_UP, Phase.OPEN_LOOP, Phase.SILENT, True),
        (Event.GIVE_UP, Phase.LEAVING_OPEN_LOOP, Phase.INACTIVE, False),
        (Event.HOLD, Phase.FAULT, Phase.HOLDING, False),
        (Event.FOLLOW, Phase.HOLDING, Phase.TRAJECTORY, False),
    ],
)
def test_a_change_without_a_cause_is_told_of_at_once_or_never(event, before, after, said):
    change = (NoteKind.PHASE, event, 0, (float(before), float(after), 0.0, 0.0), 0)
    assert len(RecordFormatter(NAMES).lines([change])) == said


# Unusable joint states and trajectories.


ROBOT = load("panda")
MODEL, HOME = ROBOT.model, ROBOT.start
ELBOWS = list(MODEL.joint_names)


def said(names=ELBOWS, position=HOME) -> str:
    return unusable_state(names, list(position), MODEL)


def test_nothing_is_said_of_a_good_state():
    assert said() == ""
    order = [*reversed(ELBOWS), "finger"]
    assert said(order, [*reversed(HOME), 0.04]) == ""


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([f"left_{name}" for name in ELBOWS], "the prefix 'left_' is too much"),
        ([name.removeprefix("panda_") for name in ELBOWS], "the prefix 'panda_' is missing"),
        (["finger"], "the joints are finger, expected panda_joint1, panda_joint2"),
        ([], "no joint is named, expected panda_joint1"),
        (ELBOWS[:5], "panda_joint6, panda_joint7 missing"),
        ([f"\x1b[31m{'x' * 1000}"], "none of them"),
    ],
    ids=["prefixed", "without prefix", "gripper", "none", "some", "hostile"],
)
def test_names_are_set_against_those_expected(names, words):
    text = said(names, [0.0] * len(names))
    assert words in text
    assert len(text) < 300
    assert text.isprintable()


def test_degrees_are_recognised():
    assert said(position=np.degrees(HOME)).endswith("expected -1.7628 to 1.7628: degrees?")


def test_what_is_merely_far_away_is_not_called_degrees():
    text = said(position=[1e6, *HOME[1:]])
    assert "panda_joint1 is 1e+06, expected -2.8" in text
    assert "degrees" not in text


@each("joint", range(MODEL.n))
@pytest.mark.parametrize(("beyond", "is_told"), [(-0.1, False), (0.49, False), (0.51, True)])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_position_is_told_of_half_a_radian_beyond_its_limits(joint, side, beyond, is_told):
    position = np.array(HOME)
    limit = MODEL.upper[joint] if side > 0.0 else MODEL.lower[joint]
    position[joint] = limit + side * beyond
    assert (said(position=position) != "") == is_told


def test_what_the_loop_says_by_itself_is_left_to_it():
    assert said(position=[*HOME[:6], float("nan")]) == said(position=HOME[:6]) == ""


@pytest.mark.parametrize(("count", "words"), [(3, "c,"), (4, "c and 1 more,")])
def test_names_beyond_three_are_counted(count, words):
    text = said(list("abcd")[:count], [0.0] * count)
    assert f"the joints are a, b, {words}" in text


@pytest.mark.parametrize(("delay", "is_told"), [(9.9, False), (10.1, True)])
def test_a_start_is_late_after_ten_seconds(delay, is_told):
    assert (late_start(delay, 1e9) != "") == is_told


def test_late_start_names_both_clocks():
    assert late_start(1.0, 1e9) == ""
    assert late_start(float("nan"), 1e9) == ""
    text = late_start(86400.0, 100.0)
    assert "begins in 86400 s" in text and "86500.000" in text and "100.000" in text
