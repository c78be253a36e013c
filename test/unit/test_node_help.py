"""Nodes explain themselves before they start anything."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("node", ["feedforward_controller", "digital_twin"])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_explains_and_starts_nothing(node, flag):
    command = [sys.executable, "-X", "importtime", "-m", f"featherstone_ros.{node}", flag]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert f"usage: {node}" in done.stdout and "robot_description" in done.stdout
    assert "rclpy" not in done.stderr
