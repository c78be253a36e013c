"""The digital twin alone: a simulated arm that takes torques and publishes joint states.

ros2 launch featherstone_ros digital_twin.launch.py robot:=ur5e
"""

from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from featherstone_ros.nodes.launch_support import (
    argument,
    common_arguments,
    description,
    package_node,
    switch,
    value,
)
from featherstone_ros.simulation.simulator_settings import PACED


def start(context: LaunchContext) -> list[Node]:
    """Start the twin as the arguments say."""
    parameters: dict[str, object] = {}
    if value(context, "publish_clock") == "true":
        parameters["publish_clock"] = True
    if value(context, "lockstep") == "true":
        parameters |= PACED
    if value(context, "twin_robot"):
        parameters |= description(context, "twin_robot")
    remappings = [(f"~/{topic}", value(context, topic)) for topic in ("commands", "joint_commands")]
    own = value(context, "twin_parameters")
    more = [Path(own).expanduser().absolute()] if own else []
    return [package_node(context, "digital_twin", parameters, remappings, more=more)]


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the node."""
    return LaunchDescription(
        [
            *common_arguments(robot="panda"),
            argument("commands", "topic of the torques to apply", "~/commands"),
            argument(
                "joint_commands",
                "topic of the positions for simulated drives to follow",
                "~/joint_commands",
            ),
            switch("publish_clock", "publish simulation time on /clock, for all other nodes"),
            switch(
                "lockstep",
                "each state waits for its command, in real time where the machine can; "
                "the controller needs use_sim_time",
            ),
            argument("twin_robot", "the arm that is simulated, if it is another than robot"),
            argument(
                "twin_parameters", "a parameter file of the twin alone, e.g. with its payload.mass"
            ),
            OpaqueFunction(function=start),
        ]
    )
