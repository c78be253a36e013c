"""Plays an arm that stands still, and measures how long a node takes to answer a joint state.

The same cheap loop for every node: states are serialised beforehand but for the stamp; commands are
awaited on a wait set that holds nothing else, and taken as bytes.
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

PATIENCE = 1.0  # [s] after which an answer is lost
_STAMP = struct.Struct("<iI")
_STAMP_OFFSET = 4  # behind the encapsulation header
_START_DEADLINE = 30.0  # [s]
_ENCODER_NOISE = 1e-9  # [rad, m]


@dataclass(frozen=True)
class Answers:
    """How the states of a period were answered."""

    latency: Floats  # (N,) from before publishing a state to having taken its command [s]
    lost: int  # number of states without a command
    first: bytes  # the first command
    last: bytes  # the last one


def standing_arm(robot: RobotSetup) -> tuple[bytes, bytes]:
    """Return two serialised joint states of an arm that stands where it starts, to take in turn.

    They differ by an encoder's noise: positions that never change are no arm's that moves.
    """
    still = np.zeros(robot.model.n)
    names = list(robot.model.joint_names)
    first, second = (
        bytes(serialize_message(JointState(name=names, position=q, velocity=still, effort=still)))
        for q in (robot.start, robot.start + _ENCODER_NOISE)
    )
    return first, second


class Meter:
    """The arm of one node."""

    def __init__(self, node: Node, namespace: str, answerer: str, robot: RobotSetup) -> None:
        """Make both topics for the node ``answerer``; ``node``: in no executor."""
        self._in_turn = cycle(map(bytearray, standing_arm(robot)))
        self.state_size = len(next(self._in_turn))
        self._answerer = answerer
        self._states = node.create_publisher(JointState, f"{namespace}/joint_states", 10)
        self._commands = node.create_subscription(
            Float64MultiArray, f"{answerer}/commands", lambda _: None, 10, raw=True
        )
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)

    def wait_until_answered(self, process: NodeProcess) -> None:
        """Publish states until one is answered, for at most half a minute."""
        deadline = time.monotonic() + _START_DEADLINE
        while not len(self.run(0.1, 20.0, 0.1).latency):
            process.check()
            if time.monotonic() > deadline:
                raise FeatherstoneError(
                    f"{self._answerer} has answered no joint state for {_START_DEADLINE:g} s; its "
                    f"last output:\n{process.last_output()}"
                )

    def run(self, duration: float, rate: float, patience: float = PATIENCE) -> Answers:
        """Publish states [Hz] for a while [s] and await each answer, with patience [s]."""
        period, latency, lost = round(1e9 / rate), [], 0
        first = last = b""
        due = time.monotonic_ns()
        end = due + round(duration * 1e9)
        while due < end:
            while self._take():  # what came too late
                pass
            state = next(self._in_turn)
            _STAMP.pack_into(state, _STAMP_OFFSET, *divmod(time.time_ns(), 1_000_000_000))
            sent = time.monotonic_ns()
            self._states.publish(bytes(state))
            command = self._await_command(sent + round(patience * 1e9))
            received = time.monotonic_ns()
            if command:
                latency.append(received - sent)
                first, last = first or command, command
            else:
                lost += 1
            due = max(due + period, received)
            time.sleep(max(due - time.monotonic_ns(), 0) * 1e-9)
        return Answers(1e-9 * np.array(latency, dtype=float), lost, first, last)

    def _await_command(self, deadline: int) -> bytes:
        """Return the next command; empty if none comes until ``deadline`` [ns]."""
        command = b""
        while not command and (left := deadline - time.monotonic_ns()) > 0:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(self._commands.handle)
            self._wait_set.wait(left)
            command = self._take()
        return command

    def _take(self) -> bytes:
        taken = self._commands.handle.take_message(Float64MultiArray, True)
        return bytes(taken[0]) if taken else b""
