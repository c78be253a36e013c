"""What `featherstone-ros doctor` says of other nodes."""

from math import inf
from types import SimpleNamespace

import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from featherstone_ros.control.diagnostics import DiagnosticLevel as Level
from featherstone_ros.tools.doctor import checks
from featherstone_ros.tools.doctor.checks import (
    check_commands,
    check_nodes,
    check_states,
    check_topic,
)

TWIN = ["/digital_twin"]


@pytest.mark.parametrize(("comes", "looks"), [(0.0, 4.0), (3.8, 4.8), (inf, 4.0)])
def test_who_is_announced_a_second_time_is_found(comes, looks, monkeypatch):
    """The middleware announces a node again after 3 s; somebody else may be found at once."""
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    nodes = [("featherstone_doctor", "/"), ("rviz", "/"), ("digital_twin", "/")]
    node = SimpleNamespace(
        get_node_names_and_namespaces=lambda: nodes if clock.now >= comes else nodes[:2],
        get_topic_names_and_types=lambda: [("/parameter_events", [])],
    )
    monkeypatch.setattr(checks, "time", clock)
    spin = lambda seconds: setattr(clock, "now", clock.now + seconds)  # noqa: E731
    checks.find_others(SimpleNamespace(node=node, spin=spin))
    assert abs(clock.now - looks) < 0.25


def heard(stamp: int, received: float) -> list:
    state = JointState(header=Header(stamp=Time(sec=stamp)))
    return [(serialize_message(state), {"received_timestamp": round(1e9 * received)})]


def test_two_nodes_of_one_name_are_an_error():
    assert check_nodes(["/twin", "/controller"]).level == Level.OK
    line = check_nodes(["/twin", "/controller", "/twin"])
    assert line.level == Level.ERROR and "/twin" in line.text and line.remedy


@pytest.mark.parametrize("name", ["/clock", "/feedforward_controller/commands"])
def test_where_one_is_expected_two_publishers_are_an_error(name):
    assert check_topic(name, TWIN, "commands").level == Level.OK
    line = check_topic(name, [*TWIN, "/other"], "commands")
    assert line.level == Level.ERROR and "/digital_twin and /other" in line.text


@pytest.mark.parametrize(
    ("messages", "is_simulated", "level", "words"),
    [
        (heard(100, 100.01), False, Level.OK, "1 a second"),
        (heard(100, 103.0), False, Level.WARN, "stamps are 3 s old"),
        (heard(100, 103.0), True, Level.OK, "a second"),
        ([], False, Level.WARN, "none came"),
    ],
)
def test_joint_states_come_by_the_same_clock(messages, is_simulated, level, words):
    line = check_states("/joint_states", TWIN, messages, is_simulated)
    assert line.level == level and words in line.text and bool(line.remedy) == (level > Level.OK)


def test_commands_that_nobody_hears_are_a_warning():
    topic = "/left/controller/joint_commands"
    assert check_commands(topic, TWIN, listeners=1).level == Level.OK
    line = check_commands(topic, TWIN, listeners=0)
    assert line.level == Level.WARN and "nobody listens" in line.text
    assert f"-r '~/joint_commands:={topic}'" in line.remedy
    assert check_commands(topic, [*TWIN, "/other"], listeners=0).level == Level.ERROR


def test_two_commanders_make_the_exit_status_1(ros: Ros):
    for name in ("feedforward", "feedforward", "unheard", "heard"):
        ros.node.create_publisher(Float64MultiArray, f"{name}_controller/commands", 1)
    ros.node.create_subscription(Float64MultiArray, "heard_controller/commands", lambda _: None, 1)
    status, output = ros.run_tool("doctor")
    assert status == 1, output
    assert "commands of 2 publishers" in output and "Traceback" not in output
    assert output.count("; nobody listens") == 1, output
    assert "-r '~/commands:=/unheard_controller/commands'" in output
    assert f"ROS_DOMAIN_ID={ros.domain}" in output
    assert len(output.splitlines()) <= 24  # a screen
