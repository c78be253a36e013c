"""The example that shows an arm in a browser: its page has what came, and it bears all that."""

import socket
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.request import urlopen

import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

import featherstone_ros as fr
from featherstone_ros.model.robots import robot_file

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "browser_view.py"
NAMES = list(fr.Model.from_robot("panda").joint_names)


def test_the_page_is_served_while_the_arm_moves(ros: Ros) -> None:
    pytest.importorskip("viser", reason="viser is not installed: pip install viser")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(EXAMPLE), "panda", "--shadow", "shadow", "--port", str(port)]
    process = ros.run(command)
    states = [
        ros.publisher(JointState, topic)
        for topic in ("/joint_states", "/shadow/predicted_joint_states")
    ]
    error = ros.publisher(JointState, "/feedforward_controller/error")
    wrench = ros.publisher(WrenchStamped, "/shadow/external_wrench_estimate")
    push = WrenchStamped()
    for frame, q in (("panda_hand", 0.3), ("nowhere", float("nan"))):
        push.header.frame_id = frame
        for publisher in states:
            publisher.publish(JointState(name=NAMES, position=[q] * 7))
        error.publish(JointState(name=NAMES, position=[q] * 7))
        wrench.publish(push)
        ros.run_for(0.2)  # it draws 20 times a second
    assert process.is_running and "Traceback" not in process.output, process.output
    with urlopen(f"http://127.0.0.1:{port}") as page:
        assert b"<html" in page.read()


@pytest.fixture
def browser_view(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("viser", reason="viser is not installed: pip install viser")
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    return import_module("browser_view")


def test_nothing_is_shown_that_has_not_come(ros: Ros, browser_view: ModuleType) -> None:
    def shown() -> str:
        view._draw()
        arms = view._arm, view._ahead
        return " ".join([*(str(arm._lines.visible) for arm in arms), view._text.content])

    joints = JointState(name=NAMES, position=[0.3] * 7)
    push = WrenchStamped()
    push.wrench.force.x = 2.0
    server = browser_view.viser.ViserServer("127.0.0.1", 0, verbose=False)
    rclpy.init(domain_id=ros.domain, signal_handler_options=SignalHandlerOptions.NO)
    try:
        text = robot_file("panda").read_text()
        view = browser_view.BrowserView(server, text, "shadow", "controller")
        assert shown() == "False False Waiting for joint states."
        view._arm.move(joints)
        assert shown() == "True False Blue: measured."
        view._ahead.move(joints)
        assert shown() == "True True Blue: measured.\n\nOrange: predicted."
        view._take_wrench(push)
        assert shown().endswith("predicted.\n\nForce from outside: 2.0 N")
        view._take_error(joints)
        assert shown().endswith("2.0 N\n\nLargest tracking error: 300.00 mrad, mm")
    finally:
        rclpy.try_shutdown()
        server.stop()
