"""featherstone-ros monitor beside the real nodes, with and without a terminal."""

import os
import re
import signal

import pytest
from support import (  # skips this module where ROS is missing
    TOOL,
    NodeProcess,
    Ros,
)
from terminal import in_terminal, read_until, read_until_end

# isort: split
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from featherstone_ros.model.robots import robot_file

TWIN = {"robot_description": robot_file("ur5e").read_text(), "rate": 100.0}


def monitor(ros: Ros, *options: str) -> NodeProcess:
    ros.environment["COLUMNS"] = "140"
    return ros.tool("monitor", *options)


@pytest.fixture(scope="module")
def twins(shared_ros: Ros) -> Ros:
    for namespace in ("left", "right"):
        shared_ros.start("featherstone_ros.digital_twin", TWIN, "-r", f"__ns:=/{namespace}")
    return shared_ros


def test_once_fails_if_nobody_is_heard(ros):
    process = monitor(ros, "--once", "--timeout", "0.5")
    assert process.wait() == 1
    assert "no featherstone_ros node" in process.output and "Traceback" not in process.output


def test_once_fails_if_a_node_has_an_error(ros):
    publisher = ros.node.create_publisher(DiagnosticArray, "/diagnostics", 10)
    status = DiagnosticStatus(name="arm/feedforward_controller", level=DiagnosticStatus.ERROR)
    status.message = "no usable joint states"
    status.values = [KeyValue(key="state", value="active")]
    process = monitor(ros, "--once", "--timeout", "40")
    ros.wait_for(
        lambda: publisher.publish(DiagnosticArray(status=[status])) or not process.is_running,
        "end of the monitor",
    )
    assert process.wait() == 1
    assert "no usable joint states" in process.output


def test_lines_without_a_terminal_and_once_show_every_namespace(twins):
    process = monitor(twins)
    process.wait_for_output("OK     left/digital_twin | active | ")
    process.wait_for_output("OK     right/digital_twin | active | ")
    process.stop(signal.SIGINT)
    assert "\x1b" not in process.output
    process = monitor(twins, "--once", "--timeout", "40")
    assert process.wait() == 0, process.output
    for name in ("left/digital_twin", "right/digital_twin"):
        assert re.search(rf"{name} \| active", process.output), process.output


def test_ctrl_c_in_a_terminal_ends_it(twins):
    with in_terminal(twins, *TOOL, "monitor") as (process, master, _):
        seen = read_until(master, b"right/digital_twin", b"active")
        os.write(master, b"\x03")
        seen += read_until_end(master, process)
        assert process.wait() == 0, seen.decode(errors="replace")
        assert b"Traceback" not in seen
