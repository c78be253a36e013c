"""The nodes' ``--help`` and ``--version``, answered before anything of ROS is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from featherstone_ros import __version__

CONTROLLER = """\
usage: feedforward_controller [--help] [--version] [--ros-args ...]

Answers joint states with joint torques: gravity compensation, feedforward with PD, computed torque.

  listens   joint_states, ~/joint_trajectory, ~/reference; services ~/hold, ~/zero_wrench
            action ~/follow_joint_trajectory, where control_msgs is installed
  publishes ~/commands (output: joint_state: ~/joint_commands), ~/desired, ~/error, /diagnostics

Parameters to begin with (all of them: ros2 param list, ros2 param describe):
  robot_description   URDF text, or path, file:// or package:// of a .urdf or .xacro file; if it is
                      empty, the topic robot_description
  joints              moving joints, in the order of ~/commands (default: all)
  mode                gravity_compensation, feedforward, computed_torque, cartesian_impedance or
                      admittance
  gains.<joint>.p .d  feedback (default: chosen from the model, see gains.bandwidth)

Examples:
  ros2 run featherstone_ros feedforward_controller --ros-args -p robot_description:=arm.urdf \\
      --params-file arm.yaml -r ~/commands:=/effort_controller/commands
  ros2 launch featherstone_ros twin_and_controller.launch.py robot:=arm.urdf     simulated
"""

TWIN = """\
usage: digital_twin [--help] [--version] [--ros-args ...]

Simulates an arm that takes torques (mode simulate), or runs beside a real arm and estimates what
the model does not explain (mode shadow).

  listens   ~/commands, ~/joint_commands, ~/external_wrench, ~/set_state; ~/reset, ~/pause, ~/step
  publishes joint_states, /clock (publish_clock), /diagnostics; in mode shadow
            ~/predicted_joint_states, ~/residual; with base: floating, ~/odom (or ~/base_pose and
            ~/base_twist, without nav_msgs) and /tf (with tf2_msgs)

Parameters to begin with (all of them: ros2 param list, ros2 param describe):
  robot_description   URDF text, or path, file:// or package:// of a .urdf or .xacro file; if it is
                      empty, the topic robot_description
  joints              moving joints, in the order of ~/commands (default: all)
  rate                joint states per second
  initial_positions.<joint>
  base                fixed, or floating: an arm on a boat, a cart, a satellite
  gravity             three numbers [m/s^2]

Examples:
  ros2 run featherstone_ros digital_twin --ros-args -p robot_description:=arm.urdf \\
      -r ~/commands:=feedforward_controller/commands
  ros2 launch featherstone_ros twin_and_controller.launch.py robot:=arm.urdf     with controller
"""


def answer(usage: str, args: Sequence[str] | None) -> str | None:
    """Return what a command line (None: the process's) asks for before ``--ros-args``, or None.

    That is the usage for ``--help``, name and version for ``--version``.
    """
    own = list(sys.argv if args is None else args)
    if "--ros-args" in own:
        own = own[: own.index("--ros-args")]
    if "--help" in own or "-h" in own:
        return usage
    if "--version" in own:
        return f"{usage.split()[1]} {__version__}\n"
    return None
