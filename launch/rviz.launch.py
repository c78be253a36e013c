"""Arm, twin and desired motion side by side in RViz, with arrows for torques and wrenches.

ros2 launch featherstone_ros rviz.launch.py robot:=panda

The arm has the frames of the robot_state_publisher that follows joint_states. Beside it, each with
a robot_state_publisher and frames of its own: desired, what the controller asks for, and predicted,
what the twin in mode shadow expects.
"""

import sys

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import LogInfo
from launch_ros.actions import Node

from featherstone_ros.model.robots import share_directory
from featherstone_ros.nodes.launch_support import (
    argument,
    base_link,
    description,
    is_installed,
    is_on,
    launch,
    state_publisher,
    switch,
    value,
)

# Frame prefix to its joint states, in the order they stand to the arm's left.
OTHERS = {
    "desired": "feedforward_controller/desired",
    "predicted": "digital_twin/predicted_joint_states",
}
NEEDED = ("robot_state_publisher", "tf2_ros", "rviz2")


def start(context: LaunchContext) -> list[Action]:
    """Start what is installed."""
    if not value(context, "robot"):
        return [LogInfo(msg="RViz is not started: give robot:=, a name or a file")]
    missing = [package for package in NEEDED if not is_installed(package)]
    if missing:
        return [
            LogInfo(msg=f"not installed, so not started: {', '.join(missing)}"),
            markers(context),
        ]
    spacing = float(value(context, "spacing"))
    actions = [markers(context), rviz(context)]
    for place, (prefix, topic) in enumerate(OTHERS.items(), start=1):
        actions += [
            state_publisher(context, topic, prefix),
            beside(context, prefix, place * spacing),
        ]
    return actions


def markers(context: LaunchContext) -> Node:
    """Start the arrows."""
    wrenches = ("external_wrench", "external_wrench_estimate")
    remappings = [(topic, f"digital_twin/{topic}") for topic in wrenches]
    return Node(
        executable=sys.executable,
        arguments=[str(share_directory() / "examples" / "torque_markers.py")],
        exec_name="torque_markers",
        namespace=value(context, "namespace"),
        parameters=[{**description(context), **sim_time(context)}],
        remappings=[("joint_states", value(context, "joint_states")), *remappings],
        output="screen",
    )


def rviz(context: LaunchContext) -> Node:
    """Start RViz; its topics are relative, so that they are found in any namespace."""
    return Node(
        package="rviz2",
        executable="rviz2",
        namespace=value(context, "namespace"),
        arguments=[
            "--display-config",
            str(share_directory() / "config" / "side_by_side.rviz"),
            "--fixed-frame",
            base_link(context),
        ],
        parameters=[sim_time(context)],
    )


def beside(context: LaunchContext, prefix: str, y: float) -> Node:
    """Put a robot with prefixed frames to the left of the arm."""
    base = base_link(context)
    return Node(
        package="tf2_ros",
        executable="static_transform_publisher",
        name=f"{prefix}_place",
        namespace=value(context, "namespace"),
        arguments=["--y", str(y), "--frame-id", base, "--child-frame-id", f"{prefix}/{base}"],
        parameters=[sim_time(context)],
    )


def sim_time(context: LaunchContext) -> dict[str, object]:
    """Return the parameter use_sim_time."""
    return {"use_sim_time": is_on(context, "use_sim_time")}


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the nodes."""
    return launch(
        "panda",
        start,
        argument("spacing", "distance between the robots [m]; 0: superimposed", "1.0"),
        switch("use_sim_time", "take the time from the topic /clock"),
    )
