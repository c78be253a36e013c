"""A simulated arm under torque control: digital twin, feedforward controller, state publisher.

ros2 launch featherstone_ros twin_and_controller.launch.py robot:=panda mode:=computed_torque

Time is simulated, and begins at the wall's: each state waits for its command, in real time where
the machine can. With use_sim_time:=false both nodes go by the wall, and none waits.
"""

from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import IncludeLaunchDescription, LogInfo, OpaqueFunction
from launch.condition import Condition
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from featherstone_ros.nodes.launch_support import (
    argument,
    common_arguments,
    is_installed,
    state_publisher,
    switch,
    value,
)


def include(
    name: str, condition: Condition | None = None, **arguments: LaunchConfiguration
) -> IncludeLaunchDescription:
    """Include another of our launch files; it also sees the arguments given to this one."""
    source = PythonLaunchDescriptionSource(str(Path(__file__).with_name(f"{name}.launch.py")))
    return IncludeLaunchDescription(source, launch_arguments=arguments.items(), condition=condition)


def publish_transforms(context: LaunchContext) -> list[Action]:
    """Start robot_state_publisher if it is installed: the nodes do without."""
    if not value(context, "robot") or not is_installed("robot_state_publisher"):
        return [LogInfo(msg="robot_state_publisher is not started: there will be no transforms")]
    return [state_publisher(context, value(context, "joint_states"))]


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the nodes."""
    return LaunchDescription(
        [
            *common_arguments(robot="panda"),
            argument(
                "commands",
                "topic of the torques, from the controller to the twin",
                "feedforward_controller/commands",
            ),
            argument(
                "joint_commands",
                "topic of the positions, with output: joint_state",
                "feedforward_controller/joint_commands",
            ),
            argument(
                "wrench",
                "topic of what the controller's sensor measures: what pushes the twin",
                "digital_twin/external_wrench",
            ),
            switch(
                "use_sim_time",
                "the twin publishes /clock, by which the other nodes go, and waits for "
                "a command for each of its states",
                "true",
            ),
            switch("rviz", "show the arm in RViz (rviz.launch.py)"),
            include(
                "digital_twin",
                publish_clock=LaunchConfiguration("use_sim_time"),
                lockstep=LaunchConfiguration("use_sim_time"),
            ),
            include("feedforward_controller"),
            include("rviz", IfCondition(LaunchConfiguration("rviz"))),
            OpaqueFunction(function=publish_transforms),
        ]
    )
