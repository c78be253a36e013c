"""A simulated arm under torque control: digital twin, feedforward controller, state publisher.

ros2 launch featherstone_ros twin_and_controller.launch.py robot:=panda mode:=computed_torque

Time is simulated, and begins at the wall's: each state waits for its command, in real time where
the machine can. With use_sim_time:=false both nodes go by the wall, and none waits.
"""

from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import IncludeLaunchDescription, LogInfo
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from featherstone_ros.nodes.launch_support import (
    MODE,
    TWIN_ARGUMENTS,
    argument,
    controller_node,
    is_installed,
    is_on,
    launch,
    state_publisher,
    switch,
    twin_node,
    value,
)

TOPICS = {  # name, text, default
    "commands": (
        "topic of the torques, from the controller to the twin",
        "feedforward_controller/commands",
    ),
    "joint_commands": (
        "topic of the positions, with output: joint_state",
        "feedforward_controller/joint_commands",
    ),
    "wrench": (
        "topic of what the controller's sensor measures: what pushes the twin",
        "digital_twin/external_wrench",
    ),
}


def start(context: LaunchContext) -> list[Action]:
    """Start the nodes, and robot_state_publisher if it is installed: the nodes do without."""
    simulated = is_on(context, "use_sim_time")
    actions: list[Action] = [twin_node(context, simulated, simulated), controller_node(context)]
    if value(context, "robot") and is_installed("robot_state_publisher"):
        return [*actions, state_publisher(context, value(context, "joint_states"))]
    why = "robot_state_publisher is not started: there will be no transforms"
    return [*actions, LogInfo(msg=why)]


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the nodes."""
    rviz = PythonLaunchDescriptionSource(str(Path(__file__).with_name("rviz.launch.py")))
    return launch(
        "panda",
        start,
        *(argument(topic, *given) for topic, given in TOPICS.items()),
        MODE,
        *TWIN_ARGUMENTS,
        switch(
            "use_sim_time",
            "the twin publishes /clock, by which the other nodes go, and waits for "
            "a command for each of its states",
            "true",
        ),
        switch("rviz", "show the arm in RViz (rviz.launch.py)"),
        IncludeLaunchDescription(rviz, condition=IfCondition(LaunchConfiguration("rviz"))),
    )
