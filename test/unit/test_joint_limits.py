"""Limits in the form of MoveIt's joint_limits.yaml."""

import logging

import pytest

from featherstone_ros import Model, ModelError
from featherstone_ros.tools import cli

PANDA = Model.from_robot("panda")
TEXT = """
default_velocity_scaling_factor: 0.1
joint_limits:
  panda_joint1:
    has_velocity_limits: true
    max_velocity: 1.5
    has_acceleration_limits: true
    max_acceleration: 3.75
  panda_joint2:
    has_velocity_limits: false
    max_velocity: 0
    max_jerk: 5e2
    min_position: -1.0
    max_position: 1.0
  panda_joint4:
    max_acceleration: 4
    max_deceleration: -2.5
    max_effort: 60
"""


def changes(model):
    """Return the limits that are not the Panda's, by field and joint's number."""
    fields = ("lower", "upper", "velocity_limit", "effort_limit")
    fields += ("acceleration_limit", "deceleration_limit", "jerk_limit")
    return {
        (field, index + 1): after
        for field in fields
        for index, (before, after) in enumerate(
            zip(getattr(PANDA, field), getattr(model, field), strict=True)
        )
        if before != after
    }


EXPECTED = {
    ("velocity_limit", 1): 1.5,
    ("acceleration_limit", 1): 3.75,
    ("deceleration_limit", 1): 3.75,
    ("lower", 2): -1.0,
    ("upper", 2): 1.0,
    ("jerk_limit", 2): 500.0,
    ("effort_limit", 4): 60.0,
    ("acceleration_limit", 4): 4.0,
    ("deceleration_limit", 4): 2.5,
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "joint_limits.yaml"
    path.write_text(TEXT)
    return path


def test_a_file_of_moveit_takes_the_place_of_the_urdfs_limits(file):
    limited = PANDA.with_joint_limits(file)
    assert changes(limited) == EXPECTED and not changes(PANDA)
    assert limited.joint_names == PANDA.joint_names


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_so_does_a_mapping_also_below_a_node_s_parameters(depth):
    given = {"joint_limits": {"panda_joint1": {"max_velocity": 1.5}}}
    for _ in range(depth):
        given = {"ros__parameters": given}
    assert changes(PANDA.with_joint_limits(given)) == {("velocity_limit", 1): 1.5}


def test_other_joints_are_left_out_and_told(caplog):
    arm = Model.from_robot("panda", joints=["panda_joint1"])
    given = {name: {"max_velocity": 1.0} for name in ("panda_joint2", "finger", "panda_joint1")}
    with caplog.at_level(logging.WARNING):
        limited = arm.with_joint_limits({"joint_limits": given})
    assert limited.velocity_limit.tolist() == [1.0]
    assert "'finger'" in caplog.text and "panda_joint2" not in caplog.text


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_velocity": "fast"}, "max_velocity is 'fast', expected a finite number"),
        ({"max_velocity": float("nan")}, "max_velocity is nan"),
        ({"max_velocity": True}, "max_velocity is True"),
        ({"max_velocity": -1}, "max_velocity is -1, expected >= 0"),
        ({"max_jerk": -1}, "max_jerk is -1"),
        ({"min_position": 5.0}, "min_position is 5, expected at most max_position"),
        ([1], r"limits are \[1\], expected names and numbers"),
    ],
)
def test_what_is_no_limit_is_refused_by_name(limits, message):
    with pytest.raises(ModelError, match=f"joint 'panda_joint1': {message}"):
        PANDA.with_joint_limits({"joint_limits": {"panda_joint1": limits}})


def test_a_file_that_has_none_is_named(file):
    file.write_text("joints: {}")
    with pytest.raises(ModelError, match=r"joint_limits\.yaml: no 'joint_limits'"):
        PANDA.with_joint_limits(file)
    file.write_text("joint_limits: {")
    with pytest.raises(ModelError, match=r"joint_limits\.yaml: "):
        PANDA.with_joint_limits(str(file))
    with pytest.raises(ModelError, match=r"^limits: no 'joint_limits'"):
        PANDA.with_joint_limits({})


PLAN = """
joint_names: [panda_joint1]
points:
- {positions: [0.0], velocities: [0.0], accelerations: [0.0], time_from_start: {sec: 0, nanosec: 0}}
- {positions: [0.5], velocities: [0.0], accelerations: [0.0], time_from_start: {sec: 1, nanosec: 0}}
"""


def test_preflight_judges_by_them(tmp_path, file, capsys):
    """Half a radian in 1 s, quintic: at most 0.94 rad/s and 2.89 rad/s^2."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    command = ["preflight", str(plan), "--urdf", "panda", "--joint-limits", str(file)]
    assert cli.main(command[:4]) == 0
    assert cli.main(command) == 0
    file.write_text(TEXT.replace("3.75", "2.8"))
    assert cli.main(command) == 1
    assert "acceleration" in capsys.readouterr().out
    file.unlink()
    assert cli.main(command) == 2
    assert "joint_limits.yaml cannot be read" in " ".join(capsys.readouterr().err.split())
