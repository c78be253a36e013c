"""Runs the demo from start to end."""

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Sequence
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
from featherstone_ros.tools.multi_sine import MultiSine, load_share, plan
from featherstone_ros.tools.outputs import json_text, parameter_text, write_files
from featherstone_ros.tools.processes import (
    NodeProcess,
    node_environment,
    own_domain,
    twin_and_controller,
)
from featherstone_ros.tools.robot_setup import (
    RobotSetup,
    load,
    with_heavier_links,
)
from featherstone_ros.tools.style import new_console

_BRAKES_AFTER = 0.2  # [s] without a command, so that the arm does not fall if the controller hangs


def play(options: argparse.Namespace) -> DemoReport:
    """Drive the robot three times, print the result and write it to ``options.output``.

    Args:
        options: See ``featherstone-ros demo --help``.

    Raises:
        FeatherstoneError: The robot cannot be used, a node ended or nothing was received.
    """
    console = new_console()
    logging.basicConfig(format="  note: %(message)s", level=logging.WARNING)
    robot = load(options.robot)
    excess = options.model_error / 100
    domain = own_domain() if options.domain is None else options.domain
    motion = plan(robot.model, robot.inverse_dynamics, robot.start, options.duration)
    namespace = f"featherstone_demo_{os.getpid()}"
    conditions = _conditions(excess, robot, motion)
    console.print(f"[bold]{robot.name}[/bold]: {robot.model.n} joints")
    for line in (*conditions, f"ROS_DOMAIN_ID={domain}, namespace /{namespace}"):
        console.print(Padding(line, (0, 0, 0, 2), expand=False))
    options.output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    own: dict[str, dict[str, object]] = {
        "digital_twin": {
            "rate": options.rate,
            "command_timeout": _BRAKES_AFTER,
            "robot_description": with_heavier_links(robot.text, excess),
        },
        "feedforward_controller": {"mode": "feedforward", "robot_description": robot.text},
    }
    parameters = {node: {**robot.parameters[node], **own[node]} for node in NODES}
    remap = ["-r", f"__ns:=/{namespace}"]
    nodes: list[NodeProcess] = []
    with tempfile.TemporaryDirectory(prefix="featherstone_demo_") as name:
        folder, logs = Path(name), options.output.resolve()
        environment = node_environment(domain, options.discovery_range, folder)
        with (
            twin_and_controller(parameters, environment, folder, logs, remap, nodes),
            _progress(console) as progress,
            DemoNode(namespace, domain, partial(_check, nodes)) as session,
        ):
            total = len(LAWS) * (LEAD + motion.duration)
            task = progress.add_task("starting the nodes", total=total)
            session.wait_until_running()
            runs = [_drive(session, robot, motion, law, progress, task) for law in LAWS]
            progress.update(task, description="done")
    report = DemoReport(robot, motion, runs, options.rate, conditions, excess)
    console.print(report.table())
    head = [f"{robot.name}: what featherstone-ros demo drove it with, as `setup` proposes it."]
    chosen = None if robot.file else options.output / "parameters.yaml"
    write_files(
        console,
        (options.output / "report.json", json_text(report.as_dict())),
        (options.output / "report.png", partial(draw, report)),
        (chosen, parameter_text(head, {f"/**/{node}": robot.parameters[node] for node in NODES})),
    )
    console.print(f"{time.monotonic() - began:.0f} s in all")
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


def _conditions(excess: float, robot: RobotSetup, motion: MultiSine) -> list[str]:
    """Describe the conditions of the measurement."""
    p = robot.by_joint("feedforward_controller", "gains.{}.p")
    d = robot.by_joint("feedforward_controller", "gains.{}.d")
    coulomb = robot.by_joint("digital_twin", "friction.{}.coulomb")
    _, _, velocity, _ = motion.samples(0.005)
    share = (np.abs(velocity).max(axis=0) / robot.model.velocity_limit).min()
    load = load_share(motion, robot.model, robot.inverse_dynamics)
    knowledge = (
        "all of which the controller knows exactly"
        if excess == 0
        else f"its links {100 * excess:g} % heavier than the controller's model"
    )
    return [
        f"motion: {motion.duration:g} s, all joints, up to {100 * share:.0f} % of every speed "
        f"limit, {100 * load:.0f} % of an effort limit",
        f"gains: P {_list(p)}, D {_list(d)}, the same in all three runs",
        f"twin: rigid links, Coulomb friction {_list(coulomb)} N·m, {_rotors(robot)}; {knowledge}",
    ]


def _rotors(robot: RobotSetup) -> str:
    armature = robot.by_joint("digital_twin", "armature.{}")
    if not robot.has_assumed_drives:
        return "rotor inertia" if armature.any() else "no rotor inertia"
    return f"rotor inertia {_list(armature)} kg·m² (assumed: the URDF has none)"


def _list(values: np.ndarray) -> str:
    return " ".join(f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in values)


def _check(nodes: Sequence[NodeProcess]) -> None:
    """Raise if a node has ended."""
    for node in nodes:
        node.check()


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<18}"), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console)
