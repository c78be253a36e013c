"""What a newcomer gets wrong is said in the log, with what was seen and what was expected."""

import json
from collections.abc import Iterable

import numpy as np
from support import status_values  # skips this module where ROS is missing

from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file

from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip

JOINTS = Model.from_robot("ur5e").joint_names
START = [0.5, -1.5, 1.5, -1.5, 1.0, 0.5]
ARM = {"robot_description": str(robot_file("ur5e"))}


# Names and positions, and what is said of them; more of it: test_events.py.
USELESS = (
    (JOINTS, np.degrees(START), "degrees?"),
    (["finger"], [0.0], "none of them"),
    ([*JOINTS, "x" * 70_000], [0.0] * 7, "bytes, expected at most 65536"),
)


def test_mistakes_are_told_with_what_was_expected(ros):
    """A gain of one joint in six, states of no use, and a command that nobody listens to."""
    gains = {"gains.elbow_joint.p": 50.0, "gains.elbow_joint.d": 8.0, "gains.bandwidth": 0.0}
    node = ros.start("featherstone_ros.feedforward_controller", {**ARM, **gains})
    node.wait_for_output("activate: done")
    others = ", ".join(joint for joint in JOINTS if joint != "elbow_joint")
    assert f"gains.<joint>.p is 0 for {others}: nothing corrects an error" in node.output
    assert "gravity tips the joint over" in node.output  # and so the check of stability says
    states = ros.publisher(JointState, "/joint_states")

    def told(names: Iterable[str], positions: Iterable[float], text: str) -> DiagnosticStatus:
        """Publish such a state until the diagnostics say it."""
        message = JointState(name=list(names), position=[float(q) for q in positions])
        message.velocity = [0.0] * len(message.position)
        found = ros.new_status(text, level=DiagnosticStatus.WARN)

        def is_told() -> DiagnosticStatus | None:
            message.header.stamp = ros.node.get_clock().now().to_msg()
            states.publish(message)
            return found()

        return ros.wait_for(is_told, f"diagnostics with {text!r}")

    for *state, text in USELESS:
        status = told(*state, text)
        assert status.message.startswith("waiting for joint states; refused joint_states: ")
        node.wait_for_output(text)
        (line, *_) = (line for line in node.output.splitlines() if text in line)
        assert "[WARN]" in line and "joint_states: " in line and "expected" in line
    status = told(JOINTS, START, "nobody listens to /feedforward_controller/commands")
    assert status_values(status)["following"] == "hold"
    still = {"joint_names": JOINTS, "points": [{"positions": START, "time_from_start": 1.0}]}
    (ros.folder / "still.yaml").write_text(json.dumps(still))
    replay = ros.tool("replay", "still.yaml")
    unheard = "no commands, waiting for joint states; nobody listens to /feedforward_controller"
    assert ros.status(unheard).level == DiagnosticStatus.ERROR
    replay.wait_for_output("waiting for feedforward_controller: no listener to its commands yet")
