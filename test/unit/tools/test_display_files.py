"""RViz's, PlotJuggler's and Foxglove's files name topics and frames that the nodes have."""

import ast
import json
import re
from xml.etree import ElementTree

import pytest
import yaml

from featherstone_ros.model.robots import share_directory
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.setup.files import rviz_file

SHARE = share_directory()
TOPIC_FIELDS = {
    "sensor_msgs/JointState": {"position", "velocity", "effort"},
    "geometry_msgs/WrenchStamped": {
        f"wrench/{part}/{axis}" for part in ("force", "torque") for axis in "xyz"
    },
}
TOPICS = {
    "/joint_states": "sensor_msgs/JointState",
    "/feedforward_controller/error": "sensor_msgs/JointState",
    "/feedforward_controller/desired": "sensor_msgs/JointState",
    "/digital_twin/residual": "sensor_msgs/JointState",
    "/digital_twin/external_wrench_estimate": "geometry_msgs/WrenchStamped",
}


@pytest.fixture
def rviz():
    return yaml.safe_load((SHARE / "config" / "side_by_side.rviz").read_text())


def displays(rviz, kind):
    found = rviz["Visualization Manager"]["Displays"]
    return [d for d in found if d["Class"] == f"rviz_default_plugins/{kind}"]


def others():
    """The frame prefixes and topics of rviz.launch.py, which needs ROS 2 to be imported."""
    tree = ast.parse((SHARE / "launch" / "rviz.launch.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "OTHERS":
            return ast.literal_eval(node.value)
    raise AssertionError("no OTHERS in rviz.launch.py")


def test_rviz_shows_the_robots_that_the_launch_file_starts(rviz):
    robots = displays(rviz, "RobotModel")
    assert [robot["TF Prefix"] for robot in robots] == ["", *others()]
    for robot in robots:
        topic = robot["Description Topic"]
        assert topic["Value"] == "robot_description"
        assert topic["Durability Policy"] == "Transient Local"


def test_rviz_of_setup_shows_the_arm_alone_in_its_own_frame():
    content = yaml.safe_load(rviz_file(load("panda").model))
    assert [robot["TF Prefix"] for robot in displays(content, "RobotModel")] == [""]
    frame = content["Visualization Manager"]["Global Options"]["Fixed Frame"]
    assert frame == load("panda").model.base_link != "base_link"


def test_rviz_shows_the_arrows(rviz):
    from torque_markers import WRENCHES

    (arrows,) = displays(rviz, "MarkerArray")
    assert arrows["Topic"]["Value"] == "torque_markers/markers"
    assert set(arrows["Namespaces"]) == {"torque", *WRENCHES}


LAYOUT = ElementTree.parse(SHARE / "config" / "plotjuggler.xml").getroot()
CURVES = [curve.get("name") for curve in LAYOUT.iter("curve")]


def test_plotjuggler_layout_is_whole():
    joints = load("panda").model.joint_names
    for splitter in LAYOUT.iter("DockSplitter"):
        sizes = [float(size) for size in splitter.get("sizes").split(";")]
        assert len(sizes) == len(splitter) == int(splitter.get("count"))
        assert sum(sizes) == pytest.approx(1.0, abs=1e-5)
    assert len(CURVES) == len(set(CURVES))
    for curve in CURVES:
        topic = next(topic for topic in TOPICS if curve.startswith(f"{topic}/"))
        field = curve.removeprefix(f"{topic}/")
        if TOPICS[topic] == "sensor_msgs/JointState":
            joint, _, field = field.partition("/")
            assert joint in joints
        assert field in TOPIC_FIELDS[TOPICS[topic]]


def test_foxglove_layout_plots_fields_of_topics():
    layout = json.loads((SHARE / "config" / "foxglove.json").read_text())
    plots = [panel for name, panel in layout["configById"].items() if name.startswith("Plot!")]
    values = [path["value"] for plot in plots for path in plot["paths"]]
    assert len(values) == len(set(values)) == 17
    for value in values:
        topic, field = value.split(".", 1)
        assert re.sub(r"\[\d\]$", "", field).replace(".", "/") in TOPIC_FIELDS[TOPICS[topic]]
