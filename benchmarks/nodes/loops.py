"""How regularly the twin publishes, and how a closed loop of twin and controller keeps up.

Both by the times and numbers that the sending middleware puts on its messages, so it does not
matter when this process looks.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from compiled import echo
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmarks.nodes.processes import (
    CONTROLLER,
    TWIN,
    Arena,
    MeasuredProcess,
    controller_parameters,
    taking_part,
    twin_parameters,
)
from benchmarks.nodes.reaction import Turns, driver
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.multi_sine import plan
from featherstone_ros.tools.rclpy_calls import take_waiting
from featherstone_ros.tools.robot_setup import RobotSetup

RATE = 1000  # [Hz]
PERIOD = 1_000_000_000 // RATE  # [ns]
_RUN_UP = 0.5  # [s] in which the nodes catch up
_LOOK_EVERY = 1.0  # [s]; looking ten times a second disturbs 1 % of wake-ups
_QUEUE = 3000  # messages that may wait between two looks
_START_DEADLINE = 30.0  # [s]
_LISTENING = 1  # priority of this process while it listens
_PAUSE = 1.0  # [s] between two motions


class Recorder:
    """Notes when the messages of a topic were published [ns], and their numbers."""

    def __init__(self, node: Node, kind: type, topic: str) -> None:
        """Subscribe; the node is in no executor."""
        qos = QoSProfile(depth=_QUEUE, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription = node.create_subscription(kind, topic, lambda _: None, qos, raw=True)
        self.sent: list[int] = []
        self.number: list[int] = []

    def take(self) -> None:
        """Take what waits."""
        for _, info in take_waiting(self._subscription):
            self.sent.append(info["source_timestamp"])
            self.number.append(info["publication_sequence_number"])

    def clear(self) -> None:
        """Forget what was noted."""
        self.take()
        self.sent, self.number = [], []


def unanswered(states: Recorder, commands: Recorder) -> int:
    """Return how many more states than commands came from the first command to the last."""
    begin, end = commands.sent[0], commands.sent[-1]
    numbers = [n for sent, n in zip(states.sent, states.number, strict=True) if begin <= sent < end]
    answered = commands.number[-1] - commands.number[0]
    return max(numbers[-1] - numbers[0] + 1 - answered, 0) if numbers else 0


def deviations(sent: list[int]) -> Floats:
    """Return |time between two publications - period| [s]."""
    return 1e-9 * np.abs(np.diff(sent) - PERIOD).astype(float)


def reactions(states: list[int], commands: list[int]) -> Floats:
    """Return the time from the newest state to each command [s]."""
    newest = np.searchsorted(states, commands) - 1
    return 1e-9 * (np.array(commands) - np.array(states)[newest])[newest >= 0].astype(float)


def jitter(
    domain: int, node: Node, robot: RobotSetup, scheduling: str, block: float, rounds: int
) -> tuple[Turns, Turns]:
    """Return deviations by turn [s]: of the twin's publications, and of a loop in C that sleeps.

    The arm is held by a constant torque: the twin computes forward dynamics and takes no messages.
    """
    twins, sleepers = Turns(), Turns()
    with Arena(domain) as arena:
        namespace = arena.new_namespace()
        twin = _twin(arena, robot, namespace, scheduling)
        states = Recorder(node, JointState, f"{namespace}/joint_states")
        commands = node.create_publisher(Float64MultiArray, f"{namespace}/{CONTROLLER}/commands", 1)
        _wait_for([states], [twin], commands.get_subscription_count)
        still = 0.0 * robot.start
        torque = robot.inverse_dynamics(robot.start, still, still)
        commands.publish(Float64MultiArray(data=torque))
        twin.settle(scheduling)
        twin.hold_still()
        for _ in range(rounds):
            with taking_part(scheduling, _LISTENING), twin.going(_RUN_UP):
                states.clear()
                _listen([states], block)
            twins.latency.append(deviations(states.sent))
            with taking_part(scheduling), ThreadPoolExecutor(1) as sleeper:
                woke = sleeper.submit(echo.wake_times, PERIOD, round(block * RATE)).result()
                sleepers.latency.append(deviations(list(woke)))
    return twins, sleepers


def closed_loop(
    domain: int, node: Node, robot: RobotSetup, scheduling: str, duration: float
) -> Turns:
    """Return the times from the newest state to each command, as one turn.

    The controller follows a fast motion over and over.
    """
    with Arena(domain) as arena:
        namespace = arena.new_namespace()
        name = f"{namespace}/{CONTROLLER}"
        program = (f"featherstone_ros.{CONTROLLER}",)
        parameters = controller_parameters(robot)
        processes = [arena.start(CONTROLLER, program, namespace, parameters, scheduling)]
        processes.append(_twin(arena, robot, namespace, scheduling))
        states = Recorder(node, JointState, f"{namespace}/joint_states")
        commands = Recorder(node, Float64MultiArray, f"{name}/commands")
        motion = plan(robot.model, robot.inverse_dynamics, robot.start)
        drive = driver(node, name, robot, motion)
        _wait_for([states, commands], processes)
        for process in processes:
            process.settle(scheduling)
        with taking_part(scheduling, _LISTENING):
            _listen([states, commands], _RUN_UP)
            states.clear()
            commands.clear()
            end = time.monotonic() + duration
            while (left := end - time.monotonic()) > 0:
                drive()
                _listen([states, commands], min(left, motion.duration + _PAUSE))
        return Turns([reactions(states.sent, commands.sent)], lost=unanswered(states, commands))


def _twin(arena: Arena, robot: RobotSetup, namespace: str, scheduling: str) -> MeasuredProcess:
    parameters = twin_parameters(robot, float(RATE))
    return arena.start(TWIN, (f"featherstone_ros.{TWIN}",), namespace, parameters, scheduling)


def _wait_for(
    recorders: list[Recorder],
    processes: list[MeasuredProcess],
    is_heard: Callable[[], int] = lambda: 1,
) -> None:
    deadline = time.monotonic() + _START_DEADLINE
    while not (all(recorder.sent for recorder in recorders) and is_heard()):
        for process in processes:
            process.check()
        if time.monotonic() > deadline:
            raise FeatherstoneError(f"not all nodes publish {_START_DEADLINE:g} s after the start")
        _listen(recorders, _LOOK_EVERY)


def _listen(recorders: list[Recorder], duration: float) -> None:
    end = time.monotonic() + duration
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_EVERY))
        for recorder in recorders:
            recorder.take()
