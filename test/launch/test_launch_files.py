"""Every launch file brings its nodes up, they work, and they end with status 0."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("launch_testing", reason="ROS 2's launch_testing is not installed")
pytest.importorskip("launch_ros", reason="ROS 2's launch_ros is not installed")

from arm_pair import PAIRS
from launch import LaunchContext
from launch.launch_description_sources import get_launch_description_from_python_launch_file
from support import free_domain, package_path

from featherstone_ros.model.robots import share_directory
from featherstone_ros.nodes.launch_support import is_installed

pytestmark = pytest.mark.ros

HERE = Path(__file__).parent
LAUNCHES = ("digital_twin", "feedforward_controller", "rviz", "twin_and_controller")
LAUNCHES += ("xacro_arguments", "topic_based_ros2_control", *(f"two_arms {it}" for it in PAIRS))
OF_ROS2_CONTROL = ("controller_manager", "robot_state_publisher", "topic_based_ros2_control")
OF_ROS2_CONTROL += ("forward_command_controller", "joint_state_broadcaster")


@pytest.mark.parametrize("launched", LAUNCHES)
def test_launch_file_brings_up_nodes_that_work_and_stop(launched, tmp_path):
    missing = [package for package in OF_ROS2_CONTROL if not is_installed(package)]
    if missing and "ros2_control" in launched:
        pytest.skip(f"not installed: {', '.join(missing)}")
    with free_domain() as domain:
        paths = [package_path(), str(HERE), str(HERE.parent / "ros"), os.environ.get("PYTHONPATH")]
        environment = {
            **os.environ,
            "LAUNCHED": launched,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_LOG_DIR": str(tmp_path),
        }
        run = subprocess.run(
            [sys.executable, "-m", "launch_testing.launch_test", HERE / "launched.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
    assert run.returncode == 0, run.stdout + run.stderr


REFUSED = {
    "no joints": ({"left_joints": ""}, "left_joints is empty, expected the names"),
    "a joint of both": (
        {"right_joints": "left_s0 right_s1"},
        "left_joints and right_joints have in common: left_s0",
    ),
}


@pytest.mark.parametrize(("changes", "reason"), REFUSED.values(), ids=REFUSED)
def test_two_arms_that_cannot_be_are_not_launched(changes, reason):
    context = LaunchContext()
    arguments = {"left_joints": "left_s0 left_s1", "right_joints": "right_s0 right_s1"}
    context.launch_configurations.update(arguments | changes)
    path = share_directory() / "launch" / "two_arms.launch.py"
    described = get_launch_description_from_python_launch_file(str(path))
    with pytest.raises(RuntimeError, match=reason):
        for entity in described.entities:
            entity.visit(context)
