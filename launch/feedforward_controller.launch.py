"""The feedforward controller alone, for a real arm or any simulated one.

ros2 launch featherstone_ros feedforward_controller.launch.py robot:=/path/to/arm.urdf.xacro \
    commands:=/forward_command_controller/commands
"""

from launch import LaunchContext, LaunchDescription
from launch_ros.actions import Node

from featherstone_ros.nodes.launch_support import MODE, argument, controller_node, launch, switch

TOPICS = {
    "commands": "topic of the torques, e.g. /forward_command_controller/commands",
    "joint_commands": "topic of the positions, with output: joint_state",
    "wrench": "topic of the force-torque sensor, which mode admittance needs",
}


def start(context: LaunchContext) -> list[Node]:
    """Start the controller as the arguments say."""
    return [controller_node(context)]


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the node."""
    return launch(
        "",
        start,
        MODE,
        *(argument(topic, text, f"~/{topic}") for topic, text in TOPICS.items()),
        switch("use_sim_time", "take the time from the topic /clock"),
    )
