"""How quickly the controller answers a joint state, and at what cost, against a bare echo node.

Blocks of all alternate, in every second round in the opposite order; those whose turn it is not are
held still. The controller follows a trajectory meanwhile. An echo node without an executor takes
part as well: what the controller takes beyond it is the control itself, the rest is middleware.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from rclpy.time import Time
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.bench.nodes.distribution import Distribution
from featherstone_ros.bench.nodes.judgement import REACTION, Block, Pace, judge_reaction
from featherstone_ros.bench.nodes.meter import Answers, Meter
from featherstone_ros.bench.nodes.processes import (
    CONTROLLER,
    ECHO,
    RAW_ECHO,
    Bench,
    MeasuredProcess,
    controller_parameters,
)
from featherstone_ros.bench.nodes.scheduling import taking_part
from featherstone_ros.bench.results import Result, Target
from featherstone_ros.demo.motion import Motion, plan
from featherstone_ros.demo.robot import Robot
from featherstone_ros.demo.session import trajectory_message
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.nodes.realtime_path import EXECUTOR, OWN_WAIT_SET

FLOOR = "raw echo"
BOUNDS = {
    OWN_WAIT_SET: REACTION,
    EXECUTOR: None,
}  # of each realtime.path; the second is a fall-back
RATE = 500.0  # [Hz]
RUN_UP = 0.3  # [s] twice: for states to be believed, and for the trajectory to begin
_ATTEMPTS = 3
SPEED = 0.02  # of the velocity limits: the arm that is played stands still


@dataclass(frozen=True)
class Contestant:
    """A node that answers joint states.

    Attributes:
        name: For tables.
        process: Held still between its turns.
        meter: Measures it.
        start: Called once it answers again; gives it something to follow.
        bound: What is asked of it; None for those that are there to compare with.
    """

    name: str
    process: MeasuredProcess
    meter: Meter
    start: Callable[[], None] | None = None
    bound: Target | None = None

    def turn(self, duration: float) -> Block:
        """Measure for a while; again if the machine was too busy to let the node work.

        Raises:
            FeatherstoneError: It hardly answers.
        """
        for _ in range(_ATTEMPTS):
            with self.process.going(RUN_UP):
                answers, spent = self._attempt(duration)
            answered = len(answers.latency)
            states = answered + answers.unanswered
            follows = not self.start or answers.first != answers.last
            if follows and answered > states / 2:
                break
        if not answered:
            raise FeatherstoneError(f"{self.name} answered none of {states} joint states")
        return Block(answers.latency, 1e-9 * spent / states, answers.unanswered, follows)

    def _attempt(self, duration: float) -> tuple[Answers, int]:
        """Return the answers, and the processor time that the node spent on them [ns]."""
        self.meter.run(RUN_UP, RATE)
        if self.start:
            self.start()
        self.meter.run(RUN_UP, RATE)
        before = self.process.processor_time
        answers = self.meter.run(duration, RATE)
        return answers, self.process.processor_time - before


def steps(pace: Pace) -> int:
    """Return how many turns ``race`` has."""
    return pace.rounds * (2 + len(BOUNDS))


def race(
    bench: Bench, node: Node, robot: Robot, scheduling: str, pace: Pace
) -> Iterator[tuple[list[Result], list[Distribution]]]:
    """Measure; yields after every turn, in the end what came of it.

    Args:
        bench: Where the processes run.
        node: For the topics; in no executor.
        robot: Whose joints.
        scheduling: Of all processes, this one too.
        pace: How long.
    """
    with ExitStack() as stack:
        contestants = _contestants(bench, node, robot, scheduling, stack)
        stack.enter_context(taking_part(scheduling))
        turns = list(enumerate(contestants))
        blocks: list[list[Block]] = []
        for _ in range(pace.rounds):
            blocks.append([None] * len(contestants))
            for k, contestant in turns:
                blocks[-1][k] = contestant.turn(pace.block)
                yield [], []
            turns.reverse()
    echo, *ours = zip(*blocks, strict=True)
    results = [
        result
        for contestant, mine in zip(contestants[1:], ours, strict=True)
        for result in judge_reaction(
            contestant.name, robot, scheduling, mine, echo, contestant.bound
        )
    ]
    distributions = [
        Distribution.of(
            "reaction", contestant.name, scheduling, np.concatenate([b.latency for b in its])
        )
        for contestant, its in zip(contestants, (echo, *ours), strict=True)
    ]
    yield results, distributions


def slow_motion(robot: Robot) -> Motion:
    """Return a motion that hardly leaves the start, so that an arm may stand still instead."""
    return plan(robot.model, robot.inverse_dynamics, robot.start, speed=SPEED)


def _contestants(
    bench: Bench, node: Node, robot: Robot, scheduling: str, stack: ExitStack
) -> list[Contestant]:
    """Start the echo node and a controller for each path; all are held still once they answer."""
    started = [
        ("echo", bench.new_namespace(), ECHO, {}, None),
        (FLOOR, bench.new_namespace(), RAW_ECHO, {}, None),
    ]
    for path, bound in BOUNDS.items():
        parameters = controller_parameters(robot) | {"realtime.path": path}
        name = f"controller, {path}"
        started.append((name, bench.new_namespace(), CONTROLLER, parameters, bound))
    processes = [
        stack.enter_context(bench.start(module, namespace, scheduling, parameters))
        for _, namespace, module, parameters, _ in started
    ]
    motion = slow_motion(robot)
    contestants = []
    for (name, namespace, module, _, bound), process in zip(started, processes, strict=True):
        topics = f"{namespace}/{module.rpartition('.')[2]}"
        meter = Meter(node, namespace, topics, robot)
        start = driver(node, topics, robot, motion) if module == CONTROLLER else None
        contestants.append(Contestant(name, process, meter, start, bound))
    for contestant in contestants:
        contestant.meter.wait_until_answered(contestant.process)
        contestant.process.settle()
        contestant.process.hold_still()
    return contestants


def driver(node: Node, controller: str, robot: Robot, motion: Motion) -> Callable[[], None]:
    """Return what sends the motion to a controller, to be followed at once."""
    publisher = node.create_publisher(JointTrajectory, f"{controller}/joint_trajectory", 1)
    message = trajectory_message(list(robot.model.joint_names), motion, Time())
    return lambda: publisher.publish(message)
