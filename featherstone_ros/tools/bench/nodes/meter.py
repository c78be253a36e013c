"""Measures how long a node takes to answer a joint state: the same cheap loop for every node.

States are serialised beforehand, but for the stamp; commands are awaited on a wait set that holds
nothing else, and are taken as bytes. The time for this is the same for every node.
"""

import struct
import time
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.processes import NodeProcess
from featherstone_ros.tools.robot_setup import RobotSetup

_PATIENCE = 100_000_000  # [ns] after which an answer is late
_LONGEST_PATIENCE = 1_000_000_000  # [ns] after which it is lost
_STAMP = struct.Struct("<iI")
_STAMP_OFFSET = 4  # behind the encapsulation header
_START_DEADLINE = 30.0  # [s]
_ENCODER_NOISE = 1e-9  # [rad, m]


@dataclass(frozen=True)
class Answers:
    """How the states of a period were answered.

    Attributes:
        latency: (N,) from before publishing a state to having taken its command [s].
        late: Number of states whose command took more than a tenth of a second.
        lost: Number of states without a command, by the numbers that the node's middleware gives
            its commands.
        first: The first command.
        last: The last one.
    """

    latency: Floats
    late: int
    lost: int
    first: bytes
    last: bytes


def standing_arm(robot: RobotSetup) -> tuple[bytes, bytes]:
    """Return two serialised joint states of an arm that stands where it starts, to take in turn.

    Their positions differ by an encoder's noise: the controller does not believe that positions
    never change in an arm that is told to move, and falls silent.
    """
    still = np.zeros(robot.model.n)
    names = list(robot.model.joint_names)
    first, second = (
        bytes(serialize_message(JointState(name=names, position=q, velocity=still, effort=still)))
        for q in (robot.start, robot.start + _ENCODER_NOISE)
    )
    return first, second


class Meter:
    """Plays an arm that stands still."""

    def __init__(self, node: Node, namespace: str, answerer: str, robot: RobotSetup) -> None:
        """Make both topics.

        Args:
            node: Whose; in no executor.
            namespace: Of the node that is measured.
            answerer: That node's full name.
            robot: Stands where it starts.
        """
        self._in_turn = cycle(map(bytearray, standing_arm(robot)))
        self._state = next(self._in_turn)
        self._answerer = answerer
        self._states = node.create_publisher(JointState, f"{namespace}/joint_states", 10)
        self._commands = node.create_subscription(
            Float64MultiArray, f"{answerer}/commands", lambda _: None, 10, raw=True
        )
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)
        self._newest = 0  # number of the newest command

    @property
    def state_size(self) -> int:
        """Size of the states that it publishes [bytes]."""
        return len(self._state)

    def wait_until_answered(self, process: NodeProcess) -> None:
        """Publish states until one is answered.

        Args:
            process: Of the node.

        Raises:
            FeatherstoneError: The node has died, or answers none for half a minute.
        """
        deadline = time.monotonic() + _START_DEADLINE
        while not len(self.run(0.1, 20.0).latency):
            process.check()
            if time.monotonic() > deadline:
                raise FeatherstoneError(
                    f"{self._answerer} has answered no joint state for {_START_DEADLINE:g} s; its "
                    f"last output:\n{process.last_output()}"
                )

    def run(self, duration: float, rate: float) -> Answers:
        """Publish states and await the answers, one at a time.

        Args:
            duration: How long [s].
            rate: States per second [Hz].
        """
        period, count = round(1e9 / rate), round(duration * rate)
        latency, answers, missed = np.empty(count, np.int64), 0, 0
        first = last = b""
        due = time.monotonic_ns()
        end = due + count * period
        self._throw_away()
        before = self._newest
        while due < end:
            self._throw_away()
            state = self._stamped()
            sent = time.monotonic_ns()
            self._states.publish(state)
            command = self._await_command()
            received = time.monotonic_ns()
            if command is None:
                missed += 1
            else:
                latency[answers] = received - sent
                answers += 1
                first, last = first or command, command
            due = max(due + period, received)
            time.sleep(max(due - time.monotonic_ns(), 0) * 1e-9)
        lost = self._await_late_ones(before + answers + missed) if answers else missed
        seconds = 1e-9 * latency[:answers].astype(np.float64)
        return Answers(seconds, max(missed - lost, 0), lost, first, last)

    def _await_late_ones(self, number: int) -> int:
        """Wait for the command of that number, with a time-out; return how many are missing."""
        deadline = time.monotonic_ns() + _LONGEST_PATIENCE
        while self._newest < number and time.monotonic_ns() < deadline:
            self._await_command()
        return max(number - self._newest, 0)

    def _throw_away(self) -> None:
        """Take what came late."""
        while self._take() is not None:
            pass

    def _stamped(self) -> bytes:
        """Return the next state, stamped now."""
        self._state = next(self._in_turn)
        _STAMP.pack_into(self._state, _STAMP_OFFSET, *divmod(time.time_ns(), 1_000_000_000))
        return bytes(self._state)

    def _await_command(self) -> bytes | None:
        self._wait_set.clear_entities()
        self._wait_set.add_subscription(self._commands.handle)
        self._wait_set.wait(_PATIENCE)
        return self._take()

    def _take(self) -> bytes | None:
        taken = self._commands.handle.take_message(Float64MultiArray, True)
        if taken is None:
            return None
        command, info = taken
        self._newest = info["publication_sequence_number"]
        return bytes(command)
