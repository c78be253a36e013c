"""How regularly the twin publishes at 1 kHz, against a loop in C that only sleeps.

Both are judged by |time since the one before - period|: of the twin, between the times at which its
middleware published two states; of the loop, between the times at which it woke. Blocks alternate;
the twin is held still while the loop has its turn. The arm is held by a constant torque: the twin
computes forward dynamics and takes no messages.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.bench.nodes.distribution import Distribution
from featherstone_ros.tools.bench.nodes.judgement import BlockPlan, judge_jitter
from featherstone_ros.tools.bench.nodes.processes import (
    CONTROLLER,
    TWIN,
    Bench,
    twin_parameters,
)
from featherstone_ros.tools.bench.nodes.recorder import Recorder
from featherstone_ros.tools.bench.nodes.scheduling import listening, taking_part
from featherstone_ros.tools.bench.nodes.wake_loop import deviations, wake_times
from featherstone_ros.tools.bench.results import Result
from featherstone_ros.tools.robot_setup import RobotSetup

RATE = 1000  # [Hz]
PERIOD = 1_000_000_000 // RATE  # [ns]
_RUN_UP = 0.5  # [s] in which the twin catches up
_LOOK_EVERY = 1.0  # [s]; taking 100 messages ten times a second disturbs 1 % of wake-ups
_START_DEADLINE = 30.0  # [s]


def steps(plan: BlockPlan) -> int:
    """Return how many turns ``race`` has."""
    return 2 * plan.rounds


def race(
    bench: Bench, node: Node, robot: RobotSetup, scheduling: str, plan: BlockPlan
) -> Iterator[tuple[list[Result], list[Distribution]]]:
    """Measure; yield after every turn, finally the results; arguments as ``reaction``'s."""
    with ExitStack() as stack:
        namespace = bench.new_namespace()
        parameters = twin_parameters(robot, float(RATE))
        twin = stack.enter_context(bench.start(TWIN, namespace, scheduling, parameters))
        recorder = Recorder(node, namespace, f"{namespace}/{CONTROLLER}")
        commands = node.create_publisher(Float64MultiArray, f"{namespace}/{CONTROLLER}/commands", 1)
        torque = robot.inverse_dynamics(robot.start, 0 * robot.start, 0 * robot.start)
        _wait(recorder, commands.get_subscription_count)
        commands.publish(Float64MultiArray(data=torque))
        twin.settle()
        twin.hold_still()
        blocks = []
        for _ in range(plan.rounds):
            with listening(scheduling), twin.going(_RUN_UP):
                recorder.clear()
                _listen(recorder, plan.block)
            yield [], []
            with taking_part(scheduling):
                woke = wake_times(PERIOD, round(plan.block * RATE))
            blocks.append((recorder.states.sent, woke))
            yield [], []
    ours, theirs = ([deviations(block[k], PERIOD) for block in blocks] for k in range(2))
    yield (
        judge_jitter(robot, scheduling, ours, theirs),
        [
            Distribution.of("jitter", who, scheduling, np.concatenate(its))
            for who, its in (("twin", ours), ("sleeping loop", theirs))
        ],
    )


def _wait(recorder: Recorder, is_heard: Callable[[], int]) -> None:
    deadline = time.monotonic() + _START_DEADLINE
    while not (len(recorder.states.number) and is_heard()):
        if time.monotonic() > deadline:
            raise FeatherstoneError(f"the twin is not there {_START_DEADLINE:g} s after its start")
        _listen(recorder, _LOOK_EVERY)


def _listen(recorder: Recorder, duration: float) -> None:
    end = time.monotonic() + duration
    while (remaining := end - time.monotonic()) > 0:
        time.sleep(min(remaining, _LOOK_EVERY))
        recorder.take_waiting()
