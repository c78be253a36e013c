"""A Panda that the controller moves, and a witness of what reaches its drives meanwhile."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
from support import PACED, Listener, NodeProcess, Ros, status_values, swaying

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from neighbour import CONTROLLER, JOINTS, TWIN
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.control.torque_governor import default_torque_rate
from featherstone_ros.message_templates import float64_multi_array
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file, robot_parameters

PANDA = robot_file("panda").read_text()
# One command may use up so much; a little more for rounding.
LONGEST_STEP = 0.005  # [s] of torque_rate that one command may use up, see torque_governor.pxd
LARGEST_STEP = (
    default_torque_rate(Model.from_urdf(PANDA, joints=JOINTS).effort_limit) * LONGEST_STEP + 1e-9
)
HOME = np.pi / 4 * np.array([0.0, -1.0, 0.0, -3.0, 0.0, 2.0, 1.0])  # [rad], as panda.yaml says
SWAY = 0.1  # [rad] about it
PERIOD = 4.0  # [s]
COMMAND = float64_multi_array(len(JOINTS))  # rclpy leaves the padding undefined
VALUES = len(COMMAND) - 8 * len(JOINTS)  # where a command's values begin
NO_FRAME = b"\1\0\0\0\0"  # an empty frame_id, as the twin sends it, behind the stamp


class Witness:
    """Listens to the commands and states of the real controller and twin, not to a neighbour's.

    Attributes:
        commands: Number of commands.
        not_finite: Number of those with NaN or infinity.
        worst_step: Largest change from a command to the next, as a share of what is allowed.
        deviation: Largest distance of a joint from ``HOME`` [rad].
    """

    def __init__(self, ros: Ros) -> None:
        """Listen from now on."""
        self.commands = self.not_finite = 0
        self.worst_step = self.deviation = 0.0
        self._last: tuple[int, np.ndarray] | None = None
        self._listener = Listener(
            ros,
            "witness",
            (JointState, "/joint_states", self._on_state),
            (Float64MultiArray, f"{CONTROLLER}/commands", self._on_command),
        )

    def stop(self) -> None:
        """Listen no longer."""
        self._listener.close()

    def _on_command(self, raw: bytes, info: dict[str, Any]) -> None:
        if len(raw) != len(COMMAND) or raw[:VALUES] != COMMAND[:VALUES]:
            return
        command, number = np.frombuffer(raw, float, offset=VALUES), info[NUMBER]
        self.commands += 1
        if not np.isfinite(command).all():
            self.not_finite += 1
        elif self._last is not None and number > self._last[0]:
            # A command that got lost on the way here had its own share.
            allowed = LARGEST_STEP * (number - self._last[0])
            step = float((np.abs(command - self._last[1]) / allowed).max())
            self.worst_step = max(self.worst_step, step)
        self._last = number, command

    def _on_state(self, raw: bytes, _: dict[str, Any]) -> None:
        if raw[12:17] != NO_FRAME:
            return
        try:
            position = np.array(deserialize_message(raw, JointState).position)
        except RuntimeError:  # random bytes
            return
        if len(position) != len(HOME):
            return
        self.deviation = max(self.deviation, float(np.abs(position - HOME).max()))


NUMBER = "publication_sequence_number"


class Pair:
    """Twin and controller as processes, the arm at ``HOME``."""

    def __init__(self, ros: Ros, rate: float, pace: float = 0.0, **parameters: Any) -> None:
        """Start both and wait until commands flow.

        Args:
            ros: Where.
            rate: Of the joint states [Hz].
            pace: Of time in lockstep, in times of real time; 0: time is real.
            parameters: Of both nodes.
        """
        own = {**PACED, "real_time_factor": pace} if pace else {}
        self.ros = ros
        self.twin, self.controller = ros.start_pair(
            PANDA,
            *("--params-file", str(robot_parameters("panda"))),
            twin={**parameters, "rate": rate, **own},
            controller=parameters,
        )
        self.nodes = {"controller": self.controller, "twin": self.twin}
        self._trajectories = ros.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
        self.wait_until_well()

    def sway(self, seconds: float = 60.0) -> None:
        """Let the arm move to and fro about ``HOME``, until it falls back to a hold."""
        self._trajectories.publish(swaying(JOINTS, HOME, SWAY, PERIOD, seconds))

    def wait_until_well(self, without_refusals: bool = True) -> None:
        """Wait until the controller follows its motion again and, for 10 s, nothing is refused.

        The twin may still say that it falls behind real time: on a busy machine it does.
        """
        awaited = {CONTROLLER[1:]: "running", TWIN[1:]: None}

        def both_are_well(status: DiagnosticStatus) -> bool:
            if (
                status.name in awaited
                and status.level < DiagnosticStatus.ERROR
                and status_values(status).get("phase") == awaited[status.name]
                and not (without_refusals and "refused" in status.message)
            ):
                del awaited[status.name]
            return not awaited

        self.ros.wait_for_diagnostics(both_are_well, "good diagnostics of both nodes")

    def memory(self) -> float:
        """Return what both keep in memory [MB]."""
        return sum(resident(node.pid) for node in self.nodes.values())

    def lines(self) -> int:
        """Return how many lines both have logged.

        One is not ours: the generated C of Fast DDS's type support prints it to standard error.
        """
        lines = [line for node in self.nodes.values() for line in node.output.splitlines()]
        return len(lines) - lines.count("sequence size exceeds remaining buffer")


def resident(pid: int) -> float:
    """Return the resident memory of a process [MB]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def start_neighbour(ros: Ros, kind: str) -> NodeProcess:
    """Start a hostile neighbour and wait until it floods."""
    path = Path(__file__).with_name("neighbour.py")
    neighbour = ros.run([sys.executable, str(path), kind], fork=True)
    neighbour.wait_for_output("sent ")
    return neighbour


def end_neighbour(neighbour: NodeProcess) -> None:
    """End it in order: who writes into the shared memory of a killed reader waits for a second.

    That is Fast DDS's ``healthy_check_timeout``, and nothing a node could do about.
    """
    neighbour.send(signal.SIGTERM)
    try:
        neighbour.wait()
    finally:
        neighbour.kill()
