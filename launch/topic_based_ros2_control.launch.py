"""The digital twin as hardware of a real ros2_control: MoveIt and all controllers without an arm.

ros2 launch featherstone_ros topic_based_ros2_control.launch.py robot:=panda
ros2 launch featherstone_ros topic_based_ros2_control.launch.py robot:=/path/to/arm.urdf \
    parameters:=/path/to/arm.yaml controller:=joint_trajectory_controller

Starts the twin, robot_state_publisher, a controller manager whose hardware is the twin, and in it
joint_state_broadcaster and a controller: effort_controller, with feedforward_controller above it,
or joint_trajectory_controller, whose positions the twin's drives follow.
"""

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch_ros.actions import Node

from featherstone_ros.model.ros2_control import BROADCASTER, CONTROLLERS
from featherstone_ros.nodes.launch_support import (
    argument,
    launch,
    package_node,
    require_installed,
    state_publisher,
    twin_hardware,
    value,
)

# What each controller commands in the controller manager.
INTERFACES = {"feedforward_controller": "effort", "joint_trajectory_controller": "position"}


def start(context: LaunchContext) -> list[Action]:
    """Start everything as the arguments say."""
    require_installed("controller_manager", "robot_state_publisher")
    controller, rate = value(context, "controller"), int(value(context, "rate"))
    interface = INTERFACES[controller]
    text, file = twin_hardware(context, interface, 2 * rate)
    namespace, joint_states = value(context, "namespace"), value(context, "joint_states")
    actions: list[Action] = [
        package_node(
            context,
            "digital_twin",
            {"rate": float(rate), "hold_until_command": True},
            [],
            joint_states="~/joint_states",
        ),
        state_publisher(context, joint_states, text=text),
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            namespace=namespace,
            parameters=[file],
            output="screen",
        ),
        Node(
            package="controller_manager",
            executable="spawner",
            namespace=namespace,
            arguments=[
                *(BROADCASTER, CONTROLLERS[interface][0]),
                *("--controller-ros-args", f"-r joint_states:={joint_states}"),
            ],
            output="screen",
        ),
    ]
    if controller == "feedforward_controller":
        commands = [("~/commands", f"{CONTROLLERS[interface][0]}/commands")]
        actions.append(package_node(context, controller, {}, commands))
    return actions


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the nodes."""
    first, *_ = INTERFACES
    return launch(
        "panda",
        start,
        argument("controller", "controller that moves the arm", first, choices=list(INTERFACES)),
        argument("rate", "of the twin and of the controller manager [Hz]", "500"),
    )
