"""Shared parts of the launch files; needs ROS 2's launch and launch_ros."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from ament_index_python.packages import get_package_prefix
from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from featherstone_ros.control.choices import Mode
from featherstone_ros.model import Model, errors_naming, read_description
from featherstone_ros.model.parameter_files import NodeParameters, read_parameters
from featherstone_ros.model.robots import (
    RobotFile,
    robot_file,
    robot_names,
    robot_parameters,
    share_directory,
)
from featherstone_ros.model.ros2_control import manager_parameters, with_twin
from featherstone_ros.model.urdf import parse
from featherstone_ros.simulation.simulator_settings import PACED, SIMULATED
from featherstone_ros.simulation.twin import home_positions

PACKAGE = "featherstone_ros"
# Hardware components that talk to a simulator by topics: the second is the first's old name.
PLUGINS = (
    "joint_state_topic_hardware_interface/JointStateTopicSystem",
    "topic_based_ros2_control/TopicBasedSystem",
)


def argument(
    name: str, text: str, default: str = "", choices: Sequence[str] | None = None
) -> DeclareLaunchArgument:
    """Declare a launch argument."""
    return DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)


def switch(name: str, text: str, default: str = "false") -> DeclareLaunchArgument:
    """Declare a launch argument that is true or false."""
    return argument(name, text, default, ["true", "false"])


def launch(
    robot: str, start: Callable[[LaunchContext], Sequence[Action]], *more: Action
) -> LaunchDescription:
    """Return what every launch file describes: its own arguments and actions, then ``start``.

    ``robot``: the default of the argument of that name.
    """
    common = [
        argument(
            "robot",
            f"{', '.join(robot_names())}, or the path of a URDF or xacro file; "
            "if empty, the nodes wait for the topic robot_description",
            robot,
        ),
        argument("xacro_arguments", "of a xacro file, e.g. 'name:=ur5e ur_type:=ur5e'"),
        argument(
            "parameters", "a parameter file; what it sets overrides the robot's own file in config/"
        ),
        argument("namespace", "of all nodes"),
        argument("joint_states", "topic of the measured or simulated joint states", "joint_states"),
    ]
    return LaunchDescription([*common, *more, OpaqueFunction(function=start)])


TWIN_ARGUMENTS = (
    argument("twin_robot", "the arm that is simulated, if it is another than robot"),
    argument("twin_parameters", "a parameter file of the twin alone, e.g. with its payload.mass"),
)
MODE = argument(
    "mode", "control law; empty: that of the parameter files", choices=["", *map(str, Mode)]
)


def value(context: LaunchContext, argument: str) -> str:
    """Return the value of a launch argument."""
    return LaunchConfiguration(argument).perform(context)


def is_on(context: LaunchContext, argument: str) -> bool:
    """Return the value of a switch."""
    return value(context, argument) == "true"


def description(context: LaunchContext, argument: str = "robot") -> dict[str, ParameterValue]:
    """Return the parameter ``robot_description``, or nothing if the argument is left open."""
    if not value(context, argument):
        return {}
    text = read_description(described(context, argument))
    return {"robot_description": ParameterValue(text, value_type=str)}


def described(context: LaunchContext, argument: str = "robot") -> RobotFile:
    """Return the robot's file with its xacro's arguments."""
    given = value(context, "xacro_arguments")
    robot = value(context, argument)
    return robot_file(f"{shlex.quote(robot)} {given}" if given else robot)


def parameter_files(context: LaunchContext) -> list[Path]:
    """Return the robot's own parameter file and the one given, as far as they exist."""
    own = value(context, "parameters")
    paths = [robot_parameters(value(context, "robot")), own and Path(own).expanduser().absolute()]
    return [path for path in paths if path]


def package_node(
    context: LaunchContext,
    executable: str,
    parameters: dict[str, object],
    remappings: list[tuple[str, str]],
    joint_states: str = "",
    name: str = "",
    more: Sequence[Path] = (),
) -> Node:
    """Return the action that starts one of the package's nodes as the launch arguments say.

    ``parameters`` override the parameter files, of which ``more`` override the others;
    ``remappings``: beside that of ``joint_states``.
    """
    paths = [*parameter_files(context), *more]
    return Node(
        **_process(executable),
        name=name or None,
        namespace=value(context, "namespace"),
        parameters=[
            *(ParameterFile(str(path)) for path in paths),
            {**description(context), **parameters},
        ],
        remappings=[
            ("joint_states", joint_states or value(context, "joint_states")),
            *remappings,
        ],
        output="screen",
    )


