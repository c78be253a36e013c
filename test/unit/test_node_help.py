"""The nodes' --help and --version, answered before anything starts."""

import subprocess
import sys

import pytest

from featherstone_ros import __version__


@pytest.mark.parametrize("node", ["feedforward_controller", "digital_twin"])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_explains_and_starts_nothing(node, flag):
    command = [sys.executable, "-X", "importtime", "-m", f"featherstone_ros.{node}", flag]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert f"usage: {node}" in done.stdout and "robot_description" in done.stdout
    assert "rclpy" not in done.stderr


@pytest.mark.parametrize("node", ["feedforward_controller", "digital_twin"])
def test_version_is_told_and_starts_nothing(node):
    command = [sys.executable, "-X", "importtime", "-m", f"featherstone_ros.{node}", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{node} {__version__}\n")
    assert "rclpy" not in done.stderr
