"""The nodes of a simulated arm as processes, and what is heard of them; needs rclpy."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros.model import Model
from featherstone_ros.tools.monitor.node_status import StatusTable
from featherstone_ros.tools.preflight.source import UncheckedTrajectory
from featherstone_ros.tools.processes import NodeProcess, node_environment, write_parameters
from featherstone_ros.tools.rclpy_calls import decode, spin, take_waiting
from featherstone_ros.tools.run.pending_trajectory import PendingTrajectory
from featherstone_ros.tools.run.status_line import CONTROLLER, TWIN, ArmStatus, by_joint
from featherstone_ros.tools.signals import held

LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
DIAGNOSTICS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
REMAPPINGS = {TWIN: ("-r", f"~/commands:={CONTROLLER}/commands"), CONTROLLER: ()}


@dataclass(frozen=True)
class SimulatedArm:
    """What is to be simulated.

    Attributes:
        text: URDF text.
        model: Of the joints that the controller moves.
        parameters: A parameter file of both nodes; None: their defaults.
        mode: Of the controller; None: as the file says.
    """

    text: str
    model: Model
    parameters: Path | None
    mode: str | None


@contextmanager
def nodes(arm: SimulatedArm, folder: Path, processes: list[NodeProcess]) -> Iterator[None]:
    """Start the twin and the controller in this terminal's ROS domain; end them afterwards.

    The controller is ended first: it brings the arm to rest.

    Args:
        arm: What to simulate.
        folder: For their output.
        processes: Filled with them; they can be asked afterwards how they ended.
    """
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    environment = node_environment(domain(), reach, folder)
    files = ["--params-file", str(arm.parameters.absolute())] if arm.parameters else []
    with ExitStack() as stack:
        for node in (TWIN, CONTROLLER):
            own: dict[str, object] = {"robot_description": arm.text}
            if node == CONTROLLER and arm.mode:
                own["mode"] = arm.mode
            path = folder / f"{node}.yaml"
            write_parameters(path, own, node)
            arguments = [*files, "--params-file", str(path), *REMAPPINGS[node]]
            with held():  # a process has an owner before it can be left behind
                process = NodeProcess(node, arguments, environment, folder)
                processes.append(stack.enter_context(process))
        yield


def domain() -> int:
    """Return the ROS domain of this terminal."""
    return int(os.environ.get("ROS_DOMAIN_ID") or 0)


class ArmListener:
    """Receives what the nodes publish; a context manager."""

    def __init__(
        self, model: Model, plan: UncheckedTrajectory | None, say: Callable[[str], None]
    ) -> None:
        """Join the domain.

        Args:
            model: The arm.
            plan: A trajectory to send as soon as the controller accepts one, or None.
            say: Is told why it is not sent yet.
        """
        self.status = ArmStatus()
        self._model, self._table, self._say = model, StatusTable(), say
        self._pending = PendingTrajectory(plan, time.monotonic()) if plan else None
        with held(until_next=True):
            self._join()

    def _join(self) -> None:
        import rclpy

        self._context = Context()
        rclpy.init(context=self._context)
        self._node = Node(
            "featherstone_run",
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        # States come at a high rate: ``hear`` takes only the latest, without a callback.
        self._states = self._subscribe_without_callback(JointState, "joint_states")
        self._errors = self._subscribe_without_callback(JointState, f"{CONTROLLER}/error")
        self._reader = Node(
            "featherstone_run_diagnostics",
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._reader.create_subscription(DiagnosticArray, "/diagnostics", self._take, DIAGNOSTICS)
        self._trajectory = self._reader.create_publisher(
            JointTrajectory, f"{CONTROLLER}/joint_trajectory", 1
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._reader)

    def _subscribe_without_callback(self, kind: type, topic: str) -> Subscription:
        return self._node.create_subscription(kind, topic, lambda _: None, LATEST, raw=True)

    def __enter__(self) -> ArmListener:
        """Return the listener."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the domain."""
        with held():
            self._executor.shutdown()
            self._reader.destroy_node()
            self._node.destroy_node()
            self._context.try_shutdown()

    def hear(self, duration: float) -> ArmStatus:
        """Listen for some time [s]; return what was heard last.

        Raises:
            NotFollowedError: The controller does not follow the trajectory.
        """
        spin(self._executor, duration)
        for subscription, name, values in (
            (self._errors, "error", "position"),
            (self._states, "effort", "effort"),
        ):
            for data, _ in take_waiting(subscription)[-1:]:
                message = decode(data, JointState)
                array = by_joint(message.name, getattr(message, values), self._model)
                setattr(self.status, name, array)
        if self._pending:
            self._send(self._pending)
        return self.status

    def _send(self, pending: PendingTrajectory) -> None:
        is_connected = self._trajectory.get_subscription_count() > 0
        controller = self.status.nodes.get(CONTROLLER)
        said = pending.update(controller, is_connected, time.monotonic())
        if pending.is_due:
            with held():
                self._trajectory.publish(trajectory_of(pending.plan))
        if said:
            self._say(said)

    def _take(self, message: DiagnosticArray) -> None:
        self._table.hear(message.status, time.monotonic())
        self.status.nodes = {node.name.strip("/"): node for node in self._table.nodes}


def trajectory_of(plan: UncheckedTrajectory) -> JointTrajectory:
    """Return a trajectory as a message."""
    points = [
        JointTrajectoryPoint(
            positions=point.positions,
            velocities=point.velocities,
            accelerations=point.accelerations,
            effort=point.effort,
            time_from_start=Duration(nanoseconds=round(1e9 * point.time)).to_msg(),
        )
        for point in plan.points
    ]
    return JointTrajectory(joint_names=plan.names, points=points)
