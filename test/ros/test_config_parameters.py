"""The parameter files in config/ and the parameters that the nodes declare are the same."""

import pytest
from support import Ros

from featherstone_ros.model.parameter_files import parameter_names, read_parameters
from featherstone_ros.model.share import share_directory
from featherstone_ros.tools.robot_setup import load

from rcl_interfaces.srv import ListParameters  # isort: skip  (support skips where ROS is missing)

CONFIG = share_directory() / "config"
NODES = ["digital_twin", "feedforward_controller"]
OF_EVERY_NODE = {"use_sim_time", "start_type_description_service"}


def declared(ros: Ros, node: str) -> set[str]:
    ros.wait_for_state(f"/{node}", "active")
    names = ros.call(ListParameters, f"/{node}/list_parameters").result.names
    return {name for name in names if not name.startswith("qos_overrides.")} - OF_EVERY_NODE


@pytest.mark.parametrize("node", NODES)
def test_the_nodes_file_lists_its_parameters_and_defaults(ros, node):
    robot = load("panda")
    ros.start(f"featherstone_ros.{node}", {"robot_description": robot.text})
    assert parameter_names(node, robot.model.joint_names) == declared(ros, node)
    written = read_parameters(CONFIG / f"{node}.yaml")[node]
    written.pop("robot_description")
    for name, value in written.items():
        assert ros.get_parameter(f"/{node}", name) == value, name
