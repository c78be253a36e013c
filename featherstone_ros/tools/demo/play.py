"""Runs the demo from start to end."""

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.padding import Padding

from featherstone_ros.model.parameter_files import CONTROLLER, NODES, TWIN
from featherstone_ros.tools.demo.measure import LAWS, MeasurementError, Run, measure
from featherstone_ros.tools.demo.picture import animate, draw
from featherstone_ros.tools.demo.report import DemoReport
from featherstone_ros.tools.demo.session import LEAD, DemoNode
from featherstone_ros.tools.multi_sine import MultiSine, load_share, plan
from featherstone_ros.tools.outputs import json_text, parameter_text
from featherstone_ros.tools.processes import (
    NodeProcess,
    node_environment,
    own_domain,
    twin_and_controller,
)
from featherstone_ros.tools.progress import delayed_progress
from featherstone_ros.tools.result import Console, Result
from featherstone_ros.tools.robot_setup import RobotSetup, load, with_heavier_links
from featherstone_ros.tools.style import number

DISTURBED = 3  # exit status
_ATTEMPTS = 3  # at a run of which the recorder missed messages
_BRAKES_AFTER = 0.2  # [s] without a command, so that the arm does not fall if the controller hangs


def play(options: argparse.Namespace, console: Console) -> Result:
    """Drive the robot three times, and write the result to ``options.output``."""
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
    for node in NODES:
        (options.output / f"{node}.log").unlink(missing_ok=True)
    repeated: list[str] = []
    runs = []
    for law in LAWS:
        stage = Stage(robot, excess, law, options, namespace, domain)
        runs.append(_drive(stage, motion, console, repeated))
    report = DemoReport(robot, motion, runs, options.rate, conditions, excess, repeated)
    head = [f"{robot.name}: what featherstone-ros demo drove it with, as `setup` proposes it."]
    chosen = None if robot.files else options.output / "parameters.yaml"
    files = (
        (options.output / "report.json", json_text(report.as_dict())),
        (options.output / "report.png", partial(draw, report)),
        (options.animation, partial(animate, report)),
        (chosen, parameter_text(head, {f"/**/{node}": robot.parameters[node] for node in NODES})),
    )
    shown = report.table(), f"{time.monotonic() - began:.0f} s in all"
    return Result(shown, files, 0 if report.is_fair else DISTURBED)


@dataclass(frozen=True)
class Stage:
    """Twin and controller, started anew for each run, so that none depends on the one before.

    Attributes:
        robot: As the controller knows it.
        excess: Of the twin's masses over it, relative.
        law: Key of ``LAWS``.
        options: See ``featherstone-ros demo --help``.
        namespace: Of the nodes.
        domain: Of ROS.
    """

    robot: RobotSetup
    excess: float
    law: str
    options: argparse.Namespace
    namespace: str
    domain: int

    def parameters(self) -> dict[str, dict[str, object]]:
        """Return the parameters of both nodes."""
        simulated = not self.options.real_time
        own: dict[str, dict[str, object]] = {
            TWIN: {
                "rate": self.options.rate,
                "command_timeout": _BRAKES_AFTER,
                "robot_description": with_heavier_links(self.robot.text, self.excess),
                "lockstep": simulated,
                "publish_clock": simulated,
            },
            CONTROLLER: {
                "mode": "feedforward",
                "robot_description": self.robot.text,
                "feedforward_terms": self.law,
                "path_tolerance": 0.0,
                "use_sim_time": simulated,
                **({"executor_timeout": 0.0} if simulated else {}),  # by this machine's clock
                "autostart": False,
            },
        }
        return {node: {**self.robot.parameters[node], **own[node]} for node in NODES}

    def play(self, motion: MultiSine, progress: Callable[[float], None]) -> Run:
        """Drive the motion."""
        options, nodes = self.options, list[NodeProcess]()
        with tempfile.TemporaryDirectory(prefix="featherstone_demo_") as name:
            folder, logs = Path(name), options.output.resolve()
            environment = node_environment(self.domain, options.discovery_range, folder)
            # Nor does it share time with another simulation in the same domain.
            remap = ["-r", f"__ns:=/{self.namespace}", "-r", f"/clock:=/{self.namespace}/clock"]
            with (
                twin_and_controller(self.parameters(), environment, folder, logs, remap, nodes),
                DemoNode(
                    self.namespace, self.domain, partial(_check, nodes), not options.real_time
                ) as session,
            ):
                session.take_arm_over()
                recording = session.drive(self.robot.model, motion, progress)
                period = None if options.real_time else 1.0 / options.rate
                return measure(self.law, recording, motion, period)


def _drive(stage: Stage, motion: MultiSine, console: Console, repeated: list[str]) -> Run:
    """Drive the motion with one law; again if messages were lost on the way to the recorder."""
    label, total = LAWS[stage.law], round(100 * (LEAD + motion.duration))
    if not console.is_interactive:  # the bar is not drawn
        console.print(f"  driving: {label}")
    for left in reversed(range(_ATTEMPTS)):
        try:
            with delayed_progress(label, console) as report:
                return stage.play(motion, lambda time: report(round(100 * time), total))
        except MeasurementError as error:
            if not left:
                raise
            repeated.append(f"{label}: {error}")
            console.print(f"  {label}: {error}; once more")
    raise AssertionError


def _conditions(excess: float, robot: RobotSetup, motion: MultiSine) -> list[str]:
    """Describe the conditions of the measurement."""
    p, d = robot.arm.feedback.gains
    coulomb = robot.drives.coulomb
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
    armature = robot.drives.armature
    if not robot.has_assumed_drives:
        return "rotor inertia" if armature.any() else "no rotor inertia"
    return f"rotor inertia {_list(armature)} kg·m² (assumed: the URDF has none)"


def _list(values: np.ndarray) -> str:
    return " ".join(map(number, values))


def _check(nodes: Sequence[NodeProcess]) -> None:
    """Raise if a node has ended."""
    for node in nodes:
        node.check()
