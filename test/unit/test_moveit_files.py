"""What a MoveIt configuration gets is read by MoveIt's own parser, where that is installed."""

import os
import re
from pathlib import Path

import pytest

from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools import cli

configs = pytest.importorskip(
    "moveit_configs_utils", reason="MoveIt's parser of configurations is not installed"
)
PAGE = Path(__file__).parents[2] / "docs" / "moveit.md"
PACKAGE = "arm_moveit_config"


def written_by_setup(folder):
    assert cli.main(["setup", "panda", "--output", str(folder / "arm.yaml")]) == 0
    return (folder / "arm_moveit_controllers.yaml").read_text()


def printed_in_the_page(folder):
    (text,) = re.findall(r"```yaml\n(moveit_controller_manager:.*?)```", PAGE.read_text(), re.S)
    return text


@pytest.mark.parametrize("text_of", [written_by_setup, printed_in_the_page])
def test_moveit_reads_the_controllers_and_the_robot(text_of, tmp_path, monkeypatch):
    package = tmp_path / "prefix/share" / PACKAGE / "config"
    index = tmp_path / "prefix/share/ament_index/resource_index/packages"
    for folder in (package, index):
        folder.mkdir(parents=True)
    (index / PACKAGE).touch()
    (package / "moveit_controllers.yaml").write_text(text_of(tmp_path))
    (package / "panda.urdf").write_text(robot_file("panda").read_text())
    (package / "panda.srdf").write_text('<robot name="panda"/>')
    for name in ("kinematics", "joint_limits", "pilz_cartesian_limits"):
        (package / f"{name}.yaml").write_text("{}")
    prefixes = [str(tmp_path / "prefix"), os.environ.get("AMENT_PREFIX_PATH", "")]
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(prefixes))
    read = configs.MoveItConfigsBuilder("panda", package_name=PACKAGE).to_moveit_configs()
    execution = read.trajectory_execution
    plugin = "moveit_simple_controller_manager/MoveItSimpleControllerManager"
    assert execution["moveit_controller_manager"] == plugin
    manager = execution["moveit_simple_controller_manager"]
    assert manager["controller_names"] == ["feedforward_controller"]
    model = Model.from_urdf(read.robot_description["robot_description"])
    assert manager["feedforward_controller"] == {
        "type": "FollowJointTrajectory",
        "action_ns": "follow_joint_trajectory",
        "default": True,
        "joints": list(model.joint_names),
    }
