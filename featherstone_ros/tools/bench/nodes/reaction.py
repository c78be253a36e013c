"""How quickly the controller answers a joint state, and at what cost, against nodes that only echo.

Blocks of all alternate, in reverse order in every second round; nodes whose turn it is not are held
still, with what runs beside them. The controller follows a trajectory meanwhile. The floor is its
loop without a control law: the time beyond that is the control itself.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from rclpy.time import Time
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.bench.nodes.conditions import Condition, Entry
from featherstone_ros.tools.bench.nodes.distribution import Distribution
from featherstone_ros.tools.bench.nodes.judgement import Block, BlockPlan, judge_reaction
from featherstone_ros.tools.bench.nodes.meter import Answers, Meter
from featherstone_ros.tools.bench.nodes.processes import (
    BUSY_FLOOR,
    FLOOR,
    REQUESTER,
    Bench,
    MeasuredProcess,
    controller_parameters,
    node_name,
)
from featherstone_ros.tools.bench.nodes.scheduling import DEFAULT, taking_part
from featherstone_ros.tools.bench.results import Result
from featherstone_ros.tools.demo.session import trajectory_message
from featherstone_ros.tools.multi_sine import MultiSine, plan
from featherstone_ros.tools.robot_setup import RobotSetup

RATE = 500.0  # [Hz]
RUN_UP = 0.3  # [s] twice: for states to be accepted, and for the trajectory to begin
_ANNOUNCEMENT = 0.1  # [s]
_ATTEMPTS = 3
SPEED = 0.02  # of the velocity limits: the simulated arm stands still


@dataclass(frozen=True)
class MeasuredNode:
    """A node that answers joint states.

    Attributes:
        name: For tables.
        process: Held still between its turns.
        meter: Measures it.
        start: Called once it answers again; gives it something to follow.
        companion: Runs while it has its turn.
    """

    name: str
    process: MeasuredProcess
    meter: Meter
    start: Callable[[], None] | None = None
    companion: MeasuredProcess | None = None

    def turn(self, duration: float) -> Block:
        """Measure for a while; again if the machine was too busy to let the node work.

        Raises:
            FeatherstoneError: It hardly answers.
        """
        lost = 0
        for _ in range(_ATTEMPTS):
            with self._companion_going(), self.process.going(RUN_UP):
                answers, spent = self._attempt(duration)
            answered = len(answers.latency)
            states = answered + answers.late + answers.lost
            lost += answers.lost
            follows = not self.start or answers.first != answers.last
            if follows and answered > states / 2:
                break
        if not answered:
            raise FeatherstoneError(f"{self.name} answered none of {states} joint states")
        return Block(answers.latency, 1e-9 * spent / states, answers.late, lost, follows)

    def _companion_going(self) -> AbstractContextManager[None]:
        return self.companion.going(0.0) if self.companion else nullcontext()

    def hold_still(self) -> None:
        """Hold the process still, and its companion."""
        for process in self._processes():
            process.hold_still()

    def go_on(self) -> None:
        """Let the process go on, and its companion."""
        for process in self._processes():
            process.go_on()

    def _processes(self) -> list[MeasuredProcess]:
        return [process for process in (self.process, self.companion) if process]

    def _attempt(self, duration: float) -> tuple[Answers, int]:
        """Return the answers, and the processor time that the node spent on them [ns].

        It begins when the node answers: one that was stopped in mid-work may block all that send to
        it by shared memory for a second or two.
        """
        self.meter.wait_until_answered(self.process)
        self.meter.run(RUN_UP, RATE)
        if self.start:
            self.start()
        self.meter.run(RUN_UP, RATE)
        before = self.process.processor_time
        answers = self.meter.run(duration, RATE)
        return answers, self.process.processor_time - before


def steps(block_plan: BlockPlan, condition: Condition) -> int:
    """Return how many turns ``race`` has."""
    return block_plan.rounds * len(condition.entries)


def race(
    bench: Bench,
    node: Node,
    robot: RobotSetup,
    scheduling: str,
    block_plan: BlockPlan,
    condition: Condition,
) -> Iterator[tuple[list[Result], list[Distribution]]]:
    """Measure; yield after every turn, finally the results.

    Args:
        bench: Where the processes run.
        node: For the topics; in no executor.
        robot: Whose joints.
        scheduling: Of all processes, this one too.
        block_plan: How long.
        condition: What goes on meanwhile.
    """
    blocks: dict[str, list[Block]] = {entry.name: [] for entry in condition.entries}
    with ExitStack() as stack:
        measured = _measured_nodes(bench, node, robot, scheduling, condition, stack)
        stack.enter_context(taking_part(scheduling))
        for _ in range(block_plan.rounds):
            for measured_node in measured:
                blocks[measured_node.name].append(measured_node.turn(block_plan.block))
                _announce(measured)
                yield [], []
            measured.reverse()
    place = ", ".join(filter(None, (scheduling, condition.name)))
    results = [
        result
        for (ours, peer), bounds in condition.bounds.items()
        for result in judge_reaction(ours, robot, place, blocks[ours], blocks[peer], bounds, peer)
    ]
    what = ", ".join(filter(None, ("reaction", condition.name)))
    distributions = [
        Distribution.of(what, name, scheduling, np.concatenate([b.latency for b in its]))
        for name, its in blocks.items()
    ]
    yield results, distributions


def _announce(measured: list[MeasuredNode]) -> None:
    """Let all go on for a moment: the middleware forgets who is silent for 20 s."""
    for measured_node in measured:
        measured_node.go_on()
    time.sleep(_ANNOUNCEMENT)
    for measured_node in measured:
        measured_node.hold_still()


def slow_motion(robot: RobotSetup) -> MultiSine:
    """Return a motion that hardly leaves the start, so that an arm may stand still instead."""
    return plan(robot.model, robot.inverse_dynamics, robot.start, speed=SPEED)


def _measured_nodes(
    bench: Bench,
    node: Node,
    robot: RobotSetup,
    scheduling: str,
    condition: Condition,
    stack: ExitStack,
) -> list[MeasuredNode]:
    """Start all nodes; they are held still once they answer."""
    motion = slow_motion(robot)
    measured = []
    for entry in condition.entries:
        namespace = bench.new_namespace()
        topics = f"{namespace}/{node_name(entry.module)}"
        meter = Meter(node, namespace, topics, robot)
        parameters = _parameters(entry, robot, meter)
        process = bench.start(entry.module, namespace, scheduling, parameters)
        stack.enter_context(process)
        companion = start = None
        if condition.companion:
            settings = dict(condition.settings)
            if condition.companion == REQUESTER:
                settings = _requests(topics, robot)
            companion = bench.start(condition.companion, namespace, DEFAULT, settings)
            stack.enter_context(companion)
        if entry.is_controller and condition.companion != REQUESTER:
            start = driver(node, topics, robot, motion)
        measured.append(MeasuredNode(entry.name, process, meter, start, companion))
    for measured_node in measured:
        measured_node.meter.wait_until_answered(measured_node.process)
        measured_node.process.settle()
        measured_node.hold_still()
    return measured


def _parameters(entry: Entry, robot: RobotSetup, meter: Meter) -> dict[str, object]:
    """Return a node's parameters; those that only echo get as many as the controller has."""
    if entry.is_controller:
        return controller_parameters(robot) | {"realtime.path": entry.path}
    if entry.module in (FLOOR, BUSY_FLOOR):
        return controller_parameters(robot) | {"answered_size": meter.state_size}
    return {}


def _requests(target: str, robot: RobotSetup) -> dict[str, object]:
    """Return the requester's parameters."""
    name = f"gains.{robot.model.joint_names[0]}.p"
    value = robot.parameters["feedforward_controller"].number(name, 0.0)
    return {"target": target, "robot": "panda", "parameter": name, "value": value}


def driver(node: Node, controller: str, robot: RobotSetup, motion: MultiSine) -> Callable[[], None]:
    """Return what sends the motion to a controller, to be followed at once."""
    publisher = node.create_publisher(JointTrajectory, f"{controller}/joint_trajectory", 1)
    message = trajectory_message(list(robot.model.joint_names), motion, Time())
    return lambda: publisher.publish(message)
