"""A digital twin with a floating base, over DDS."""

import importlib.util

import numpy as np
import pytest
from support import LOCKSTEP, NodeProcess, Ros, seconds  # skips this module where ROS is missing

# isort: split
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger
from test_digital_twin import ARM, COMMANDS, MODULE, NODE, PARAMETERS, START

import featherstone_ros as fr

BOAT = ARM.replace(
    '<link name="base"/>',
    '<link name="base"><inertial><mass value="5"/><inertia ixx="0.3" iyy="0.3" izz="0.3" ixy="0" '
    'ixz="0" iyz="0"/></inertial></link>',
)
POSE = [1.0, -2.0, 0.5, 0.5, -0.5, 0.5, 0.5]
FLOATING = {
    **PARAMETERS,
    "robot_description": BOAT,
    "base": "floating",
    "gravity": [0.0, 0.0, -1.62],
    "initial_base.position": POSE[:3],
    "initial_base.orientation": POSE[3:],
}


def start(ros: Ros, *arguments: str, **parameters) -> NodeProcess:
    return ros.start(MODULE, {**FLOATING, **parameters}, *arguments)


def numbers(*parts) -> list[float]:
    """Return the fields x y z (w) of messages one after the other."""
    return [getattr(part, name) for part in parts for name in "xyzw" if hasattr(part, name)]


class Base:
    """What the twin tells of its base, by stamp [s]."""

    def __init__(self, ros: Ros) -> None:
        self.pose: dict[float, list[float]] = {}
        self.twist: dict[float, list[float]] = {}
        self.frames: set[tuple[str, str]] = set()
        ros.node.create_subscription(Odometry, f"{NODE}/odom", self.take, 100)

    def take(self, message: Odometry) -> None:
        assert not np.any([message.pose.covariance, message.twist.covariance])
        self.frames.add((message.header.frame_id, message.child_frame_id))
        time, pose, twist = seconds(message.header.stamp), message.pose.pose, message.twist.twist
        self.pose[time] = numbers(pose.position, pose.orientation)
        self.twist[time] = numbers(twist.linear, twist.angular)


def test_base_moves_as_the_simulator_says_and_reset_puts_it_back(ros):
    base, states = Base(ros), ros.collect(JointState, "/joint_states")
    start(ros, **LOCKSTEP)
    commands = ros.publisher(Float64MultiArray, COMMANDS)
    wrenches = ros.publisher(WrenchStamped, f"{NODE}/external_wrench")
    ros.wait_for(lambda: base.pose.get(0.0) and base.twist.get(0.0), "the base at time 0")
    assert base.pose[0.0] == POSE and base.twist[0.0] == [0.0] * 6
    up = Wrench(force=Vector3(x=9.0), torque=Vector3(y=0.3))
    wrenches.publish(WrenchStamped(header=Header(frame_id="base"), wrench=up))
    ros.status(**{"wrenches on": "base"}, base="held")
    model = fr.Model.from_urdf(BOAT, base="floating", gravity=(0, 0, -1.62))
    simulator = fr.Simulator(model)
    simulator.reset([*POSE, *START])
    for k in range(1, 31):
        effort = [0.1 * k, -0.05]
        simulator.step([*np.zeros(6), *effort], 5, f_ext={"base": [9, 0, 0, 0, 0.3, 0]})
        commands.publish(Float64MultiArray(data=effort))
        ros.wait_for(lambda: states and states[-1].effort[0] == effort[0], "a state")  # noqa: B023
        time = seconds(states[-1].header.stamp)
        ros.wait_for(lambda: time in base.pose and time in base.twist, "its base")  # noqa: B023
        assert base.pose[time] == simulator.q[:7].tolist()
        assert base.twist[time] == simulator.qd[:6].tolist()
        assert time == pytest.approx(0.005 * k, abs=1e-9)
        assert list(states[-1].position) == simulator.q[7:].tolist()
        assert list(states[-1].velocity) == simulator.qd[6:].tolist()
        assert list(states[-1].effort) == effort
        states.clear()
    assert base.frames == {("world", "base")}
    ros.status(base="free")
    for name, value in (("position", [0.0, 0.0]), ("orientation", [0.0, 0.0, 1.0, 1.0])):
        (result,) = ros.set_parameters(NODE, {f"initial_base.{name}": value})
        assert not result.successful and f"initial_base.{name}" in result.reason
    for fixed in ({"base": "fixed"}, {"world_frame": "map"}, {"gravity": [0.0] * 3}):
        assert not ros.set_parameters(NODE, fixed)[0].successful
    for place in (POSE[:3], [5.0, 0.0, 0.0]):
        assert ros.set_parameters(NODE, {"initial_base.position": place})[0].successful
        assert ros.call(Trigger, f"{NODE}/reset").success
        base.pose.clear()
        at = [*place, *POSE[3:]]
        ros.wait_for(lambda at=at: base.pose.get(0.0) == at, "the base where it begins")


@pytest.mark.skipif(not importlib.util.find_spec("tf2_msgs"), reason="tf2_msgs is not installed")
@pytest.mark.parametrize("publish_tf", [True, False])
def test_transform_of_the_base(ros, publish_tf):
    from tf2_msgs.msg import TFMessage

    base, messages = Base(ros), ros.collect(TFMessage, "/tf")
    start(ros, publish_tf=publish_tf, world_frame="map")
    ros.wait_for(lambda: len(base.pose) > 20, "20 poses")
    if not publish_tf:
        assert not messages and ros.node.count_publishers("/tf") == 0
        return
    (transform,) = ros.wait_for(lambda: messages, "a transform")[0].transforms
    assert (transform.header.frame_id, transform.child_frame_id) == ("map", "base")
    turned = transform.transform
    assert numbers(turned.translation, turned.rotation) == POSE
