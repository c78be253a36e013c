"""The digital twin alone: a simulated arm that takes torques and publishes joint states.

ros2 launch featherstone_ros digital_twin.launch.py robot:=ur5e
"""

from launch import LaunchContext, LaunchDescription
from launch_ros.actions import Node

from featherstone_ros.nodes.launch_support import (
    TWIN_ARGUMENTS,
    argument,
    is_on,
    launch,
    switch,
    twin_node,
)


def start(context: LaunchContext) -> list[Node]:
    """Start the twin as the arguments say."""
    return [twin_node(context, is_on(context, "publish_clock"), is_on(context, "lockstep"))]


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the node."""
    positions = "topic of the positions for simulated drives to follow"
    return launch(
        "panda",
        start,
        argument("commands", "topic of the torques to apply", "~/commands"),
        argument("joint_commands", positions, "~/joint_commands"),
        switch("publish_clock", "publish simulation time on /clock, for all other nodes"),
        switch(
            "lockstep",
            "each state waits for its command, in real time where the machine can; "
            "the controller needs use_sim_time",
        ),
        *TWIN_ARGUMENTS,
    )
