"""The digital twin node as a program: ``python -m featherstone_ros.digital_twin``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from featherstone_ros.nodes.execution import run

USAGE = """\
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


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, or explain it; return the exit status."""
    return run("featherstone_ros.nodes.digital_twin:DigitalTwin", args, USAGE)


if __name__ == "__main__":
    sys.exit(main())
