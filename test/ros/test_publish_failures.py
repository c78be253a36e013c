"""A node that cannot publish says so: commands that nobody gets are not OK."""

import sys
from pathlib import Path

from support import status_values  # skips this module where ROS is missing
from test_feedforward_controller import NAMES, NODE, PARAMETERS, Q

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState

PROGRAM = str(Path(__file__).with_name("unpublished.py"))


def test_a_topic_without_messages_is_an_error(ros):
    process = ros.run([sys.executable, PROGRAM, *ros.arguments(PARAMETERS)])
    process.wait_for_output("activate: done")
    states = ros.node.create_publisher(JointState, "joint_states", 10)
    search = ros.new_status("cannot publish on", NODE)

    def is_told() -> DiagnosticStatus | None:
        message = JointState(name=list(NAMES), position=list(Q))
        message.header.stamp = ros.node.get_clock().now().to_msg()
        states.publish(message)
        return search()

    status = ros.wait_for(is_told, "diagnostics")
    assert status.level == DiagnosticStatus.ERROR and f"{NODE}/commands" in status.message
    assert int(status_values(status)["messages not published"]) > 0
    process.stop()
