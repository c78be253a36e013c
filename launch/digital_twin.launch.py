"""The digital twin alone: a simulated arm that takes torques and publishes joint states.

ros2 launch featherstone_ros digital_twin.launch.py robot:=ur5e
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from featherstone_ros.nodes.launch_support import common_arguments, package_node, value


def start(context: LaunchContext) -> list[Node]:
    """Start the twin as the arguments say."""
    parameters: dict[str, object] = {}
    if value(context, "publish_clock") == "true":
        parameters["publish_clock"] = True
    remappings = [(f"~/{topic}", value(context, topic)) for topic in ("commands", "joint_commands")]
    return [package_node(context, "digital_twin", parameters, remappings)]


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the node."""
    return LaunchDescription(
        [
            *common_arguments(robot="panda"),
            DeclareLaunchArgument(
                "commands",
                default_value="~/commands",
                description="topic of the torques to apply",
            ),
            DeclareLaunchArgument(
                "joint_commands",
                default_value="~/joint_commands",
                description="topic of the positions for simulated drives to follow",
            ),
            DeclareLaunchArgument(
                "publish_clock",
                default_value="false",
                choices=["true", "false"],
                description="publish simulation time on /clock, for all other nodes",
            ),
            OpaqueFunction(function=start),
        ]
    )
