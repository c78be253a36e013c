"""The controller node as a program: ``python -m featherstone_ros.feedforward_controller``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from featherstone_ros.nodes.execution import run

USAGE = """\
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


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, or explain it; return the exit status."""
    return run("featherstone_ros.nodes.feedforward_controller:FeedforwardController", args, USAGE)


if __name__ == "__main__":
    sys.exit(main())
