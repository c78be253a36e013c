"""Two Pandas over DDS, each with a controller of its own, in one twin.

What they carry together is in test_two_arms.py, in simulated time.
"""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import (
    PACED,
    SIMULATED,
    Ros,
    ros_in_free_domain,
    status_values,
)

# isort: split
from arm_pair import ARMS, JOINTS, PAIRS, PANDAS, TIPS, of_both
from diagnostic_msgs.msg import DiagnosticStatus
from std_msgs.msg import Float64MultiArray

import featherstone_ros as fr
from featherstone_ros.control.cartesian_parameters import tip_of
from featherstone_ros.errors import MessageError
from featherstone_ros.nodes.motion_input import frame_pose

TWIN, OK = "/digital_twin", DiagnosticStatus.OK
PACE = 2.0  # times as fast as real time: more takes processors while a test waits for diagnostics


class Pair:
    """The twin and both controllers, in lockstep."""

    def __init__(self, ros: Ros) -> None:
        self.ros = ros
        both = {"robot_description": PANDAS, **of_both("armature.{}")}
        topics = {f"command_topic.{j}": f"{a}_controller/commands" for a in ARMS for j in JOINTS[a]}
        self.twin = ros.start(
            "featherstone_ros.digital_twin",
            {
                **both,
                **topics,
                **of_both("initial_positions.{}"),
                "joints": [joint for arm in ARMS for joint in JOINTS[arm]],
                "rate": 250.0,
                **PACED,
                "real_time_factor": PACE,
            },
        )
        self.controllers = {arm: self.start(arm) for arm in ARMS}
        for arm in ARMS:
            ros.status(node=f"{arm}_controller", level=OK)

    def start(self, arm: str):
        """Start a controller."""
        armature = {k: v for k, v in of_both("armature.{}").items() if arm in k}
        own = {"joints": JOINTS[arm], "tip": TIPS[arm], "mode": "cartesian_impedance"}
        return self.ros.start(
            "featherstone_ros.feedforward_controller",
            {"robot_description": PANDAS, **own, **armature, **SIMULATED},
            *("-r", f"__node:={arm}_controller"),
        )


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    with ros_in_free_domain(tmp_path_factory.mktemp("two_arms")) as ros:
        yield Pair(ros)


def test_nobody_takes_the_other_arms_controller_for_a_second_one(pair):
    for node in ("left_controller", "right_controller", "digital_twin"):
        status = pair.ros.status(node=node, level=OK)
        assert "publishers" not in status.message
    values = status_values(status)
    assert values["brakes"] == "off" and values["command publishers"] == "2"
    for arm in ARMS:
        assert "expected one" not in pair.controllers[arm].output
    assert "expected one" not in pair.twin.output
    changes = {f"command_topic.{JOINTS['left'][0]}": "elsewhere"}
    (result,) = pair.ros.set_parameters(TWIN, changes)
    assert not result.successful
    assert "is fixed until the node is cleaned up and configured" in result.reason


@pytest.mark.parametrize("which", PAIRS)
def test_a_frame_beyond_joints_of_the_other_arm_is_refused_unless_they_are_known(which):
    pair = PAIRS[which]
    model = fr.Model.from_urdf(pair.urdf, joints=pair.joints["left"])
    place = partial(
        frame_pose,
        tip=pair.tips["left"],
        model=model,
        dynamics=fr.Dynamics(model),
        q=np.zeros(model.n),
        unknown=model.locked_joints,
    )
    assert_array_equal(place(model.base_link), np.eye(4))
    assert place(pair.tips["left"])[0, 3] != 0.0
    assert_array_equal(place(pair.tips["left"], tip=""), place(pair.tips["left"]))
    for tip in (pair.tips["left"], ""):
        with pytest.raises(MessageError, match=r"lies beyond right_.*: not among `joints`"):
            place(pair.tips["right"], tip=tip)
    known = place(pair.tips["right"], unknown=())  # joint_states or parameters tell all of them
    assert_array_equal(known, fr.Dynamics(model).link_pose(np.zeros(model.n), pair.tips["right"]))


def test_the_other_arms_tip_is_refused():
    model = fr.Model.from_urdf(PANDAS, joints=JOINTS["left"])
    values = {"mode": "cartesian_impedance", "tip": TIPS["right"]}
    with pytest.raises(
        ValueError, match=r"tip is 'right_.*', which none of the joints moves: left_"
    ):
        tip_of(values, model)


def test_a_second_publisher_of_one_arms_commands_is_named(pair):
    ros = pair.ros
    intruder = ros.node.create_publisher(Float64MultiArray, "/left_controller/commands", 1)
    for node in ("left_controller", "digital_twin"):
        ros.status("2 publishers", node)
    status = ros.status(node="right_controller")
    assert "publishers" not in status.message
    ros.node.destroy_publisher(intruder)
    for node in ("left_controller", "digital_twin"):
        ros.status(node=node, level=OK)
