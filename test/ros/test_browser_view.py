"""The example that shows an arm in a browser: it serves its page, and bears what it hears."""

import socket
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

import featherstone_ros as fr

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
