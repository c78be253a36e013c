"""Simulate your own arm: digital twin and controller in one terminal, until Ctrl-C.

Starts both nodes in this terminal's ROS domain, without launch, connected by joint_states and
/feedforward_controller/commands, or joint_commands with output: joint_state; what pushes the twin
is the controller's ~/wrench. One line shows what the controller is doing, the largest tracking
error and the largest torque; the nodes' warnings appear above it. Ctrl-C brings the arm to rest and
ends both nodes.

Without --parameters the nodes use their defaults: gains chosen from the model, and the arm starts
at 0 or the nearest position within its limits. `featherstone-ros setup` writes a file to start
from.

With --real-time-factor time is simulated, by the twin's /clock: slower or faster than real time, or
(0) as fast as the machine can, each state waiting for its command.

A trajectory is sent as soon as the controller accepts one; if that takes longer than 2 s, it is
said what it waits for.

Exit status: 0 after Ctrl-C; 1 if a node ended by itself or did not bring the arm to rest, or if the
trajectory was refused or could not be sent within 30 s.

Examples:
  featherstone-ros run my_arm.urdf
  featherstone-ros run my_arm.urdf --parameters my_arm.yaml
  featherstone-ros run my_arm.urdf --trajectory my_arm_motion.yaml   from setup
  featherstone-ros run my_arm.urdf.xacro --mode gravity_compensation
  featherstone-ros run panda --real-time-factor 0   as fast as it can
  featherstone-ros run panda     a robot that comes with the package
  featherstone-ros run my_arm.urdf --namespace left   beside another
  featherstone-ros replay my_arm_motion.yaml   beside it, sends a motion
  featherstone-ros record                      beside it, records
  ros2 topic pub -r 100 /digital_twin/external_wrench ...  pushes the arm, while
                                            it publishes and for .5 s afterwards
"""

from __future__ import annotations

import argparse
import os
import re
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from featherstone_ros.control.settings import Mode
from featherstone_ros.model.parameter_files import NODES
from featherstone_ros.tools.options import (
    add_files,
    add_number,
    add_urdf_argument,
    between,
    require_ros,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from featherstone_ros.control.joint_space import JointSpace
    from featherstone_ros.tools.processes import NodeProcess
    from featherstone_ros.tools.run.session import ArmListener

REFRESH = 0.2  # [s] between two lines on a terminal
REPORT = 5.0  # [s] between two lines without a terminal, if nothing changes
MODES = [mode.value for mode in Mode]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_urdf_argument(parser)
    add_files(
        parser,
        parameters="parameter file of both nodes, as setup writes it (default: the package's own "
        "for panda and ur5e, none for others)",
        trajectory="trajectory to follow once the controller accepts one: YAML, as for preflight",
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        metavar="MODE",
        help=f"mode of the controller: {', '.join(MODES)} (default: the file's)",
    )
    parser.add_argument(
        "--namespace",
        type=_namespace,
        default="",
        metavar="NAME",
        help="of both nodes and their topics, e.g. left or cell/left (default: none)",
    )
    text = "simulated time by real time; 0: as fast as it can"
    add_number(parser, "--real-time-factor", "F", between(0, 1000), None, text)


def _namespace(text: str) -> str:
    """Return a namespace as ROS takes it, without the first slash."""
    name = text.strip("/")
    if name and not re.fullmatch(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", name, re.ASCII):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no namespace: expected letters, digits and _, not beginning with a digit"
        )
    return name


def run(args: argparse.Namespace) -> int:
    """Start the nodes and show their status until Ctrl-C.

    Returns:
        0; errors are raised.

    Raises:
        FeatherstoneError: A node failed, also in bringing the arm to rest; or the trajectory.
    """
    require_ros()
    import tempfile

    from featherstone_ros.tools import trajectory_files
    from featherstone_ros.tools.processes import node_environment, twin_and_controller
    from featherstone_ros.tools.robot_setup import described
    from featherstone_ros.tools.run.session import ArmListener
    from featherstone_ros.tools.style import new_console

    arm = described(args.urdf, args.parameters)
    plan = trajectory_files.read(str(args.trajectory))[0] if args.trajectory else None
    console = new_console()
    warn = partial(console.print, style="yellow", soft_wrap=True, markup=False)
    domain = int(os.environ.get("ROS_DOMAIN_ID") or 0)
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    joints = ", ".join(arm.model.joint_names)
    where = f", namespace /{args.namespace}" if args.namespace else ""
    console.print(f"[bold]{arm.name}[/bold]: {joints}; ROS_DOMAIN_ID={domain}{where}")
    console.print("[dim]Ctrl-C brings the arm to rest and ends both nodes.")
    own: dict[str, dict[str, object]] = {node: {"robot_description": arm.text} for node in NODES}
    if args.mode:
        own["feedforward_controller"]["mode"] = args.mode
    if args.real_time_factor is not None:
        own["feedforward_controller"]["use_sim_time"] = True
        own["digital_twin"] |= {
            "publish_clock": True,
            "lockstep": args.real_time_factor == 0.0,
            "real_time_factor": args.real_time_factor,
        }
    arguments = ["--params-file", str(arm.file.absolute())] if arm.file else []
    if args.namespace:
        arguments += ["-r", f"__ns:=/{args.namespace}"]
    processes: list[NodeProcess] = []
    with tempfile.TemporaryDirectory(prefix="featherstone_run_") as name:
        folder = Path(name)
        environment = node_environment(domain, reach, folder)
        try:
            with (
                twin_and_controller(own, environment, folder, folder, arguments, processes),
                ArmListener(arm.arm, plan, warn, args.namespace) as listener,
            ):
                _show(console, arm.arm.limits, listener, processes, warn)
        except KeyboardInterrupt:
            for process in processes:
                process.check_end()
            console.print("both nodes have ended")
    return 0


def _show(
    console: Console,
    limits: JointSpace,
    listener: ArmListener,
    processes: Sequence[NodeProcess],
    warn: Callable[[str], None],
) -> None:
    """Show the state in a line, and above it the nodes' warnings; raise if a node has ended.

    Without a terminal, write a line when the state changes, and now and then.
    """
    from rich.live import Live

    from featherstone_ros.tools.run.status_line import line

    began, printed = time.monotonic(), 0.0
    reported: list[str] = []
    live = Live(console=console, auto_refresh=False, transient=True)
    with live if console.is_interactive else nullcontext():
        while True:
            arm = listener.hear(REFRESH)
            for process in processes:
                for complaint in process.new_output():
                    if "[INFO]" not in complaint:
                        warn(complaint)
                process.check()
            now = time.monotonic()
            text = line(arm, limits, now - began, now)
            messages = [re.sub(r"\d+", "", status.message) for status in arm.nodes.values()]
            if live.is_started:
                live.update(text, refresh=True)
            elif messages and (messages != reported or now - printed > REPORT):
                console.print(text, soft_wrap=True)
                printed, reported = now, messages
