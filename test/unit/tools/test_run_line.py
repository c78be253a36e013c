"""The line that `featherstone-ros run` shows."""

from dataclasses import replace

import numpy as np
import pytest

from featherstone_ros.control.diagnostics import DiagnosticLevel, following, phase_text
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import TRACKING, Phase
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools.node_status import (
    ANSWER,
    CONTROLLER,
    PATIENCE,
    REFUSED,
    SAY,
    TWIN,
    WAITING,
    ArmStatus,
    Heard,
    NodeStatus,
    by_joint,
    line,
    sending,
)

MODEL = Model.from_file(robot_file("ur5e"))
LIMITS = JointSpace.of(MODEL)


def condition(name, level, message, heard=100.0):
    return NodeStatus(name, "active", level, message, {}, heard)


def test_error_and_load_name_the_worst_joint():
    assert WAITING in line(ArmStatus(), LIMITS, 1.0, 100.0).plain  # nothing was heard
    arm = ArmStatus(
        np.array([0.0, -0.0021, 0.001, 0.0, 0.0, 0.0]),
        np.array([15.0, 30.0, -75.0, 0.0, 0.0, 0.0]),
        {CONTROLLER: condition(CONTROLLER, DiagnosticLevel.OK, "running: hold")},
    )
    text = line(arm, LIMITS, 12.3, 100.0).plain
    assert text.startswith("    12 s")
    assert "running: hold" in text
    assert "error 2.1 mrad (shoulder_lift_joint)" in text
    assert "torque 50% of limit (elbow_joint)" in text
    for error, said in ((4.4e-13, "0"), (7.9e-5, "0.08"), (2.13e-3, "2.13"), (0.1234, "123")):
        arm.error[:] = 0.0, error, 0.0, 0.0, 0.0, 0.0
        assert f"error {said} mrad (shoulder_lift_joint)" in line(arm, LIMITS, 1.0, 100.0).plain


def test_an_arm_that_gave_its_motion_up_shows_no_error_of_none():
    """It is held where it is, 0 mrad from there."""
    why = "abandoned: joint 'elbow_joint' is 0.3 away from where it should be"
    gave_up = condition(CONTROLLER, DiagnosticLevel.WARN, why)
    gave_up.values = {"motion abandoned": "yes"}
    seen = ArmStatus(np.zeros(6), np.zeros(6), {CONTROLLER: gave_up})
    text = line(seen, LIMITS, 1.0, 100.0).plain
    assert why in text
    assert "error" not in text


def test_load_of_an_arm_without_effort_limits_is_in_newton_metres():
    limit = LIMITS.effort.copy()
    effort = np.array([15.0, 30.0, -75.0, 0.0, 0.0, 0.0])
    controls = {CONTROLLER: condition(CONTROLLER, DiagnosticLevel.OK, "running: hold")}
    seen = ArmStatus(np.zeros(6), effort, controls)
    none = replace(LIMITS, effort=np.full(6, np.inf))
    assert "torque 75 N m (elbow_joint)" in line(seen, none, 1.0, 100.0).plain
    limit[[0, 2]] = np.inf, 0.0
    some = replace(LIMITS, effort=limit)
    assert "torque 20% of limit (shoulder_lift_joint)" in line(seen, some, 1.0, 100.0).plain


def test_a_silent_controller_and_an_odd_twin_are_told():
    arm = ArmStatus(
        nodes={
            CONTROLLER: condition(CONTROLLER, DiagnosticLevel.OK, "running: hold", heard=90.0),
            TWIN: condition(TWIN, DiagnosticLevel.WARN, "fell behind real time"),
        }
    )
    text = line(arm, LIMITS, 1.0, 100.0).plain
    assert "silent for 10 s" in text and "running" not in text
    assert "twin: fell behind real time" in text


def test_values_are_matched_by_name():
    names = list(reversed(MODEL.joint_names))
    assert by_joint(names, range(6), MODEL).tolist() == [5, 4, 3, 2, 1, 0]
    assert by_joint(names[1:], range(5), MODEL) is None


# When run sends its trajectory: the words are those of the real diagnostics.


class Pending:
    """A trajectory to be sent, told at each step what is heard; ``is_due``: it was just sent."""

    def __init__(self):
        self._heard, self._sent = Heard(None, None, False, 0.0), 0
        self._steps = sending(lambda: self._heard, self._send)
        next(self._steps)

    def _send(self):
        self._sent += 1

    def update(self, controller, twin, is_connected, now):
        before = self._sent
        self._heard = Heard(controller, twin, is_connected, now)
        said = next(self._steps, "")
        self.is_due = self._sent > before
        return said


