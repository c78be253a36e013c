"""Runs the demo from start to end."""

import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from featherstone_ros.model.parameter_files import NODES
from featherstone_ros.tools.demo.measure import LAWS, MeasurementError, Run, measure
from featherstone_ros.tools.demo.picture import draw
from featherstone_ros.tools.demo.report import DemoReport
from featherstone_ros.tools.demo.session import LEAD, DemoNode
from featherstone_ros.tools.demo.skeleton import segments
from featherstone_ros.tools.multi_sine import MultiSine, load_share, plan
from featherstone_ros.tools.processes import NodeProcess, node_environment, write_parameters
from featherstone_ros.tools.robot_setup import RobotSetup, load, with_heavier_links, write_invented
from featherstone_ros.tools.signals import held
from featherstone_ros.tools.style import new_console

_BRAKES_AFTER = 0.2  # [s] without a command, so that the arm does not fall if the controller hangs
_REMAPPED = {
    "digital_twin": ("-r", "~/commands:=feedforward_controller/commands"),
    "feedforward_controller": (),
}


@dataclass(frozen=True)
class DemoOptions:
    """The command's options, see ``featherstone-ros demo --help``.

    Attributes:
        robot: Name or path.
        output: Folder for the report.
        rate: Joint states per second.
        duration: Length of the motion [s].
        model_error: Relative excess of the twin's masses and inertias.
        domain: ROS domain.
        discovery_range: ROS_AUTOMATIC_DISCOVERY_RANGE.
    """

    robot: str
    output: Path
    rate: float
    duration: float
    model_error: float
    domain: int
    discovery_range: str


def play(options: DemoOptions) -> DemoReport:
    """Drive the robot three times, print the result and write it to ``options.output``.

    Raises:
        FeatherstoneError: The robot cannot be used, a node ended or nothing was received.
    """
    console = new_console()
    logging.basicConfig(format="  note: %(message)s", level=logging.WARNING)
    robot = load(options.robot)
    motion = plan(robot.model, robot.inverse_dynamics, robot.start, options.duration)
    namespace = f"featherstone_demo_{os.getpid()}"
    conditions = _conditions(options, robot, motion)
    console.print(f"[bold]{robot.name}[/bold]: {robot.model.n} joints")
    for line in (*conditions, f"ROS_DOMAIN_ID={options.domain}, namespace /{namespace}"):
        console.print(Padding(line, (0, 0, 0, 2), expand=False))
    options.output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with _nodes(options, robot, namespace) as nodes, _progress(console) as progress:
        task = progress.add_task("starting the nodes", total=len(LAWS) * (LEAD + motion.duration))
        with DemoNode(namespace, options.domain, partial(_check, nodes)) as session:
            session.wait_until_running()
            runs = [_drive(session, robot, motion, law, progress, task) for law in LAWS]
            progress.update(task, description="done")
    report = DemoReport(
        robot=robot.name,
        joint_names=robot.model.joint_names,
        velocity_limit=robot.model.velocity_limit,
        effort_limit=robot.model.effort_limit,
        motion=motion,
        segments=segments(robot.model, motion.samples(0.05)[1]),
        runs=runs,
        rate=options.rate,
        conditions=conditions,
        model_error=options.model_error,
        has_invented_rotors=robot.has_invented_rotors,
        unit="mrad or mm" if "prismatic" in robot.model.joint_types else "mrad",
    )
    report.write_json(options.output / "report.json")
    draw(report, options.output / "report.png")
    console.print(report.table())
    picture = options.output / "report.png"
    console.print(f"\n{picture}, {time.monotonic() - began:.0f} s in all", soft_wrap=True)
    if robot.has_invented_rotors:
        made_up = options.output / "parameters.yaml"
        write_invented(robot, made_up)
        console.print(f"{made_up}: the invented gains and rotor inertia", soft_wrap=True)
    return report


