"""What is heard of a simulated arm, and the trajectory sent to it; needs rclpy."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sensor_msgs.msg import JointState

from featherstone_ros import Dynamics
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.parameter_files import CONTROLLER, NODES, TWIN
from featherstone_ros.tools.interruption import held
from featherstone_ros.tools.motion_client import MotionClient
from featherstone_ros.tools.node_status import ArmStatus, Heard, sending
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

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


class ArmListener(MotionClient):
    """Receives what both nodes publish; a context manager.

    Attributes:
        arm: What is heard of it.
    """

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
        self.arm = ArmStatus()
        self._arm, self._dynamics, self._say = arm, Dynamics(arm.model), say
        self._prefix = f"{namespace}/" if namespace else ""
        self._sending: Iterator[str] = iter(())
        with held(until_next=True):
            # States come at a high rate: ``hear`` takes only the latest, without a callback.
            super().__init__("run", f"{self._prefix}{CONTROLLER}", namespace, depth=1)
            self._errors = self.queue(JointState, f"{CONTROLLER}/error", depth=1)
        if plan:
            self._sending = sending(self._heard, partial(self.send, plan))

    def require_alone(self) -> None:
        """Check that no other node has the names of those that are to be started."""
        end = time.monotonic() + FIND
        wanted, there = nodes_in(self._prefix.strip("/")), set[str]()
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
        self.arm.nodes = {
            node.name.removeprefix(self._prefix): node
            for node in self.table.nodes
            if node.name.startswith(self._prefix)
        }
        for error in self.samples(self._arm.model, self._errors):
            self.arm.error = error.position
        for state in self.samples(self._arm.model):
            gravity, is_known = self._dynamics.gravity(state.position), np.isfinite(state.effort)
            torque = self._arm.units.measured_torque(state.effort, gravity)
            self.arm.effort = torque if is_known.all() else None
        if said := next(self._sending, ""):
            self._say(said)
        return self.arm

    def _heard(self) -> Heard:
        nodes = self.arm.nodes
        return Heard(nodes.get(CONTROLLER), nodes.get(TWIN), self.is_connected, time.monotonic())
