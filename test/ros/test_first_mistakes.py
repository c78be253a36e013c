"""What a newcomer gets wrong is said in the log, with what was seen and what was expected."""

import numpy as np
import support  # noqa: F401  (skips this module where ROS is missing)

from featherstone_ros.model.robots import robot_file

from sensor_msgs.msg import JointState  # isort: skip  (support skips where ROS is missing)

JOINTS = [
    f"{name}_joint"
    for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
]
ARM = {"robot_description": str(robot_file("ur5e"))}


def test_one_gain_of_six_does_not_silence_the_warning_about_the_others(ros):
    gains = {"gains.elbow_joint.p": 50.0, "gains.elbow_joint.d": 8.0, "gains.bandwidth": 0.0}
    node = ros.start("featherstone_ros.feedforward_controller", {**ARM, **gains})
    node.wait_for_output("activate: done")
    others = ", ".join(joint for joint in JOINTS if joint != "elbow_joint")
    assert f"gains.<joint>.p is 0 for {others}: nothing corrects an error" in node.output
    assert "gravity tips the joint over" in node.output  # and so the check of stability says


# Names and positions, and what is said of them; more of it: test_events.py.
USELESS = (
    (JOINTS, np.degrees([0.5, -1.5, 1.5, -1.5, 1.0, 0.5]), "degrees?"),
    (["finger"], [0.0], "none of them"),
    ([*JOINTS, "x" * 70_000], [0.0] * 7, "bytes, expected at most 65536"),
)


def test_states_of_no_use_are_told_with_what_was_expected(ros):
    node = ros.start("featherstone_ros.feedforward_controller", ARM)
    states = ros.publisher(JointState, "/joint_states")
    for names, positions, text in USELESS:
        message = JointState(name=list(names), position=[float(q) for q in positions])
        told = ros.new_status(text)

        def is_told() -> bool:
            message.header.stamp = ros.node.get_clock().now().to_msg()  # noqa: B023
            states.publish(message)  # noqa: B023
            return text in node.output and (told() or None)  # noqa: B023

        status = ros.wait_for(is_told, f"diagnostics with {text!r}")
        assert status.message.startswith("waiting for joint states; refused joint_states: ")
        (line, *_) = (line for line in node.output.splitlines() if text in line)
        assert "[WARN]" in line and "joint_states: " in line and "expected" in line