def _drive(
    session: DemoNode,
    robot: RobotSetup,
    motion: MultiSine,
    law: str,
    progress: Progress,
    task: TaskID,
) -> Run:
    """Drive the motion with one law; try again if the machine was too busy for the nodes.

    The last attempt counts, whatever its errors.

    Raises:
        MeasurementError: Messages were missing even in the last attempt.
    """
    done = progress.tasks[task].completed
    if not progress.console.is_interactive:  # the bar would only be drawn at the end
        progress.console.print(f"  driving: {LAWS[law]}, {LEAD + motion.duration:.0f} s")
    for last in (False, False, True):
        progress.update(task, description=LAWS[law], completed=done)
        session.set_controller_parameters({"feedforward_terms": law, "path_tolerance": 0.0})
        session.reset_twin()
        recording = session.drive(
            robot.model.joint_names, motion, lambda t: progress.update(task, completed=done + t)
        )
        try:
            run = measure(law, recording, motion)
            reason = run.spoilt
        except MeasurementError as error:
            if last:
                raise
            reason = str(error)
        if not reason:
            break
        again = "" if last else "; once more"
        progress.console.print(f"  {LAWS[law]}: {reason}{again}")
    progress.update(task, completed=done + LEAD + motion.duration)
    return run


def _conditions(options: DemoOptions, robot: RobotSetup, motion: MultiSine) -> list[str]:
    """Describe the conditions of the measurement."""
    p = robot.by_joint("feedforward_controller", "gains.{}.p")
    d = robot.by_joint("feedforward_controller", "gains.{}.d")
    coulomb = robot.by_joint("digital_twin", "friction.{}.coulomb")
    _, _, velocity, _ = motion.samples(0.005)
    share = (np.abs(velocity).max(axis=0) / robot.model.velocity_limit).min()
    load = load_share(motion, robot.model, robot.inverse_dynamics)
    knowledge = (
        "all of which the controller knows exactly"
        if options.model_error == 0
        else f"its links {100 * options.model_error:g} % heavier than the controller's model"
    )
    return [
        f"motion: {motion.duration:g} s, all joints, up to {100 * share:.0f} % of every speed "
        f"limit, {100 * load:.0f} % of an effort limit",
        f"gains: P {_list(p)}, D {_list(d)}, the same in all three runs",
        f"twin: rigid links, Coulomb friction {_list(coulomb)} N·m, {_rotors(robot)}; {knowledge}",
    ]


def _rotors(robot: RobotSetup) -> str:
    if not robot.has_invented_rotors:
        return "rotor inertia"
    armature = robot.by_joint("digital_twin", "armature.{}")
    return f"rotor inertia {_list(armature)} kg·m² (invented: the URDF has none)"


def _list(values: np.ndarray) -> str:
    return " ".join(f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in values)


@contextmanager
def _nodes(options: DemoOptions, robot: RobotSetup, namespace: str) -> Iterator[list[NodeProcess]]:
    """Start both nodes; stop them afterwards and keep their output."""
    text = with_heavier_links(robot.text, options.model_error)
    own: dict[str, dict[str, object]] = {
        "digital_twin": {
            "rate": options.rate,
            "command_timeout": _BRAKES_AFTER,
            "robot_description": text,
        },
        "feedforward_controller": {"mode": "feedforward", "robot_description": robot.text},
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="featherstone_demo_")))
        environment = node_environment(options.domain, options.discovery_range, folder)
        processes = []
        for node in NODES:
            file = folder / f"{node}.yaml"
            write_parameters(file, {**robot.parameters[node], **own[node]})
            arguments = ["--params-file", str(file), "-r", f"__ns:=/{namespace}", *_REMAPPED[node]]
            with held():  # a process has an owner before it can be left behind
                process = NodeProcess(node, arguments, environment, options.output.resolve())
                processes.append(stack.enter_context(process))
        yield processes


def _check(nodes: Sequence[NodeProcess]) -> None:
    """Raise if a node has ended."""
    for node in nodes:
        node.check()


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<18}"), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console)