def controller(phase, message="", mode="feedforward", heard=0.0, **values):
    told = {"phase": phase_text(phase), "following": following(phase), "mode": mode, **values}
    return NodeStatus("controller", "active", DiagnosticLevel.WARN, message, told, heard)


def twin(brakes):
    return NodeStatus("twin", "active", DiagnosticLevel.OK, "running", {"brakes": brakes}, 0.0)


FREE = twin("off")


@pytest.mark.parametrize("phase", Phase)
def test_it_is_sent_in_every_phase_that_accepts_one_whatever_else_is_said(phase):
    pending = Pending()
    gap = controller(phase, "the last motion was abandoned: no joint state for 0.15 s")
    if phase is Phase.FLOATING:
        gap = controller(phase, mode="gravity_compensation")
        with pytest.raises(FeatherstoneError, match="in mode gravity_compensation no trajectory"):
            pending.update(gap, FREE, True, 0.1)
        return
    assert pending.update(gap, FREE, False, 0.1) == "" and not pending.is_due
    due = []
    for now in (0.2, 0.5, 0.8):
        assert pending.update(gap, FREE, True, now) == ""
        due.append(pending.is_due)
    assert due == [False, phase in TRACKING, False]  # once, when both sides have found each other


@pytest.mark.parametrize(
    ("status", "is_connected", "reason"),
    [
        (None, False, "nothing was heard of the controller"),
        (controller(Phase.WAITING, "waiting for joint states", heard=40.0), True, "for joint sta"),
        (controller(Phase.HOLDING, "running: hold", heard=-5.0), True, "controller for "),
        (controller(Phase.HOLDING, "running: hold", heard=40.0), False, "topic joint_trajectory"),
    ],
)
def test_what_it_waits_for_is_said_once_and_then_it_is_given_up(status, is_connected, reason):
    pending = Pending()
    times = [0.1 * k for k in range(int(10 * PATIENCE))]
    said = [(now, pending.update(status, FREE, is_connected, now)) for now in times]
    ((now, text),) = [line for line in said if line[1]]
    assert SAY < now < SAY + 0.2 and reason in text
    with pytest.raises(FeatherstoneError, match=f"not sent in {PATIENCE:g} s: .*{reason}"):
        pending.update(status, FREE, is_connected, PATIENCE + 0.1)


@pytest.mark.parametrize("said", [None, "on"])
def test_it_is_not_sent_to_a_twin_that_hears_no_commands(said):
    pending = Pending()
    for now in (0.2, 0.5, 0.8):
        assert pending.update(controller(Phase.HOLDING), said and twin(said), True, now) == ""
        assert not pending.is_due
    text = pending.update(controller(Phase.HOLDING), said and twin(said), True, SAY + 0.1)
    assert "twin" in text and not pending.is_due
    pending.update(controller(Phase.HOLDING), twin("finger"), True, SAY + 0.2)
    assert pending.is_due


def test_a_refusal_of_this_trajectory_is_an_error_with_its_reason():
    pending = Pending()
    once = {REFUSED: "1", "last refusal": "~/joint_trajectory: another one"}
    assert (
        pending.update(controller(Phase.HOLDING, **once), FREE, True, 0.4) == "" and pending.is_due
    )
    assert pending.update(controller(Phase.HOLDING, **once), FREE, True, 0.5) == ""
    twice = {REFUSED: "2", "last refusal": "~/joint_trajectory: joint is 1 beyond its limit"}
    with pytest.raises(FeatherstoneError, match="refused the trajectory: joint is 1 beyond"):
        pending.update(controller(Phase.HOLDING, **twice), FREE, True, 0.6)


@pytest.mark.parametrize(("phase", "said"), [(Phase.TRAJECTORY, ""), (Phase.HOLDING, "not said")])
def test_an_answer_that_does_not_come_is_worth_a_word(phase, said):
    pending = Pending()
    pending.update(controller(Phase.HOLDING), FREE, True, 0.4)
    pending.update(controller(phase), FREE, True, 0.5)
    assert said in pending.update(controller(Phase.HOLDING), FREE, True, 0.5 + ANSWER)
    assert pending.update(controller(Phase.HOLDING), FREE, True, 10.0 + ANSWER) == ""
