"""The arrows for RViz: the node as a process over DDS."""

import numpy as np
import pytest
from support import Ros  # skips this module where ROS is missing

pytest.importorskip("visualization_msgs", reason="visualization_msgs is not installed")

# isort: split
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from numpy.testing import assert_allclose
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from featherstone_ros.nodes.torque_markers import BUSY, CALM, FULL, heat
from featherstone_ros.tools.robot_setup import load

NODE = "/torque_markers"
ROBOT = load("panda")


@pytest.fixture
def markers(ros: Ros):
    """Start the node; returns what gives the newest marker of a namespace and frame."""
    ros.start("featherstone_ros.torque_markers", {"robot_description": ROBOT.text})
    ros.wait_for_state(NODE, "active")
    arrays = ros.collect(MarkerArray, f"{NODE}/markers")

    def newest(condition, what, publish=lambda: None):
        def find():
            publish()
            found = [m for array in arrays[-1:] for m in array.markers if condition(m)]
            return found[0] if found else None

        return ros.wait_for(find, what)

    return newest


def length(marker: Marker) -> float:
    tip = marker.points[1]
    return float(np.linalg.norm([tip.x, tip.y, tip.z]))


def test_torque_is_an_arrow_along_the_joints_axis(ros, markers):
    names = list(ROBOT.model.joint_names)
    effort = [43.5, -87.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    states = ros.publisher(JointState, "joint_states")
    state = JointState(name=[*names, "other"], position=[0.0] * 8, effort=[*effort, 1.0])
    half = markers(
        lambda m: m.header.frame_id == "panda_link1" and m.points,
        "arrow of joint 1",
        lambda: states.publish(state),
    )
    assert (half.ns, half.type, half.action) == ("torque", Marker.ARROW, Marker.ADD)
    assert half.frame_locked and half.header.stamp.sec == 0
    assert_allclose([half.points[1].x, half.points[1].y, half.points[1].z], [0, 0, 0.2])
    full = markers(lambda m: m.header.frame_id == "panda_link2" and m.points, "arrow of joint 2")
    assert_allclose(full.points[1].z, -0.4)
    assert_allclose([full.color.r, full.color.g, full.color.b], FULL, atol=1e-6)
    idle = markers(lambda m: m.header.frame_id == "panda_link3", "arrow of joint 3")
    assert idle.action == Marker.DELETE


def test_wrench_is_two_arrows_at_its_link(ros, markers):
    message = WrenchStamped(
        header=Header(frame_id="panda_hand"),
        wrench=Wrench(force=Vector3(x=30.0, y=-40.0), torque=Vector3(z=2.0)),
    )
    estimates = ros.publisher(WrenchStamped, "external_wrench_estimate")
    force = markers(
        lambda m: m.ns == "external_wrench_estimate" and m.id == 2,
        "force",
        lambda: estimates.publish(message),
    )
    assert force.header.frame_id == "panda_hand"
    assert_allclose([force.points[1].x, force.points[1].y], [0.3, -0.4])
    moment = markers(lambda m: m.ns == "external_wrench_estimate" and m.id == 3, "moment")
    assert length(moment) == pytest.approx(0.1)


def test_arrows_vanish_when_the_node_is_deactivated(ros, markers):
    arrays = ros.collect(MarkerArray, f"{NODE}/markers")
    assert ros.change_state(NODE, "deactivate")
    ros.wait_for(
        lambda: any(m.action == Marker.DELETEALL for a in arrays for m in a.markers), "DELETEALL"
    )


def test_effort_that_is_no_number_draws_nothing(ros, markers):
    states = ros.publisher(JointState, "joint_states")
    name = ROBOT.model.joint_names[0]
    state = JointState(name=[name], effort=[float("nan")])
    gone = markers(
        lambda m: m.header.frame_id == "panda_link1",
        "marker of joint 1",
        lambda: states.publish(state),
    )
    assert gone.action == Marker.DELETE


def test_colour_goes_from_green_over_yellow_to_red():
    assert heat(0.0) == CALM and heat(0.5) == BUSY and heat(1.0) == heat(3.0) == FULL
