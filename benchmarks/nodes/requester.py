"""Keeps a Panda's controller busy by legal requests: trajectories and parameters, for ever.

``python -m benchmarks.nodes.requester``. Its parameter ``target`` is the controller's name.
"""

import itertools

import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory

from benchmarks.nodes.echo import spin
from benchmarks.nodes.processes import CONTROLLER
from benchmarks.nodes.reaction import slow_motion
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.trajectory_files import from_arrays, to_message

TRAJECTORY_RATE, PARAMETER_RATE = 10.0, 40.0  # [Hz]
POINTS = 1000
MAX_WAITING = 20  # sets of parameters that are not answered yet
CHANGE = 0.01  # of a gain at most: a value never comes again, so that all is computed anew


class Requester(Node):
    """Sends a node as many requests as anybody may."""

    def __init__(self) -> None:
        """Prepare the requests."""
        super().__init__("requester", automatically_declare_parameters_from_overrides=True)
        target = self.get_parameter("target").value
        robot = load("panda")
        name = f"gains.{robot.model.joint_names[0]}.p"
        gain = robot.parameters[CONTROLLER].number(name, 0.0)
        random = np.random.default_rng(0)
        self._changes = (
            Parameter(name, value=gain * (1.0 + CHANGE * random.random())).to_parameter_msg()
            for _ in itertools.count()
        )
        motion = slow_motion(robot)
        times = np.linspace(0.0, motion.duration, POINTS)
        plan = from_arrays(robot.model.joint_names, times, *motion.at(times))
        trajectory = serialize_message(to_message(plan))
        publisher = self.create_publisher(JointTrajectory, f"{target}/joint_trajectory", 1)
        self._client = self.create_client(SetParameters, f"{target}/set_parameters")
        self._waiting: set[object] = set()
        self.create_timer(1.0 / TRAJECTORY_RATE, lambda: publisher.publish(trajectory))
        self.create_timer(1.0 / PARAMETER_RATE, self._set_parameter)

    def _set_parameter(self) -> None:
        if len(self._waiting) < MAX_WAITING and self._client.service_is_ready():
            request = SetParameters.Request(parameters=[next(self._changes)])
            future = self._client.call_async(request)
            self._waiting.add(future)
            future.add_done_callback(self._waiting.discard)


if __name__ == "__main__":
    spin(Requester)
