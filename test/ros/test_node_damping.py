"""Damping of the gravity hold: what would be unstable is refused, and a light arm stops calmly."""

import signal

import numpy as np
from support import DEEP, LOCKSTEP, SIMULATED, Ros  # skips this module where ROS is missing

# isort: split
from builtin_interfaces.msg import Duration
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

CONTROLLER = "/feedforward_controller"
MAX_SPEED_SHARE = 1.2  # times its speed limit, of any joint
SPEED = 6.0  # [rad/s] limit of the joints
STANDING = 0.05  # [rad/s]

LINK = """
  <link name="{name}"><inertial><origin xyz="0 0 {z}"/><mass value="{mass}"/>
    <inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{name}_joint" type="revolute"><parent link="{parent}"/><child link="{name}"/>
    <origin xyz="0 0 {at}"/><axis xyz="{axis}"/>
    <limit lower="-3" upper="3" effort="{effort}" velocity="6"/></joint>"""
LINKS = (  # a wrist that is as light as those of industrial arms, whose URDFs have no rotors
    ("upper", 4.0, 0.05, 0.15, 0.1, "0 1 0", 100),
    ("fore", 2.0, 0.02, 0.15, 0.4, "0 1 0", 60),
    ("wrist", 0.3, 2e-4, 0.0, 0.4, "0 1 0", 20),
    ("flange", 0.1, 5e-5, 0.0, 0.05, "0 0 1", 20),
)
JOINTS = [f"{name}_joint" for name, *_ in LINKS]


def urdf() -> str:
    parents = ["base", *(name for name, *_ in LINKS)]
    links = "".join(
        LINK.format(name=name, mass=mass, i=i, z=z, at=at, axis=axis, effort=effort, parent=parent)
        for (name, mass, i, z, at, axis, effort), parent in zip(LINKS, parents, strict=False)
    )
    return f'<robot name="light"><link name="base"/>{links}\n</robot>'


def start(ros: Ros, **parameters):
    """Start twin and controller in lockstep; return the controller and what the states will be.

    A light joint under the last torque, while a busy machine keeps the next from it, gains 5 rad/s
    in 10 ms: that is no controller's stop.
    """
    description = {"robot_description": urdf()}
    states = ros.collect(JointState, "/joint_states", DEEP)
    controller = ros.start(
        "featherstone_ros.feedforward_controller", {**description, **SIMULATED, **parameters}
    )
    ros.wait_for_state(CONTROLLER, "active")
    ros.start(
        "featherstone_ros.digital_twin",
        {**description, **LOCKSTEP, "rate": 500.0},
        *("-r", f"~/commands:={CONTROLLER}/commands"),
    )
    # Time goes on once the controller has answered a state: before, it refuses motions.
    ros.wait_for(lambda: states and states[-1].header.stamp.nanosec, "the arm's second state")
    return controller, states


def test_damping_beyond_the_bound_is_refused_and_nothing_changes(ros):
    start(ros, mode="gravity_compensation")
    (result,) = ros.set_parameters(CONTROLLER, {"damping.wrist_joint": 0.5})
    assert not result.successful
    assert (
        "damping.wrist_joint is 0.5: with period 2 ms, delay 2 ms the joint swings up"
        in result.reason
    )
    assert ros.get_parameter(CONTROLLER, "damping.wrist_joint") == 0.0
    (result,) = ros.set_parameters(CONTROLLER, {"damping.upper_joint": 0.5})
    assert result.successful


def test_damping_beyond_the_bound_is_refused_at_the_start(ros):
    node = ros.start(
        "featherstone_ros.feedforward_controller",
        {"robot_description": urdf(), "damping.flange_joint": 0.5},
    )
    node.wait_for_output("damping.flange_joint is 0.5: with period 2 ms")
    assert ros.state(CONTROLLER) == "unconfigured"


def test_a_light_arm_without_friction_stops_on_a_signal(ros):
    controller, states = start(ros)
    point = JointTrajectoryPoint(positions=[0.8, -0.9, 1.0, 1.0], time_from_start=Duration(sec=1))
    publisher = ros.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    publisher.publish(JointTrajectory(joint_names=JOINTS, points=[point]))
    ros.wait_for(lambda: max(map(abs, states[-1].velocity)) > 0.7, "motion")
    begin = len(states)
    controller.send(signal.SIGINT)
    ros.wait_for(lambda: not controller.is_running, "the end of the controller")
    assert controller.wait() == 0
    ros.take_all(states)
    speed = np.abs([state.velocity for state in states[begin:]])
    assert speed.max() < MAX_SPEED_SHARE * SPEED
    assert speed[-1].max() < STANDING
