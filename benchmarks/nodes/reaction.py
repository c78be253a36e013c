"""How quickly the controller answers a joint state, and at what cost, beside nodes that only echo.

All take turns, in reverse order in every second round; those whose turn it is not are held still,
with what runs beside them. The controller follows a trajectory meanwhile. The floor is its loop
without a control law: the time beyond that is the control itself.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from rclpy.node import Node
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory

from benchmarks.nodes.meter import Answers, Meter
from benchmarks.nodes.processes import (
    CONTROLLER,
    Arena,
    MeasuredProcess,
    controller_parameters,
    taking_part,
)
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.multi_sine import POINT_SPACING, MultiSine, plan
from featherstone_ros.tools.robot_setup import RobotSetup
from featherstone_ros.tools.trajectory_files import from_arrays, to_message

RATE = 500.0  # [Hz]
VARIABLE = "FEATHERSTONE_RCLCPP_ECHO"  # names a C++ node that was built beside the project
_RUN_UP = 0.3  # [s] twice: for states to be accepted, and for the trajectory to begin
_ANNOUNCEMENT = 0.1  # [s]
_ATTEMPTS = 3  # on a machine that may be too busy to let the node work
_SPEED = 0.02  # of the velocity limits: the simulated arm stands still

# By name: what is started, and the parameters beside the controller's; None for no parameters.
Contenders = dict[str, tuple[tuple[str, ...], dict[str, object] | None]]
_BUSY = "benchmarks.nodes.busy"
_FLOOR, _NODE = "benchmarks.nodes.floor", f"featherstone_ros.{CONTROLLER}"


@dataclass(frozen=True)
class Condition:
    """What runs beside the measured nodes."""

    name: str  # for tables
    contenders: Contenders  # who takes part
    companion: str = ""  # what runs beside each of them; empty for nothing
    settings: dict[str, object] = field(default_factory=dict)  # its parameters


def conditions(quick: bool) -> list[Condition]:
    """Return what the reaction is measured under; ``quick``: fewer of them."""
    both: Contenders = {"controller": ((_NODE,), {}), "floor": ((_FLOOR,), {})}
    quiet: Contenders = {**both, "rclpy echo": (("benchmarks.nodes.echo",), None)}
    if os.environ.get(VARIABLE):
        quiet["rclcpp echo"] = (os.environ[VARIABLE],), None
    busy: Contenders = {name: ((_BUSY, *program), extra) for name, (program, extra) in both.items()}
    flood = "benchmarks.nodes.flood"
    found = [
        Condition("alone", quiet),
        Condition("busy interpreter", busy, "benchmarks.nodes.requester"),
        Condition("beside 2000 messages a second", both, flood, {"size": 2_000, "rate": 2000.0}),
        Condition("beside 50 MB a second", both, flood, {"size": 1_000_000, "rate": 50.0}),
    ]
    return found[:3] if quick else found


@dataclass
class Turns:
    """What was measured of one node in all of its turns."""

    latency: list[Floats] = field(default_factory=list)  # by turn, (N,) [s]
    # by turn, processor time per state [s]; empty where that was not measured
    cost: list[float] = field(default_factory=list)
    lost: int = 0  # states without a command
    idle: int = 0  # turns in which it did not follow its trajectory to the end


@dataclass(frozen=True)
class Measured:
    """A node that answers joint states."""

    process: MeasuredProcess  # held still between its turns
    meter: Meter  # measures it
    companion: MeasuredProcess | None  # runs while it has its turn
    drive: Callable[[], None] | None  # gives it something to follow

    def turn(self, duration: float, turns: Turns) -> None:
        """Measure for a while."""
        for _ in range(_ATTEMPTS):
            with ExitStack() as stack:
                if self.companion:
                    stack.enter_context(self.companion.going(0.0))
                stack.enter_context(self.process.going(_RUN_UP))
                answers, spent = self._measure(duration)
            follows = not self.drive or answers.first != answers.last
            turns.lost += answers.lost
            if follows and answers.lost < len(answers.latency):
                break
        if not len(answers.latency):
            raise FeatherstoneError(f"{self.process.name} answered none of its joint states")
        turns.idle += not follows
        turns.latency.append(answers.latency)
        turns.cost.append(1e-9 * spent / (len(answers.latency) + answers.lost))

    def _measure(self, duration: float) -> tuple[Answers, int]:
        """Return the answers, and the processor time that the node spent on them [ns].

        It begins when the node answers: one that was stopped in mid-work may block all that send to
        it by shared memory for a second or two.
        """
        self.meter.wait_until_answered(self.process)
        self.meter.run(_RUN_UP, RATE)
        if self.drive:
            self.drive()
        self.meter.run(_RUN_UP, RATE)
        before = self.process.processor_time
        answers = self.meter.run(duration, RATE)
        return answers, self.process.processor_time - before

    @property
    def processes(self) -> list[MeasuredProcess]:
        """Its process, and its companion's."""
        return [self.process, *([self.companion] if self.companion else [])]


