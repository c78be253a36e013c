"""The nodes' --help and --version, answered before anything starts; what they say without ROS."""

import subprocess
import sys

import pytest

from featherstone_ros import __version__
from featherstone_ros.errors import GET_ROS


@pytest.mark.parametrize("node", ["feedforward_controller", "digital_twin"])
@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_are_told_and_start_nothing(node, flag, tmp_path):
    command = [sys.executable, "-X", "importtime", "-m", f"featherstone_ros.{node}", flag]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "rclpy" not in done.stderr
    if flag == "--version":
        assert done.stdout == f"{node} {__version__}\n"
    else:
        assert f"usage: {node}" in done.stdout and "robot_description" in done.stdout


@pytest.mark.parametrize("node", ["feedforward_controller", "digital_twin", "torque_markers"])
def test_without_ros_one_line_says_how_to_get_it(node, tmp_path):
    code = (
        "import sys; sys.modules['rclpy'] = None; "  # as if it were not there
        f"from featherstone_ros.{node} import main; sys.exit(main([]))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{node}: cannot start: ") and "rclpy" in line
    assert line.endswith(GET_ROS)
    assert (done.returncode, done.stdout) == (1, "")
