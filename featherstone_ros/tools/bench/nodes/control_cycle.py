"""Time of a control cycle, from a joint state's bytes to a command's, without the middleware.

The controller follows a trajectory by the model and PD. In a tight loop everything is in the
caches; after a sleep, as between the states of a real arm, hardly anything is.
"""

import time
from collections.abc import Iterator

import numpy as np
from rclpy.node import Node

from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Settings
from featherstone_ros.control.trajectory import JointSpace, Point
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.bench.nodes.distribution import Distribution
from featherstone_ros.tools.bench.nodes.judgement import BlockPlan
from featherstone_ros.tools.bench.nodes.meter import standing_arm
from featherstone_ros.tools.bench.nodes.processes import CONTROLLER, Bench
from featherstone_ros.tools.bench.nodes.reaction import slow_motion
from featherstone_ros.tools.bench.results import Result, Target, median_and_quartiles
from featherstone_ros.tools.multi_sine import POINT_SPACING
from featherstone_ros.tools.robot_setup import RobotSetup

BOUNDS = {0.0: 3e-6, 2e-3: 10e-6}  # [s] sleep before each cycle, and what it may take then
_COUNTS = {0.0: 2000, 2e-3: 200}
_PERIOD = 1e-3  # [s] between the stamps of two states
_RATE = 1000.0  # [N m/s]


def steps(plan: BlockPlan) -> int:
    """Return how many turns ``race`` has."""
    return plan.rounds * len(BOUNDS)


def race(
    bench: Bench, node: Node, robot: RobotSetup, scheduling: str, plan: BlockPlan
) -> Iterator[tuple[list[Result], list[Distribution]]]:
    """Measure; yield after every turn, finally the results; arguments as ``reaction``'s."""
    medians: dict[float, list[float]] = {pause: [] for pause in BOUNDS}
    for _ in range(plan.rounds):
        for pause, its in medians.items():
            its.append(_turn(robot, pause))
            yield [], []
    yield [_judge(robot, pause, np.array(its)) for pause, its in medians.items()], []


def _turn(robot: RobotSetup, pause: float) -> float:
    """Return the median of some cycles [s].

    Raises:
        FeatherstoneError: The controller did not follow the trajectory all the time.
    """
    controller = TorqueController(JointSpace.of(robot.model), robot.model, _settings(robot))
    q, still = robot.start, np.zeros(robot.model.n)
    controller.activate(time.monotonic())
    controller.accept_state(time.monotonic(), q, still, stamp=1.0)
    times, *path = slow_motion(robot).samples(POINT_SPACING)
    points = [Point(*point) for point in zip(times, *path, strict=True)]
    controller.set_trajectory(time.monotonic(), robot.model.joint_names, points)
    durations = controller.compiled.time_cycles(
        *standing_arm(robot), _COUNTS[pause], pause, _PERIOD
    )
    if controller.phase != Phase.TRAJECTORY:
        raise FeatherstoneError(f"the controller ended in phase {controller.phase.text!r}")
    return float(np.median(durations))


def _settings(robot: RobotSetup) -> Settings:
    zeros = np.zeros(robot.model.n)
    return Settings(
        p=robot.by_joint(CONTROLLER, "gains.{}.p"),
        d=robot.by_joint(CONTROLLER, "gains.{}.d"),
        damping=zeros,
        coulomb=zeros,
        viscous=zeros,
        armature=robot.by_joint(CONTROLLER, "armature.{}"),
        effort_limit=robot.model.effort_limit,
        torque_rate=zeros + _RATE,
    )


def _judge(robot: RobotSetup, pause: float, medians: np.ndarray) -> Result:
    bound = BOUNDS[pause]
    ratio, quartiles = median_and_quartiles(medians / bound)
    what = f"after {1e3 * pause:g} ms of sleep" if pause else "tight loop"
    ours = float(np.median(medians))
    return Result(
        "nodes", robot.name, robot.model.n, what, "bound", "cycle", ours, bound, ours, ratio,
        quartiles, len(medians), Target(1.0), "control cycle, bytes to bytes",
    )  # fmt: skip