def measure(
    domain: int,
    node: Node,
    robot: RobotSetup,
    scheduling: str,
    condition: Condition,
    block: float,
    rounds: int,
) -> dict[str, Turns]:
    """Measure in so many rounds of turns of ``block`` [s]; return how each contender answered.

    ``node``: for the topics, in no executor; ``scheduling``: of all processes, this one included.
    """
    found = {name: Turns() for name in condition.contenders}
    with Arena(domain) as arena:
        measured = {name: _start(arena, node, robot, scheduling, condition, name) for name in found}
        for it in measured.values():
            it.meter.wait_until_answered(it.process)
            it.process.settle(scheduling)
            for process in it.processes:
                process.hold_still()
        with taking_part(scheduling):
            for turn in range(rounds):
                for name in list(measured)[:: -1 if turn % 2 else 1]:
                    measured[name].turn(block, found[name])
                    _announce([process for it in measured.values() for process in it.processes])
    return found


def _start(
    arena: Arena, node: Node, robot: RobotSetup, scheduling: str, condition: Condition, name: str
) -> Measured:
    program, extra = condition.contenders[name]
    namespace = arena.new_namespace()
    is_controller = _NODE in program
    own_name = CONTROLLER if is_controller else "contender"
    full_name = f"{namespace}/{own_name}"
    meter = Meter(node, namespace, full_name, robot)
    parameters: dict[str, object] = {}
    if extra is not None:  # the floor has as many as the controller
        size = {} if is_controller else {"answered_size": meter.state_size}
        parameters = controller_parameters(robot) | extra | size
    process = arena.start(own_name, program, namespace, parameters, scheduling)
    companion = drive = None
    if condition.companion:
        settings = {"target": full_name, **condition.settings}
        companion = arena.start("companion", (condition.companion,), namespace, settings)
    if is_controller and condition.name != "busy interpreter":  # which is sent trajectories
        drive = driver(node, full_name, robot, slow_motion(robot))
    return Measured(process, meter, companion, drive)


def _announce(processes: list[MeasuredProcess]) -> None:
    """Let all go on for a moment: the middleware forgets who is silent for 20 s."""
    for process in processes:
        process.go_on()
    time.sleep(_ANNOUNCEMENT)
    for process in processes:
        process.hold_still()


def slow_motion(robot: RobotSetup) -> MultiSine:
    """Return a motion that hardly leaves the start, so that an arm may stand still instead."""
    return plan(robot.model, robot.inverse_dynamics, robot.start, speed=_SPEED)


def driver(node: Node, controller: str, robot: RobotSetup, motion: MultiSine) -> Callable[[], None]:
    """Return what sends the motion to a controller, to be followed at once."""
    publisher = node.create_publisher(JointTrajectory, f"{controller}/joint_trajectory", 1)
    trajectory = from_arrays(robot.model.joint_names, *motion.samples(POINT_SPACING))
    message = serialize_message(to_message(trajectory))
    return lambda: publisher.publish(message)
