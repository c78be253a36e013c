"""The console scripts of setup.py, run as they were installed."""

import sysconfig
from pathlib import Path

import pytest
from support import Ros  # skips this module where ROS is missing
from test_lifecycle import SLIDER

import featherstone_ros

NODES = ["feedforward_controller", "digital_twin", "torque_markers"]


def script(name: str) -> str:
    path = Path(sysconfig.get_path("scripts"), name)
    if not path.exists():
        pytest.skip(f"{path} is not there: the package was not installed by pip")
    return str(path)


def test_each_node_starts_and_ends_in_order(ros: Ros):
    file = ros.folder / "slider.yaml"
    file.write_text(f"/**: {{ros__parameters: {{robot_description: '{SLIDER}'}}}}")
    arguments = ["--ros-args", "--params-file", str(file)]
    nodes = [ros.run([script(name), *arguments]) for name in NODES]
    for name, node in zip(NODES, nodes, strict=True):
        node.wait_for_output("activate: done")
        assert ros.state(f"/{name}") == "active"
    for node in nodes:
        node.stop()


def test_the_command_says_its_version(ros: Ros):
    process = ros.run([script("featherstone-ros"), "--version"])
    assert process.wait() == 0
    assert process.output.split() == ["featherstone-ros", featherstone_ros.__version__]
