"""The console scripts of setup.py, run as they were installed."""

import sysconfig
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from support import Ros  # skips this module where ROS is missing

import featherstone_ros


def script(name: str) -> str:
    path = Path(sysconfig.get_path("scripts"), name)
    if not path.exists():
        pytest.skip(f"{path} is not there: the package was not installed by pip")
    return str(path)


@pytest.mark.parametrize("name", ["feedforward_controller", "digital_twin"])
def test_each_node_has_a_script(name):
    """It starts what `python -m` does, as all tests of nodes do."""
    (entry,) = entry_points(group="console_scripts", name=name)
    assert script(name) and entry.load() is import_module(f"featherstone_ros.{name}").main


def test_the_command_says_its_version(ros: Ros):
    process = ros.run([script("featherstone-ros"), "--version"])
    assert process.wait() == 0
    assert process.output.split() == ["featherstone-ros", featherstone_ros.__version__]
