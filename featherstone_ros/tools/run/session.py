"""What is heard of a simulated arm, and the trajectory sent to it; needs rclpy."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.parameter_files import CONTROLLER, NODES, TWIN
from featherstone_ros.tools.diagnostics_listener import DiagnosticsListener
from featherstone_ros.tools.node_status import by_joint
from featherstone_ros.tools.pending_trajectory import Heard, sending
from featherstone_ros.tools.rclpy_calls import decode, take_waiting
from featherstone_ros.tools.run.status_line import ArmStatus
from featherstone_ros.tools.signals import held
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory, to_message

FIND, LOOK = 1.0, 0.05  # [s] for finding other nodes, and between two looks


def claim(domain: int, namespace: str) -> socket.socket:
    """Claim a namespace of a ROS domain for one run on this machine; who is later has none.

    Nodes find each other only seconds after their start. The claim, a socket's name, is there at
    once, and ends with its process, however that ends.
    """
    name = hashlib.sha256(f"{domain} {namespace}".encode()).hexdigest()  # of a length that fits
    claimed = socket.socket(socket.AF_UNIX)
    try:
        claimed.bind(f"\0featherstone-ros run {name}")
    except OSError:
        claimed.close()
        raise already_there(nodes_in(namespace)) from None
    return claimed


def nodes_in(namespace: str) -> set[str]:
    """Return the full names of both nodes in a namespace."""
    return {f"/{namespace}/{name}".replace("//", "/") for name in NODES}


def already_there(nodes: set[str]) -> FeatherstoneError:
    """Return the error of a run whose nodes' names are taken."""
    return FeatherstoneError(
        f"already in this ROS domain: {' and '.join(sorted(nodes))}, of another run or launch; "
        "end it, or give this one a name of its own: --namespace NAME"
    )


class ArmListener(DiagnosticsListener):
    """Receives what the nodes publish; a context manager."""

    def __init__(
        self,
        arm: ControlledArm,
        plan: UncheckedTrajectory | None,
        say: Callable[[str], None],
        namespace: str = "",
    ) -> None:
        """Join the domain.

        ``plan``: a trajectory to send as soon as the controller accepts one, or None.
        """
        self.status = ArmStatus()
        self._arm, self._dynamics, self._say = arm, Dynamics(arm.model), say
        self._namespace, self._prefix = namespace, f"{namespace}/" if namespace else ""
        self._sending: Iterator[str] = iter(())
        with held(until_next=True):
            super().__init__("featherstone_run", namespace)
            # States come at a high rate: ``hear`` takes only the latest, without a callback.
            self._states = self.queue(JointState, "joint_states", depth=1)
            self._errors = self.queue(JointState, f"{CONTROLLER}/error", depth=1)
            self._trajectory = self.node.create_publisher(
                JointTrajectory, f"{CONTROLLER}/joint_trajectory", 1
            )
        if plan:
            self._sending = sending(self._heard, partial(self._send, plan))

    def require_alone(self) -> None:
        """Check that no other node has the names of those that are to be started."""
        end = time.monotonic() + FIND
        wanted, there = nodes_in(self._namespace), set[str]()
        while there != wanted and time.monotonic() < end:
            self.spin(LOOK)
            with held():
                names = self.node.get_node_names_and_namespaces()
            there = wanted & {f"{space.rstrip('/')}/{name}" for name, space in names}
        if there:
            raise already_there(there)

    def hear(self, duration: float) -> ArmStatus:
        """Listen for some time [s]; return what was heard last."""
        self.spin(duration)
        names = {node.name.strip("/"): node for node in self.table.nodes}
        self.status.nodes = {
            name.removeprefix(self._prefix): node
            for name, node in names.items()
            if name.startswith(self._prefix)
        }
        for data, _ in take_waiting(self._errors)[-1:]:
            (self.status.error,) = self._of_message(data, "position")
        for data, _ in take_waiting(self._states)[-1:]:
            self.status.effort = self._torque(*self._of_message(data, "effort", "position"))
        if said := next(self._sending, ""):
            self._say(said)
        return self.status

    def _of_message(self, data: bytes, *fields: str) -> list[Floats | None]:
        """Return fields of a JointState in joint order, None where a joint is missing."""
        message = decode(data, JointState)
        return [by_joint(message.name, getattr(message, f), self._arm.model) for f in fields]

    def _torque(self, effort: Floats | None, q: Floats | None) -> Floats | None:
        """Return the torque (n,) that an effort, in the drives' units, means at a position."""
        if effort is None or q is None:
            return None
        return self._arm.units.measured_torque(effort, self._dynamics.gravity(q))

    def _heard(self) -> Heard:
        nodes, is_connected = self.status.nodes, self._trajectory.get_subscription_count() > 0
        return Heard(nodes.get(CONTROLLER), nodes.get(TWIN), is_connected, time.monotonic())

    def _send(self, plan: UncheckedTrajectory) -> None:
        with held():
            self._trajectory.publish(to_message(plan))
