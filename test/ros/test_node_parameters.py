"""Parameter services of the real nodes: odd requests, a dump that is loaded, gains that last."""

import pytest
import yaml
from support import Ros  # skips this module where ROS is missing

# isort: split
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import (
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.parameter import parameter_dict_from_yaml_file, parameter_value_to_python
from std_msgs.msg import String
from test_lifecycle import SLIDER, slider

from featherstone_ros.model.parameter_files import parameter_names, read_parameters
from featherstone_ros.model.robots import robot_file, robot_parameters, share_directory
from featherstone_ros.nodes.topics import LATCHED
from featherstone_ros.tools.robot_setup import load

NODES = ["digital_twin", "feedforward_controller"]
OF_EVERY_NODE = {"use_sim_time", "start_type_description_service"}


def all_parameters(ros: Ros, node: str) -> dict:
    """Return all values, as `ros2 param dump` asks for them."""
    names = ros.call(ListParameters, f"/{node}/list_parameters").result.names
    request = GetParameters.Request(names=names)
    values = ros.call(GetParameters, f"/{node}/get_parameters", request).values
    return dict(zip(names, map(parameter_value_to_python, values), strict=True))


def nested(values: dict) -> dict:
    """Return values as `ros2 param dump` writes them: a level for each part of a name."""
    tree: dict = {}
    for name, value in values.items():
        *parents, last = name.split(".")
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        is_array = hasattr(value, "__iter__") and not isinstance(value, str)
        branch[last] = list(value) if is_array else value
    return tree


@pytest.mark.parametrize("node", NODES)
def test_what_was_read_from_files_and_dumped_can_be_loaded(ros, node):
    """From the node's own file as it stands, and that of a robot."""
    robot, own = load("panda"), share_directory() / "config" / f"{node}.yaml"
    arguments = ("--params-file", str(own), "--params-file", str(robot_parameters("panda")))
    arguments += ("-p", f"robot_description:={robot_file('panda')}")
    process = ros.start(f"featherstone_ros.{node}", None, *arguments)
    ros.wait_for_state(f"/{node}", "active")
    before = all_parameters(ros, node)
    assert len(before) > 80
    for name, value in robot.parameters[node].items():
        assert before[name] == value, name
    dump = ros.folder / "dump.yaml"
    dump.write_text(yaml.safe_dump({f"/{node}": {"ros__parameters": nested(before)}}))
    loaded = parameter_dict_from_yaml_file(str(dump), target_nodes=[f"/{node}"])
    request = SetParameters.Request(parameters=list(loaded.values()))
    assert len(request.parameters) == len(before)
    results = ros.call(SetParameters, f"/{node}/set_parameters", request).results
    assert [result.reason for result in results if not result.successful] == []
    assert len(results) == len(before)
    assert all_parameters(ros, node) == before
    process.stop()
    process = ros.start(f"featherstone_ros.{node}", None, "--params-file", str(dump))
    ros.wait_for_state(f"/{node}", "active")
    assert all_parameters(ros, node) == before
    process.stop()


def go_round(ros: Ros, node: str) -> None:
    for transition in ("deactivate", "cleanup", "configure", "activate"):
        assert ros.change_state(f"/{node}", transition), transition


@pytest.mark.parametrize(
    ("node", "name"),
    [("digital_twin", "armature.rail"), ("feedforward_controller", "friction.rail.viscous")],
)
def test_what_was_set_at_run_time_lasts_as_long_as_the_joints_do(ros, node, name):
    process = ros.start(f"featherstone_ros.{node}", {name: 1.0})
    descriptions = ros.publisher(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=SLIDER))
    ros.wait_for_state(f"/{node}", "active")
    assert ros.get_parameter(f"/{node}", name) == 1.0
    assert ros.set_parameters(f"/{node}", {name: 7.0})[0].successful
    go_round(ros, node)
    assert ros.get_parameter(f"/{node}", name) == 7.0
    descriptions.publish(String(data=SLIDER + "<!-- generated anew -->"))
    process.wait_for_output("refused another robot description")
    go_round(ros, node)
    assert ros.get_parameter(f"/{node}", name) == 7.0
    descriptions.publish(String(data=slider("rail", "lift")))
    ros.wait_for(
        lambda: process.output.count("refused another robot description") == 2, "second refusal"
    )
    go_round(ros, node)
    assert ros.get_parameter(f"/{node}", name) == 1.0  # another robot: as at the start


def declared(ros: Ros, node: str) -> set[str]:
    names = ros.call(ListParameters, f"/{node}/list_parameters").result.names
    return {name for name in names if not name.startswith("qos_overrides.")} - OF_EVERY_NODE


@pytest.fixture(scope="module", params=NODES)
def started(request, shared_ros) -> tuple[Ros, str]:
    """A node that moves a Panda, by its defaults."""
    node = request.param
    shared_ros.start(f"featherstone_ros.{node}", {"robot_description": load("panda").text})
    shared_ros.wait_for_state(f"/{node}", "active")
    return shared_ros, node


def test_the_nodes_file_lists_its_parameters_and_defaults(started):
    ros, node = started
    assert parameter_names(node, load("panda").model.joint_names) == declared(ros, node)
    written = read_parameters(share_directory() / "config" / f"{node}.yaml")[node]
    written.pop("robot_description")
    values = all_parameters(ros, node)
    assert {name: values[name] for name in written} == written


def test_value_of_an_unknown_type_is_refused_by_name(started):
    ros, node = started
    odd = ParameterMessage(name="friction.panda_joint1.coulomb", value=ParameterValue(type=77))
    request = SetParameters.Request(parameters=[odd])
    (result,) = ros.call(SetParameters, f"/{node}/set_parameters", request).results
    assert not result.successful
    assert "77 is not a valid" in result.reason
    name = f"/{node}/set_parameters_atomically"
    request = SetParametersAtomically.Request(parameters=[odd])
    assert "77" in ros.call(SetParametersAtomically, name, request).result.reason
    assert ros.state(f"/{node}") == "active"
