"""Simulate your own arm: digital twin and controller in one terminal, until Ctrl-C.

Starts both nodes in this terminal's ROS domain, without launch, connected by joint_states and
/feedforward_controller/commands, or joint_commands with output: joint_state; what pushes the twin
is the controller's ~/wrench. One line shows what the controller is doing, the largest tracking
error and the largest torque; the nodes' warnings appear above it. Ctrl-C brings the arm to rest and
ends both nodes.

Without --parameters the nodes use their defaults: gains chosen from the model, and the arm starts
at 0 or the nearest position within its limits. `featherstone-ros setup` writes a file to start
from.

Time is simulated: each state waits for its command, and none comes sooner than in real time. On a
machine that is too slow or too busy for that, the arm moves more slowly, and all the same. The twin
publishes /clock (in a namespace: NAME/clock). It begins at the wall's time, so that nodes beside,
which need not use_sim_time, fit in while the machine keeps up. --real-time-factor is for another
pace, from time 0, or (0) for the fastest. With --real-time both nodes go by the wall instead, as
with a real arm: who is late loses states.

The twin may be another arm, or carry something of which the controller does not know: --twin,
--twin-parameters, --twin-load.

A trajectory is sent as soon as the controller accepts one; if that takes longer than 2 s, a line
says what it waits for.

Exit status: 0 after Ctrl-C; 1 if a node ended by itself or did not bring the arm to rest, or if the
trajectory was refused or could not be sent within 30 s.

Examples:
  featherstone-ros run my_arm.urdf
  featherstone-ros run my_arm.urdf --parameters my_arm.yaml
  featherstone-ros run my_arm.urdf --trajectory my_arm_motion.yaml   from setup
  featherstone-ros run my_arm.urdf.xacro --mode gravity_compensation
  featherstone-ros run panda --real-time-factor 0   as fast as it can
  featherstone-ros run panda --twin-load 1.5        hides a load in its hand
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
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from featherstone_ros.control.choices import Mode
from featherstone_ros.tools.options import (
    add_files,
    add_number,
    add_parameters,
    add_urdf_argument,
    between,
)
from featherstone_ros.tools.result import Console, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from featherstone_ros.control.joint_space import JointSpace
    from featherstone_ros.tools.processes import NodeProcess
    from featherstone_ros.tools.robot_setup import RobotSetup
    from featherstone_ros.tools.run.session import ArmListener

REFRESH = 0.2  # [s] between two lines on a terminal
REPORT = 5.0  # [s] between two lines without a terminal, if nothing changes
RATE = 1000.0  # [Hz] of states and timer, where a file does not say it
MODES = [mode.value for mode in Mode]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.set_defaults(needs_ros=True)
    add_urdf_argument(parser)
    add_parameters(
        parser,
        "parameter file of both nodes, as setup writes it (default: the package's own for panda "
        "and ur5e, none for others)",
    )
    add_files(
        parser,
        trajectory="trajectory to follow once the controller accepts one: YAML, as for preflight",
    )
    parser.add_argument(
        "--twin", metavar="URDF", help="the arm that is simulated, if it is another"
    )
    add_parameters(parser, "parameter file of the twin alone", "--twin-parameters")
    text = "load of the twin alone, at the origin of its last link [kg]; others: --twin-parameters"
    add_number(parser, "--twin-load", "KG", between(0, 10_000), None, text)
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
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument(
        "--real-time-factor",
        metavar="F",
        type=between(0, 1000),
        help="simulated time by real time, at most; 0: as fast as it can (default: 1, by the wall)",
    )
    pace.add_argument(
        "--real-time", action="store_true", help="both nodes go by the wall; none waits"
    )


def _namespace(text: str) -> str:
    """Return a namespace as ROS takes it, without the first slash."""
    name = text.strip("/")
    if name and not re.fullmatch(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", name, re.ASCII):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no namespace: expected letters, digits and _, not beginning with a digit"
        )
    return name


def run(args: argparse.Namespace, console: Console) -> Result:
    """Start the nodes and show their status until Ctrl-C."""
    import tempfile

    from featherstone_ros.model.parameter_files import CONTROLLER, TWIN
    from featherstone_ros.tools import trajectory_files
    from featherstone_ros.tools.processes import node_environment, ros_domain, twin_and_controller
    from featherstone_ros.tools.robot_setup import described
    from featherstone_ros.tools.run.session import ArmListener, claim

    arm = described(args.urdf, args.parameters)
    plan = trajectory_files.read_timed(str(args.trajectory))[0] if args.trajectory else None
    warn = partial(console.print, style="yellow", soft_wrap=True, markup=False)
    domain = ros_domain()
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    joints = ", ".join(arm.model.joint_names)
    where = f", namespace /{args.namespace}" if args.namespace else ""
    console.print(f"[bold]{arm.name}[/bold]: {joints}; ROS_DOMAIN_ID={domain}{where}")
    console.print("[dim]Ctrl-C brings the arm to rest and ends both nodes.")
    goes_by_wall = args.real_time
    controller, twin = (arm.parameters[node] for node in (CONTROLLER, TWIN))
    if controller.get("update_on") == "timer" and not goes_by_wall:
        goes_by_wall = controller.number("rate", RATE) < twin.number("rate", RATE)
        if goes_by_wall:
            warn("the controller's timer is slower than the states: as with --real-time")
    own = _parameters(args, arm, goes_by_wall)
    arguments = [word for file in arm.files for word in ("--params-file", str(file.absolute()))]
    arguments += _remapped(args.namespace)
    processes: list[NodeProcess] = []
    with (
        claim(domain, args.namespace),
        tempfile.TemporaryDirectory(prefix="featherstone_run_") as name,
    ):
        folder = Path(name)
        environment = node_environment(domain, reach, folder)
        try:
            with ArmListener(arm.arm, plan, warn, args.namespace) as listener, ExitStack() as nodes:
                listener.require_alone()
                nodes.enter_context(
                    twin_and_controller(own, environment, folder, folder, arguments, processes)
                )
                _show(console, arm.arm.limits, listener, processes, warn)
        except KeyboardInterrupt:
            for process in processes:
                process.check_end()
            console.print("both nodes have ended")
    return Result()


def _parameters(
    args: argparse.Namespace, arm: RobotSetup, goes_by_wall: bool
) -> dict[str, dict[str, object]]:
    """Return the parameters of each node."""
    from featherstone_ros.model.parameter_files import CONTROLLER, TWIN
    from featherstone_ros.observer.shadow_settings import default_link
    from featherstone_ros.simulation.simulator_settings import PACED, SIMULATED
    from featherstone_ros.tools.robot_setup import described

    files = [*arm.files, *(args.twin_parameters or ())]
    is_other = args.twin or args.twin_parameters
    twin = described(args.twin or args.urdf, files) if is_other else arm
    of_twin: dict[str, object] = {"robot_description": twin.text}
    of_controller: dict[str, object] = {"robot_description": arm.text}
    if len(files) > 1:  # ROS prefers what is said of a node, whichever file is later
        of_twin |= twin.parameters[TWIN]
        of_controller |= arm.parameters[CONTROLLER]
    if args.twin_load is not None:
        of_twin |= {"payload.link": default_link(twin.model), "payload.mass": args.twin_load}
    if args.mode:
        of_controller["mode"] = args.mode
    if not goes_by_wall:
        of_controller |= SIMULATED
        of_twin |= PACED
        if args.real_time_factor is not None:
            of_twin |= {"wall_time": False, "real_time_factor": args.real_time_factor}
    return {TWIN: of_twin, CONTROLLER: of_controller}


def _remapped(namespace: str) -> list[str]:
    """Return the arguments that put nodes, topics and time into a namespace."""
    if not namespace:
        return []
    return ["-r", f"__ns:=/{namespace}", "-r", f"/clock:=/{namespace}/clock"]


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

    from featherstone_ros.tools.node_status import line

    began, printed = time.monotonic(), 0.0
    reported: list[str] = []
    said: dict[str, NodeProcess] = {}  # by whom first: of one description both complain alike
    live = Live(console=console, auto_refresh=False, transient=True)
    with live if console.is_interactive else nullcontext():
        while True:
            arm = listener.hear(REFRESH)
            for process in processes:
                for complaint in process.new_output():
                    what = complaint.partition("]: ")[2]
                    is_repeated = what and said.setdefault(what, process) is not process
                    if "[INFO]" not in complaint and not is_repeated:
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
