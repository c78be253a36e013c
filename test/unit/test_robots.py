"""Robots are found by name or by path."""

import pytest

from featherstone_ros import Model
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.model.robots import robot_file, robot_names, robot_parameters


def test_robot_names_include_the_two_arms():
    assert {"panda", "ur5e"} <= set(robot_names())


@pytest.mark.parametrize("robot", robot_names())
def test_robot_file_is_a_model_that_its_parameters_belong_to(robot):
    model = Model.from_file(robot_file(robot))
    text = robot_parameters(robot).read_text()
    assert all(joint in text for joint in model.joint_names)


def test_robot_file_of_a_path_is_absolute(tmp_path, monkeypatch):
    (tmp_path / "arm.urdf").touch()
    monkeypatch.chdir(tmp_path)
    assert robot_file("arm.urdf") == tmp_path / "arm.urdf"
    assert robot_parameters("arm.urdf") is None


def test_robot_file_raises_if_there_is_no_such_robot_or_file():
    with pytest.raises(UnknownNameError, match=r"'no_such_arm'.*panda, ur5e"):
        robot_file("no_such_arm")