def twin_node(context: LaunchContext, clock: bool, lockstep: bool) -> Node:
    """Return the action that starts the twin; ``clock``: it publishes /clock."""
    parameters: dict[str, object] = {"publish_clock": True} if clock else {}
    parameters |= PACED if lockstep else {}
    if value(context, "twin_robot"):
        parameters |= description(context, "twin_robot")
    remappings = [(f"~/{topic}", value(context, topic)) for topic in ("commands", "joint_commands")]
    own = value(context, "twin_parameters")
    more = [Path(own).expanduser().absolute()] if own else []
    return package_node(context, "digital_twin", parameters, remappings, more=more)


def controller_node(context: LaunchContext) -> Node:
    """Return the action that starts the controller."""
    parameters: dict[str, object] = dict(SIMULATED) if is_on(context, "use_sim_time") else {}
    if value(context, "mode"):
        parameters["mode"] = value(context, "mode")
    topics = ("commands", "joint_commands", "wrench")
    remappings = [(f"~/{topic}", value(context, topic)) for topic in topics]
    return package_node(context, "feedforward_controller", parameters, remappings)


def state_publisher(
    context: LaunchContext, joint_states: str, prefix: str = "", text: str = ""
) -> Node:
    """Return the action that starts robot_state_publisher on a topic of joint states.

    ``prefix``: name of the robot if there are several, with which its frames begin; ``text``: a
    URDF instead of the robot's.
    """
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        name="_".join(filter(None, ("robot_state_publisher", prefix))),
        namespace=value(context, "namespace"),
        parameters=[
            {
                **description(context),
                **({"robot_description": ParameterValue(text, value_type=str)} if text else {}),
                "use_sim_time": context.launch_configurations.get("use_sim_time") == "true",
                "frame_prefix": f"{prefix}/" if prefix else "",
            }
        ],
        remappings=[("joint_states", joint_states)],
    )


def twin_hardware(context: LaunchContext, interface: str, rate: int) -> tuple[str, str]:
    """Return a URDF whose hardware is the twin, and the path of a file for the controller manager.

    ``interface``: what the controllers command, ``"effort"`` or ``"position"``; ``rate``: of the
    controller manager [Hz].
    """
    plugin = next((p for p in PLUGINS if is_installed(p.partition("/")[0])), PLUGINS[-1])
    require_installed(plugin.partition("/")[0])
    twin = NodeParameters({}, "")
    for path in parameter_files(context):
        given = read_parameters(path)["digital_twin"]
        twin = NodeParameters(twin | given, path)
    urdf = described(context)
    text = read_description(urdf)
    with errors_naming(urdf):
        model = Model.from_urdf(text, joints=twin.joints())
    start = {
        joint: twin.number(f"initial_positions.{joint}", position)
        for joint, position in zip(model.joint_names, home_positions(model), strict=True)
    }
    namespace = value(context, "namespace").strip("/")
    name = "/".join(["", *filter(None, [namespace]), "digital_twin"])
    with NamedTemporaryFile("w", prefix="controllers_", suffix=".yaml", delete=False) as file:
        json.dump(manager_parameters(model.joint_names, interface, rate), file)  # JSON is YAML
    return with_twin(text, plugin, name, interface, start), file.name


def base_link(context: LaunchContext) -> str:
    """Return the name of the robot's root link."""
    return parse(read_description(described(context))).base_link


def require_installed(*packages: str) -> None:
    """Raise an error that names the packages that are not installed, if there are any."""
    missing = [package for package in packages if not is_installed(package)]
    if missing:
        names = " ".join(f"ros-$ROS_DISTRO-{name.replace('_', '-')}" for name in missing)
        raise RuntimeError(f"not installed: {', '.join(missing)} (apt install {names})")


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
