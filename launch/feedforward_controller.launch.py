"""The feedforward controller alone, for a real arm or any simulated one.

ros2 launch featherstone_ros feedforward_controller.launch.py robot:=/path/to/arm.urdf.xacro \
    commands:=/forward_command_controller/commands
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from featherstone_ros.control.choices import Mode
from featherstone_ros.nodes.launch_support import (
    argument,
    common_arguments,
    package_node,
    switch,
    value,
)
from featherstone_ros.simulation.simulator_settings import SIMULATED

TOPICS = {
    "commands": "topic of the torques, e.g. /forward_command_controller/commands",
    "joint_commands": "topic of the positions, with output: joint_state",
    "wrench": "topic of the force-torque sensor, which mode admittance needs",
}


def start(context: LaunchContext) -> list[Node]:
    """Start the controller as the arguments say."""
    parameters: dict[str, object] = {}
    if value(context, "use_sim_time") == "true":
        parameters |= SIMULATED
    if value(context, "mode"):
        parameters["mode"] = value(context, "mode")
    remappings = [(f"~/{topic}", value(context, topic)) for topic in TOPICS]
    return [package_node(context, "feedforward_controller", parameters, remappings)]


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the node."""
    return LaunchDescription(
        [
            *common_arguments(robot=""),
            argument(
                "mode",
                "control law; empty: that of the parameter files",
                choices=["", *map(str, Mode)],
            ),
            *(argument(topic, text, f"~/{topic}") for topic, text in TOPICS.items()),
            switch("use_sim_time", "take the time from the topic /clock"),
            OpaqueFunction(function=start),
        ]
    )
