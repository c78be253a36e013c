"""Talks to one controller: hears it and its arm, sends it trajectories; needs rclpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rclpy.client import Client
from rclpy.qos import ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.time import Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model
from featherstone_ros.nodes.messages import seconds
from featherstone_ros.tools.diagnostics_listener import DiagnosticsListener
from featherstone_ros.tools.node_status import NodeStatus, by_joint
from featherstone_ros.tools.rclpy_calls import decode, take_waiting
from featherstone_ros.tools.signals import held
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory, to_message

QUEUE = 5000  # joint states that may wait between two looks at them


class Sample(NamedTuple):
    """A joint state, in the order of the model's joints."""

    time: float  # [s]
    position: Floats  # (n,) [rad or m]
    effort: Floats  # (n,) [N m or N], NaN where it is not measured


class MotionClient(DiagnosticsListener):
    """A node that talks to one controller; a context manager.

    Attributes:
        name: Of the controller, with its namespace.
        space: That namespace.
        states: Joint states that wait.
    """

    def __init__(
        self,
        command: str,
        controller: str,
        namespace: str = "",
        domain: int | None = None,
        depth: int = QUEUE,
        reliability: ReliabilityPolicy = ReliabilityPolicy.BEST_EFFORT,
    ) -> None:
        """Join the domain for a command, in a namespace of its own."""
        self.name = controller.strip("/")
        self.space = f"/{self.name}".rpartition("/")[0]
        with held(until_next=True):
            super().__init__(f"featherstone_{command}", namespace, domain)
            self.states = self.queue(JointState, f"{self.space}/joint_states", depth, reliability)
            self._trajectory = self.node.create_publisher(
                JointTrajectory, f"/{self.name}/joint_trajectory", 1
            )

    def client(self, kind: type, service: str) -> Client:
        """Return a client of a service of the controller, or, with /, of another node."""
        name = service if service.startswith("/") else f"/{self.name}/{service}"
        return self.node.create_client(kind, name)

    @property
    def status(self) -> NodeStatus | None:
        """The controller's last diagnostics, None before."""
        return next((node for node in self.table.nodes if node.name == self.name), None)

    @property
    def is_connected(self) -> bool:
        """Whether the controller listens to trajectories."""
        return self._trajectory.get_subscription_count() > 0

    def send(self, trajectory: UncheckedTrajectory, start: int = 0) -> None:
        """Send a trajectory that begins at a time [ns]; 0: now."""
        message = to_message(trajectory)
        message.header.stamp = Time(nanoseconds=start).to_msg()
        with held():
            self._trajectory.publish(message)

    def samples(self, model: Model, of: Subscription | None = None) -> list[Sample]:
        """Return the joint states that wait and have all joints of a model."""
        found = []
        for data, info in take_waiting(of or self.states):
            state = decode(data, JointState)
            q, effort = (by_joint(state.name, x, model) for x in (state.position, state.effort))
            if q is not None and np.isfinite(q).all():
                time = seconds(state.header.stamp) or 1e-9 * info["received_timestamp"]
                found.append(Sample(time, q, np.full_like(q, np.nan) if effort is None else effort))
        return found
