"""What the launch files have in common; needs ROS 2's launch and launch_ros."""

import sys
from pathlib import Path

from ament_index_python.packages import get_package_prefix
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from featherstone_ros.model import read_description
from featherstone_ros.model.robots import robot_file, robot_names, robot_parameters
from featherstone_ros.model.share import share_directory
from featherstone_ros.model.urdf import parse

PACKAGE = "featherstone_ros"


def common_arguments(robot: str) -> list[DeclareLaunchArgument]:
    """Return the arguments that every launch file has.

    Args:
        robot: Default of the argument of this name.
    """
    return [
        DeclareLaunchArgument(
            "robot",
            default_value=robot,
            description=f"{', '.join(robot_names())}, or the path of a URDF or xacro file; "
            "if empty, the nodes wait for the topic robot_description",
        ),
        DeclareLaunchArgument(
            "parameters",
            default_value="",
            description="a parameter file; what it sets overrides the robot's own file in config/",
        ),
        DeclareLaunchArgument("namespace", default_value="", description="of all nodes"),
        DeclareLaunchArgument(
            "joint_states",
            default_value="joint_states",
            description="topic of the measured or simulated joint states",
        ),
    ]


def value(context: LaunchContext, argument: str) -> str:
    """Return the value of a launch argument."""
    return LaunchConfiguration(argument).perform(context)


def description(context: LaunchContext) -> dict[str, ParameterValue]:
    """Return the parameter ``robot_description``, or nothing if the robot is left open."""
    robot = value(context, "robot")
    if not robot:
        return {}
    text = read_description(robot_file(robot))
    return {"robot_description": ParameterValue(text, value_type=str)}


def package_node(
    context: LaunchContext,
    executable: str,
    parameters: dict[str, object],
    remappings: list[tuple[str, str]],
    files: bool = True,
) -> Node:
    """Return the action that starts one of the package's nodes as the launch arguments say.

    Args:
        context: Holds the values of the launch arguments.
        executable: Its name, e.g. ``"digital_twin"``.
        parameters: These override the parameter files.
        remappings: In addition to that of ``joint_states``.
        files: Whether the node reads the parameter files.
    """
    robot, own = value(context, "robot"), value(context, "parameters")
    paths = [robot_parameters(robot), Path(own).expanduser().absolute() if own else None]
    return Node(
        **_process(executable),
        namespace=value(context, "namespace"),
        parameters=[
            *(ParameterFile(str(path)) for path in paths if files and path),
            {**description(context), **parameters},
        ],
        remappings=[("joint_states", value(context, "joint_states")), *remappings],
        output="screen",
    )


def state_publisher(context: LaunchContext, joint_states: str, prefix: str = "") -> Node:
    """Return the action that starts robot_state_publisher.

    Args:
        context: Holds the values of the launch arguments, ``use_sim_time`` among them.
        joint_states: Topic that it goes by.
        prefix: Its name for the robot if there are several, and what its frames begin with.
    """
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        name="_".join(filter(None, ("robot_state_publisher", prefix))),
        namespace=value(context, "namespace"),
        parameters=[
            {
                **description(context),
                "use_sim_time": value(context, "use_sim_time") == "true",
                "frame_prefix": f"{prefix}/" if prefix else "",
            }
        ],
        remappings=[("joint_states", joint_states)],
    )


def base_link(context: LaunchContext) -> str:
    """Return the name of the robot's root link."""
    return parse(read_description(robot_file(value(context, "robot")))).base_link


def is_installed(package: str) -> bool:
    """Tell whether a ROS package is installed."""
    try:
        get_package_prefix(package)
    except (LookupError, OSError):  # OSError: there is no ROS in this environment but its wheels
        return False
    return True


def _process(executable: str) -> dict[str, object]:
    """Return how to start a node: as ROS does if colcon built the package, else by its module.

    The working directory keeps the modules of a source tree that happens to be the current one
    from hiding the installed package.
    """
    if is_installed(PACKAGE):
        if Path(get_package_prefix(PACKAGE), "lib", PACKAGE, executable).is_file():
            return {"package": PACKAGE, "executable": executable}
    return {
        "executable": sys.executable,
        "arguments": ["-m", f"{PACKAGE}.{executable}"],
        "exec_name": executable,
        "cwd": str(share_directory()),
    }
