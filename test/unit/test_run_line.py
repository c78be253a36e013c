"""The line that `featherstone-ros run` shows."""

from dataclasses import replace

import numpy as np

from featherstone_ros.control.diagnostics import DiagnosticLevel
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools.node_status import NodeStatus, by_joint
from featherstone_ros.tools.run.status_line import (
    CONTROLLER,
    TWIN,
    WAITING,
    ArmStatus,
    line,
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
