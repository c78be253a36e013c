"""What a newcomer gets wrong is said in the log, with what was seen and what was expected."""

from collections.abc import Iterator

import numpy as np
import pytest
from support import Ros, ros_in_free_domain  # skips this module where ROS is missing

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


# Names and positions, and what is said of them.
USELESS = {
    "degrees": (JOINTS, np.degrees([0.5, -1.5, 1.5, -1.5, 1.0, 0.5]), "degrees?"),
    "prefix": ([f"left_{name}" for name in JOINTS], [0.0] * 6, "the prefix 'left_' is too much"),
    "one_missing": (JOINTS[:5], [0.0] * 5, "wrist_3_joint missing"),
    "another_robot": (["finger"], [0.0], "none of them"),
    "too_many": (
        [*JOINTS, *[f"other_{k}" for k in range(1000)]],
        [0.0] * 1006,
        "name has 1006 items",
    ),
    "too_large": ([*JOINTS, "x" * 70_000], [0.0] * 7, "bytes, expected at most 65536"),
}


class Newcomers:
    """A controller for each mistake, in a namespace of its name; they wait at the same time."""

    def __init__(self, ros: Ros) -> None:
        self.ros = ros
        node = "featherstone_ros.feedforward_controller"
        self.nodes = {case: ros.start(node, ARM, "-r", f"__ns:=/{case}") for case in USELESS}
        for process in self.nodes.values():
            process.wait_for_output("activate: done")
        self._publishers = {
            case: ros.publisher(JointState, f"/{case}/joint_states") for case in USELESS
        }

    def err(self) -> None:
        """Send each controller its states of no use."""
        for case, (names, positions, _) in USELESS.items():
            message = JointState(name=list(names), position=[float(q) for q in positions])
            message.header.stamp = self.ros.node.get_clock().now().to_msg()
            self._publishers[case].publish(message)


@pytest.fixture(scope="module")
def newcomers(tmp_path_factory) -> Iterator[Newcomers]:
    with ros_in_free_domain(tmp_path_factory.mktemp("newcomers")) as ros:
        yield Newcomers(ros)


@pytest.mark.parametrize("case", USELESS)
def test_states_of_no_use_are_told_with_what_was_expected(newcomers, case):
    text, node = USELESS[case][2], newcomers.nodes[case]
    line = "waiting for joint states; refused joint_states: "
    told = newcomers.ros.new_diagnostics(
        lambda s: s.name.startswith(f"{case}/") and s.message.startswith(line) and text in s.message
    )

    def is_told() -> bool:
        newcomers.err()
        return text in node.output and told() is not None

    newcomers.ros.wait_for(is_told, f"diagnostics with {text!r}")
    (line,) = [line for line in node.output.splitlines() if text in line][:1]
    assert "[WARN]" in line and "joint_states: " in line and "expected" in line
