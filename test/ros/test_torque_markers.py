"""The arrows for RViz: the node as a process over DDS."""

import sys

import numpy as np
import pytest
import torque_markers
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from numpy.testing import assert_allclose
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from torque_markers import BUSY, CALM, FULL, heat
from visualization_msgs.msg import Marker, MarkerArray

from featherstone_ros.tools.robot_setup import load

NODE = "/torque_markers"
ROBOT = load("panda")


def length(marker: Marker) -> float:
    tip = marker.points[1]
    return float(np.linalg.norm([tip.x, tip.y, tip.z]))


def test_torques_and_wrenches_are_arrows_until_the_node_is_deactivated(ros):
    ros.run(
        [sys.executable, torque_markers.__file__, *ros.arguments({"robot_description": ROBOT.text})]
    )
    ros.wait_for_state(NODE, "active")
    arrays = ros.collect(MarkerArray, f"{NODE}/markers")
    states = ros.publisher(JointState, "joint_states")
    estimates = ros.publisher(WrenchStamped, "external_wrench_estimate")

    def newest(condition, what, publish=lambda: None) -> Marker:
        def find():
            publish()
            found = [m for array in arrays[-1:] for m in array.markers if condition(m)]
            return found[0] if found else None

        return ros.wait_for(find, what)

    names = list(ROBOT.model.joint_names)
    effort = [43.5, -87.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    state = JointState(name=[*names, "other"], position=[0.0] * 8, effort=[*effort, 1.0])
    half = newest(
        lambda m: m.header.frame_id == "panda_link1" and m.points,
        "arrow of joint 1",
        lambda: states.publish(state),
    )
    assert (half.ns, half.type, half.action) == ("torque", Marker.ARROW, Marker.ADD)
    assert half.frame_locked and half.header.stamp.sec == 0
    assert_allclose([half.points[1].x, half.points[1].y, half.points[1].z], [0, 0, 0.2])
    full = newest(lambda m: m.header.frame_id == "panda_link2" and m.points, "arrow of joint 2")
    assert_allclose(full.points[1].z, -0.4)
    assert_allclose([full.color.r, full.color.g, full.color.b], FULL, atol=1e-6)
    idle = newest(lambda m: m.header.frame_id == "panda_link3", "arrow of joint 3")
    assert idle.action == Marker.DELETE
    no_number = JointState(name=names[:1], effort=[float("nan")])
    newest(
        lambda m: m.header.frame_id == "panda_link1" and m.action == Marker.DELETE,
        "no arrow of joint 1",
        lambda: states.publish(no_number),
    )
    message = WrenchStamped(
        header=Header(frame_id="panda_hand"),
        wrench=Wrench(force=Vector3(x=30.0, y=-40.0), torque=Vector3(z=2.0)),
    )
    force = newest(
        lambda m: m.ns == "external_wrench_estimate" and m.id == 2,
        "force",
        lambda: estimates.publish(message),
    )
    assert force.header.frame_id == "panda_hand"
    assert_allclose([force.points[1].x, force.points[1].y], [0.3, -0.4])
    moment = newest(lambda m: m.ns == "external_wrench_estimate" and m.id == 3, "moment")
    assert length(moment) == pytest.approx(0.1)
    assert ros.change_state(NODE, "deactivate")
    ros.wait_for(
        lambda: any(m.action == Marker.DELETEALL for a in arrays for m in a.markers), "DELETEALL"
    )


def test_colour_goes_from_green_over_yellow_to_red():
    assert heat(0.0) == CALM and heat(0.5) == BUSY and heat(1.0) == heat(3.0) == FULL
