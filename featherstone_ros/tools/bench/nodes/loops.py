"""Closed loops of twin and controller, watched from outside: what is lost, how long answers take.

One at full rate for as long as one likes, or several at once. Each arm follows a fast motion over
and over.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.bench.nodes.distribution import Distribution
from featherstone_ros.tools.bench.nodes.loop import Loop
from featherstone_ros.tools.bench.nodes.processes import (
    CONTROLLER,
    TWIN,
    Bench,
    controller_parameters,
    twin_parameters,
)
from featherstone_ros.tools.bench.nodes.reaction import driver
from featherstone_ros.tools.bench.nodes.recorder import LastDiagnostics, Recorder
from featherstone_ros.tools.bench.nodes.scheduling import listening
from featherstone_ros.tools.bench.nodes.stream import published, reactions, silence, unanswered
from featherstone_ros.tools.bench.nodes.wake_loop import deviations
from featherstone_ros.tools.multi_sine import MultiSine, plan
from featherstone_ros.tools.robot_setup import RobotSetup

INTERVENTIONS = "governor interventions"  # the controller's key on /diagnostics
MINUTE = 60.0  # [s] in which memory may still grow
_LOOK_EVERY = 0.05  # [s]
_START_DEADLINE = 120.0  # [s]
_RUN_UP = 2.0  # [s] in which the loops come to rest
_PAUSE = 1.0  # [s] between two runs of the motion


@dataclass(frozen=True)
class LoopPlan:
    """Loops that run at once.

    Attributes:
        title: For tables.
        robot: The arm of each.
        arms: How many.
        rate: States per second, of each [Hz].
        duration: How long they are watched [s].
        scheduling: Of all nodes.
        speed: Of the motion, over the velocity limits.
    """

    title: str
    robot: RobotSetup
    arms: int
    rate: float
    duration: float
    scheduling: str
    speed: float = 0.8


def steps(plan: LoopPlan) -> int:
    """Return how often ``watch`` yields before the end: every second."""
    return round(plan.duration)


def watch(bench: Bench, node: Node, plan: LoopPlan) -> Iterator[list[Loop]]:
    """Run the loops; yield every second, finally what was seen of each.

    Raises:
        FeatherstoneError: Not all nodes start.
    """
    with ExitStack() as stack:
        diagnostics = LastDiagnostics(node)
        arms = [_Arm(bench, node, plan, stack) for _ in range(plan.arms)]
        motion = _motion(plan)
        drive = [driver(node, arm.controller_name, plan.robot, motion) for arm in arms]
        _wait_until_complete(arms)
        for arm in arms:
            arm.settle()
        stack.enter_context(listening(plan.scheduling))
        _look(arms, _RUN_UP)
        for arm in arms:
            arm.begin(diagnostics)
        begin = drive_again = time.monotonic()
        for second in range(1, steps(plan) + 1):
            if time.monotonic() >= drive_again:
                drive_again = time.monotonic() + motion.duration + _PAUSE
                for send in drive:
                    send()
            _look(arms, begin + second - time.monotonic())
            for arm in arms:
                arm.note(second)
            yield []
        elapsed = time.monotonic() - begin
        loops = [arm.loop(k, elapsed, diagnostics) for k, arm in enumerate(arms, 1)]
    yield loops


class _Arm:
    """One pair of nodes, and what is noted of it."""

    def __init__(self, bench: Bench, node: Node, plan: LoopPlan, stack: ExitStack) -> None:
        namespace = bench.new_namespace()
        self.controller_name = f"{namespace}/{CONTROLLER}"
        self._plan = plan
        self._processes = [
            stack.enter_context(bench.start(module, namespace, plan.scheduling, parameters))
            for module, parameters in (
                (CONTROLLER, controller_parameters(plan.robot)),
                (TWIN, twin_parameters(plan.robot, plan.rate)),
            )
        ]
        self.recorder = Recorder(node, namespace, self.controller_name)
        self._memory: list[list[int]] = []

    @property
    def is_complete(self) -> bool:
        """Whether both nodes publish; raises if one has died."""
        for process in self._processes:
            process.check()
        return len(self.recorder.commands.sent) > 0

    def settle(self) -> None:
        for process in self._processes:
            process.settle()

    def begin(self, diagnostics: LastDiagnostics) -> None:
        """Forget the past, and note the counts."""
        self.recorder.clear()
        self._interventions = self._told(diagnostics)
        self._spent = [process.processor_time for process in self._processes]

    def note(self, second: int) -> None:
        """Note the memory, once the first minute is over or half the time."""
        if second >= min(MINUTE, self._plan.duration / 2):
            self._memory.append([process.resident_memory for process in self._processes])

    def loop(self, arm: int, elapsed: float, diagnostics: LastDiagnostics) -> Loop:
        """Return what was seen."""
        states, commands = self.recorder.states, self.recorder.commands
        period = round(1e9 / self._plan.rate)
        before, now = self._interventions, self._told(diagnostics)
        spent = [p.processor_time - s for p, s in zip(self._processes, self._spent, strict=True)]

        controller, twin = zip(*self._memory, strict=True)

        def distribution(what: str, seconds: Floats) -> Distribution | None:
            who = f"{self._plan.title}, {arm}"
            return (
                Distribution.of(what, who, self._plan.scheduling, seconds) if len(seconds) else None
            )

        return Loop(
            title=self._plan.title,
            arm=arm,
            scheduling=self._plan.scheduling,
            rate=self._plan.rate,
            duration=elapsed,
            joints=self._plan.robot.model.n,
            states=published(states),
            unanswered=unanswered(states, commands),
            gaps=int(np.count_nonzero(np.diff(states.sent) > 1.5 * period)),
            silence=silence(commands),
            unseen=sum(published(s) - len(s.number) for s in (states, commands)),
            not_finite=self.recorder.not_finite,
            interventions=None if now is None else now - (before or 0),
            growth=(controller[-1] - controller[0], twin[-1] - twin[0]),
            load=(1e-9 * spent[0] / elapsed, 1e-9 * spent[1] / elapsed),
            reaction=distribution("loop", reactions(states, commands)),
            jitter=distribution("loop jitter", deviations(states.sent, period)),
        )

    def _told(self, diagnostics: LastDiagnostics) -> int | None:
        count = diagnostics.of(self.controller_name).get(INTERVENTIONS)
        return None if count is None else int(count)


def _motion(loops: LoopPlan) -> MultiSine:
    robot = loops.robot
    return plan(robot.model, robot.inverse_dynamics, robot.start, speed=loops.speed)


def _wait_until_complete(arms: list[_Arm]) -> None:
    deadline = time.monotonic() + _START_DEADLINE
    while not all([arm.is_complete for arm in arms]):
        if time.monotonic() > deadline:
            raise FeatherstoneError(
                f"not all nodes are there {_START_DEADLINE:g} s after the start"
            )
        _look(arms, _LOOK_EVERY)


def _look(arms: list[_Arm], duration: float) -> None:
    end = time.monotonic() + duration
    while (remaining := end - time.monotonic()) > 0:
        time.sleep(min(remaining, _LOOK_EVERY))
        for arm in arms:
            arm.recorder.take_waiting()
