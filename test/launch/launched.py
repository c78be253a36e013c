"""The launch that LAUNCHED names, and what its nodes do; launch_testing runs this, not pytest."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import launch_testing
from diagnostic_msgs.msg import DiagnosticStatus
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support import DEADLINE, Ros, status_values

from featherstone_ros.model.robots import robot_file, share_directory

sys.path.append(str(Path(__file__).parents[1] / "unit"))
from arm_pair import PAIRS

TORQUES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
UR5E = [f"{joint}_joint" for joint in ("shoulder_pan", "shoulder_lift", "elbow")]
UR5E += [f"wrist_{number}_joint" for number in (1, 2, 3)]
XACRO = """<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">
  <xacro:arg name="joint" default="a joint"/>
  <link name="base"/>
  <link name="tip"><inertial>
    <origin xyz="0.1 0 0"/><mass value="$(arg mass)"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="$(arg joint)" type="revolute">
    <parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="2" effort="90"/>
  </joint>
</robot>"""


def twin(ros: Ros, _) -> None:
    """Applies the command."""
    states = ros.collect(JointState, "/arm/joint_states")
    commands = ros.publisher(Float64MultiArray, "/arm/torques")
    ros.wait_for(lambda: states, "joint state")
    commands.publish(Float64MultiArray(data=TORQUES))
    ros.wait_for(lambda: list(states[-1].effort) == TORQUES, "commanded effort")


def controller(ros: Ros, _) -> None:
    """Answers a joint state with a command."""
    ros.wait_for_state("/arm/feedforward_controller", "active")
    commands = ros.collect(Float64MultiArray, "/arm/effort_controller/commands")
    states = ros.publisher(JointState, "/arm/measured")

    def command_after_state():
        state = JointState(name=UR5E, position=[0.0] * 6, velocity=[0.0] * 6)
        state.header.stamp = ros.node.get_clock().now().to_msg()
        states.publish(state)
        return commands

    ros.wait_for(command_after_state, "command")
    assert len(commands[0].data) == 6
    assert ros.get_parameter("/arm/feedforward_controller", "mode") == "gravity_compensation"


def arrows(ros: Ros, _) -> None:
    """A torque becomes one, whether or not there is an RViz to show it."""
    from visualization_msgs.msg import MarkerArray

    markers = ros.collect(MarkerArray, "/arm/torque_markers/markers")
    states = ros.publisher(JointState, "/arm/measured")

    def drawn():
        states.publish(JointState(name=["elbow_joint"], position=[0.0], effort=[20.0]))
        return [m.header.frame_id for array in markers for m in array.markers]

    assert ros.wait_for(drawn, "arrow")[0] == "forearm_link"


def both(ros: Ros, _) -> None:
    """The twin applies what the controller commands, and owns the time; RViz sees the torques."""
    from visualization_msgs.msg import MarkerArray

    commands = ros.collect(Float64MultiArray, "/arm/feedforward_controller/commands")
    states = ros.collect(JointState, "/arm/joint_states")
    markers = ros.collect(MarkerArray, "/arm/torque_markers/markers")
    clock = ros.collect(Clock, "/clock")

    def command_applied():
        commanded = {tuple(command.data) for command in commands}
        return commanded & {tuple(state.effort) for state in states}

    ros.wait_for(command_applied, "state with a commanded effort")
    ros.wait_for(lambda: markers and clock, "arrows and clock")
    assert ros.get_parameter("/arm/feedforward_controller", "use_sim_time")


def xacro(ros: Ros, _) -> None:
    """Both nodes move the arm that a xacro file with arguments describes."""
    states = ros.collect(JointState, "/joint_states")
    commands = ros.collect(Float64MultiArray, "/feedforward_controller/commands")
    ros.wait_for(lambda: states and commands, "joint state and command")
    assert states[-1].name == ["the elbow"]
    weight = 3 * 9.81 * 0.1
    ros.wait_for(lambda: abs(abs(commands[-1].data[0]) - weight) < 0.3, "torque that holds 3 kg")


def ros2_control(ros: Ros, proc_info) -> None:
    """What the controller commands reaches the twin through ros2_control."""
    passed_on = ros.collect(JointState, "/arm/digital_twin/joint_commands")
    commands = ros.collect(Float64MultiArray, "/arm/effort_controller/commands")
    proc_info.assertWaitForShutdown(process="spawner", timeout=DEADLINE)

    def arrived():
        commanded = {tuple(command.data) for command in commands}
        return commanded & {tuple(message.effort) for message in passed_on if message.effort[1]}

    ros.wait_for(arrived, "effort that was commanded")


def two_arms(ros: Ros, _) -> None:
    """Both controllers hold their arm of one twin, whatever the URDF."""
    for node in ("left_controller", "right_controller", "digital_twin"):
        status = ros.status(node=node, level=DiagnosticStatus.OK)
    assert status_values(status)["brakes"] == "off"
    for arm, expected in PAIRS[NAME.partition(" ")[2]].joints.items():
        assert list(ros.get_parameter(f"/{arm}_controller", "joints")) == expected


def written(name: str, text: str) -> str:
    """Write a file in a folder with a blank; return where it is."""
    path = Path(tempfile.mkdtemp(prefix="a clone ")) / name
    path.write_text(text)
    return str(path)


def of_pair(pair: str) -> dict[str, str]:
    """Return the arguments for two arms."""
    text, joints, tips, start = PAIRS[pair]
    initial = {f"initial_positions.{joint}": q for joint, q in start.items()}
    twin = {"/**/digital_twin": {"ros__parameters": {"rate": 250.0} | initial}}
    return {
        "robot": written("arms.urdf", text),
        "parameters": written("arms.yaml", json.dumps(twin)),
        "mode": "cartesian_impedance",
        **{f"{arm}_joints": " ".join(joints[arm]) for arm in joints},
        **{f"{arm}_tip": tip for arm, tip in tips.items()},
    }


# File, what is to be seen, arguments.
LAUNCHES = {
    "digital_twin": ("", twin, {"robot": "ur5e", "commands": "torques"}),
    "feedforward_controller": (
        "",
        controller,
        {
            "robot": str(robot_file("ur5e")),
            "mode": "gravity_compensation",
            "joint_states": "measured",
            "commands": "/arm/effort_controller/commands",
        },
    ),
    "rviz": ("", arrows, {"robot": "ur5e", "joint_states": "measured"}),
    "twin_and_controller": ("", both, {"use_sim_time": "true", "rviz": "true"}),
    "topic_based_ros2_control": ("", ros2_control, {"robot": "ur5e"}),
    "xacro_arguments": (
        "twin_and_controller",
        xacro,
        {"xacro_arguments": "mass:=3 joint:='the elbow'", "namespace": ""},
    ),
}
NAME = os.environ["LAUNCHED"]
FILE, CHECK, ARGUMENTS = LAUNCHES.get(NAME) or ("two_arms", two_arms, {"namespace": ""})


def generate_test_description():
    """Describe the launch, ready to be tested at once."""
    arguments = {"namespace": "arm", **ARGUMENTS}
    if NAME == "xacro_arguments":
        arguments["robot"] = written("arm.urdf.xacro", XACRO)
    elif CHECK is two_arms:
        arguments |= of_pair(NAME.partition(" ")[2])
    path = share_directory() / "launch" / f"{FILE or NAME}.launch.py"
    source = PythonLaunchDescriptionSource(str(path))
    include = IncludeLaunchDescription(source, launch_arguments=arguments.items())
    return LaunchDescription([include, ReadyToTest()])


class WhileRunning(unittest.TestCase):
    """Looks at the nodes from one in their domain."""

    def test_the_nodes_work(self, proc_info):
        with tempfile.TemporaryDirectory() as folder:
            ros = Ros(int(os.environ["ROS_DOMAIN_ID"]), Path(folder))
            try:
                CHECK(ros, proc_info)
            finally:
                ros.close()


@launch_testing.post_shutdown_test()
class AfterShutdown(unittest.TestCase):
    """Looks at what has ended."""

    def test_every_process_exits_with_status_0(self, proc_info):
        assertExitCodes(proc_info)
