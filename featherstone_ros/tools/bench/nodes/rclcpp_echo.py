"""Becomes a C++ node on rclcpp that was built beside the project, with this process's arguments.

The environment variable ``FEATHERSTONE_RCLCPP_ECHO`` says where it is: a program that answers
``joint_states`` on ``~/commands``, as ``echo`` does.
"""

import os
import sys

VARIABLE = "FEATHERSTONE_RCLCPP_ECHO"

if __name__ == "__main__":
    program = os.environ[VARIABLE]
    os.execv(program, [program, *sys.argv[1:]])  # noqa: S606
