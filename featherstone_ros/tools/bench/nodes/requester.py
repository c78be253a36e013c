"""Keeps a node's interpreter busy by legal requests: trajectories and parameters, for ever.

``python -m featherstone_ros.tools.bench.nodes.requester``. Its parameters: ``target``, the node's
name; ``robot``, whose slow motion is sent; ``parameter``, a number that is set, and its ``value``.
"""

import itertools
from contextlib import suppress

import numpy as np
import rclpy
from rcl_interfaces.srv import SetParameters
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.tools.bench.nodes.reaction import slow_motion
from featherstone_ros.tools.bench.nodes.start import init
from featherstone_ros.tools.demo.session import trajectory_points
from featherstone_ros.tools.robot_setup import load

TRAJECTORY_RATE, PARAMETER_RATE = 10.0, 40.0  # [Hz]
POINTS = 1000
MOST_WAITING = 20  # sets of parameters that are not answered yet
CHANGE = 1.01  # factor between the two values that a parameter alternates between


class Requester(Node):
    """Sends a node as many requests as anybody may."""

    def __init__(self) -> None:
        """Prepare the requests."""
        super().__init__("requester", automatically_declare_parameters_from_overrides=True)
        target = self.get_parameter("target").value
        self._trajectory = serialize_message(trajectory(self.get_parameter("robot").value))
        self._publisher = self.create_publisher(JointTrajectory, f"{target}/joint_trajectory", 1)
        self._client = self.create_client(SetParameters, f"{target}/set_parameters")
        self._values = itertools.cycle((1.0, CHANGE))
        self._waiting: set[object] = set()
        self.create_timer(1.0 / TRAJECTORY_RATE, self._send_trajectory)
        self.create_timer(1.0 / PARAMETER_RATE, self._set_parameter)

    def _send_trajectory(self) -> None:
        self._publisher.publish(self._trajectory)

    def _set_parameter(self) -> None:
        if len(self._waiting) >= MOST_WAITING or not self._client.service_is_ready():
            return
        name, value = (self.get_parameter(name).value for name in ("parameter", "value"))
        changed = Parameter(name, value=value * next(self._values)).to_parameter_msg()
        future = self._client.call_async(SetParameters.Request(parameters=[changed]))
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)


def trajectory(robot: str) -> JointTrajectory:
    """Return a robot's slow motion, in many points."""
    arm = load(robot)
    motion = slow_motion(arm)
    times = np.linspace(0.0, motion.duration, POINTS)
    points = trajectory_points(times, *motion.at(times))
    return JointTrajectory(joint_names=list(arm.model.joint_names), points=points)


def main() -> None:
    """Ask until SIGINT or SIGTERM."""
    init()
    with suppress(ExternalShutdownException):
        rclpy.spin(Requester())


if __name__ == "__main__":
    main()
