"""Robots are found by name or by path."""

import numpy as np
import pytest

from featherstone_ros import Model
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.model.robots import robot_file, robot_names, robot_parameters


@pytest.mark.parametrize("robot", robot_names())
def test_model_of_our_robot_is_made_in_any_folder_without_a_warning(
    robot, tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    model = Model.from_robot(robot, gravity=(0, 0, 1))
    assert not caplog.records
    same = Model.from_file(robot_file(robot))
    assert np.array_equal(model.inertial_parameters, same.inertial_parameters)
    assert model.gravity.tolist() == [0, 0, 1]


def test_model_of_a_path_is_that_of_the_file_with_its_warnings(caplog):
    model = Model.from_robot(str(robot_file("panda")))
    assert model.joint_names == Model.from_robot("panda").joint_names
    assert "panda_link4" in caplog.text


def test_robot_file_of_a_path_is_absolute(tmp_path, monkeypatch):
    (tmp_path / "arm.urdf").touch()
    monkeypatch.chdir(tmp_path)
    assert robot_file("arm.urdf") == tmp_path / "arm.urdf"
    assert robot_parameters("arm.urdf") is None


def test_robot_file_raises_if_there_is_no_such_robot_or_file():
    with pytest.raises(UnknownNameError, match=r"'no_such_arm'.*panda, ur5e"):
        robot_file("no_such_arm")
