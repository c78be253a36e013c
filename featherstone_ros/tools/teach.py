"""Teach a motion by hand: the arm floats, you lead it, and a trajectory is written.

A running feedforward_controller holds the arm, simulated or real. Meanwhile it floats, by the
controller's mode gravity_compensation; whatever ends the command, also Ctrl-C or the loss of its
terminal, the controller then holds the arm where it is. If the command is killed, the arm floats on
until somebody sets the controller's mode; its limits of speed stay in force.

  space   begin, and end
  m       a mark: here the arm is to wait, e.g. for a gripper
  q       quit and write nothing

What was led is smoothed without delay. Between the points that are written, the controller's
interpolation stays within 1 mrad or mm of it. Where limits of speed or torque ask for it, the
motion is slowed down, and that is said. With marks the file has several trajectories, from one to
the next.

With --free, the end effector moves along or about some axes alone: mode cartesian_impedance,
with the stiffness of these axes 0. The controller needs its parameter tip. An arm without torques
(output: joint_state) floats by mode admittance, also without --free: its sensor measures the force
of the hand that leads.

Exit status: 0 if the file is written; 1 if not, with the reason. What is written passes preflight.

Examples:
  featherstone-ros teach --output pick.yaml
  featherstone-ros teach --output wipe.yaml --free xy rotation
  featherstone-ros teach --output pick.yaml --controller left/controller
  featherstone-ros replay pick.yaml --speed 0.5       then
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.options import add_controller, add_outputs
from featherstone_ros.tools.result import Console, Result

if TYPE_CHECKING:
    from rich.text import Text

    from featherstone_ros.control.joint_space import JointSpace
    from featherstone_ros.tools.motion_client import ControllerClient, Sample

ROTATION = "rotation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_outputs(parser, required=True, output="the trajectories (YAML)")
    parser.add_argument(
        "--free",
        nargs="+",
        type=_axes,
        metavar="AXES",
        help="let the end effector go along some of xyz, in rotation, or both, and nowhere else",
    )
    add_controller(parser)


def _axes(text: str) -> set[int]:
    """Return which of the six axes are free."""
    if text == ROTATION:
        return {3, 4, 5}
    if not text or set(text) - set("xyz"):
        raise argparse.ArgumentTypeError(f"{text} is neither some of xyz nor {ROTATION}")
    return {"xyz".index(axis) for axis in text}


def run(args: argparse.Namespace, console: Console) -> Result:
    """Let the arm be led, and write what it was led along."""
    from featherstone_ros.control.trajectory import TrajectoryError
    from featherstone_ros.tools.motion_client import ControllerClient
    from featherstone_ros.tools.taught_motion import fitted, gaps, taught
    from featherstone_ros.tools.trajectory_files import as_yaml

    if sys.stdin is None or not sys.stdin.isatty():
        raise FeatherstoneError("standard input is no terminal: there are no keys to begin and end")
    with (
        single_keys() as typed,
        ControllerClient("teach", args.controller) as controller,
    ):
        arm = controller.arm
        with controller.floating(**_freedom(args.free, controller.parameters)):
            samples, marks = _lead(controller, console, typed)
    console.print("the arm is held")
    if not samples:
        return Result(status=1)
    times, positions, _ = zip(*samples, strict=True)
    lines, written = gaps(times), []
    for number, part in enumerate(taught(arm, times, positions, marks), 1):
        try:
            part, factor = fitted(part, arm)
        except TrajectoryError as error:
            raise FeatherstoneError(f"nothing is written: part {number}: {error}") from None
        remark = f"[yellow], {factor:.4g} times slower, to fit the limits[/]" * (factor > 1)
        written.append(as_yaml(part))
        duration, count = part.points[-1].time, len(part.points)
        lines.append(f"part {number}: {duration:.3f} s, {count} points{remark}")
    return Result(lines, [(args.output, "---\n".join(written))])


def _freedom(free: Sequence[set[int]] | None, parameters: Any) -> dict[str, Any]:
    """Return the mode by which the arm floats, with its parameters."""
    from featherstone_ros.control.settings import Mode

    takes_torques = parameters["output"] == "effort"
    if takes_torques and not free:
        return {"mode": Mode.GRAVITY_COMPENSATION}
    if not parameters["tip"]:
        what = "--free" if free else "an arm without torques (output: joint_state)"
        raise FeatherstoneError(
            f"{what} needs the controller's parameter tip, the link that is led; it is set at start"
        )
    axes = set().union(*free) if free else set(range(6))
    stiffness = [0.0 if i in axes else k for i, k in enumerate(parameters["stiffness"])]
    mode = Mode.CARTESIAN_IMPEDANCE if takes_torques else Mode.ADMITTANCE
    return {"mode": mode, "stiffness": stiffness}


def _lead(
    controller: ControllerClient, console: Console, typed: Callable[[], str]
) -> tuple[list[Sample], list[float]]:
    """Record between two spaces; return the joint states, none after q, and the times of marks."""
    from rich.live import Live

    early = typed()
    if "q" in early:
        return [], []
    if early:
        console.print(
            "[yellow]a key pressed before the arm floated does not count: press it now[/]"
        )
    samples: list[Sample] = []
    marks: list[float] = []
    is_recording = False
    with Live(console=console, auto_refresh=False) as live:
        while True:
            new = controller.look()
            if is_recording:
                samples += new
            for key in typed():
                if key == "q":
                    return [], []
                if key == " " and is_recording:
                    return samples, marks
                if key == " ":
                    is_recording, samples = True, new[-1:]
                if key == "m" and is_recording:
                    marks.append(new[-1].time)
            live.update(_line(samples, marks, controller.arm.limits), refresh=True)


def _line(samples: Sequence[Sample], marks: Sequence[float], limits: JointSpace) -> Text:
    import numpy as np
    from rich.text import Text

    if not samples:
        return Text("the arm floats   space: begin   q: quit")
    first, last = samples[0], samples[-1]
    moved = np.abs(last.position - first.position)
    joint = int(moved.argmax())
    far = f"{moved[joint]:.3g} {limits.unit(joint, 'position')}"
    return Text.assemble(
        ("● ", "red"),
        f"{last.time - first.time:5.1f} s   {far} from its start ({limits.names[joint]})   "
        f"marks: {len(marks)}   space: end   m: mark   q: quit",
    )


@contextmanager
def single_keys() -> Iterator[Callable[[], str]]:
    """Read a terminal's keys without Return and without echo; Ctrl-C works as usual.

    Yields a function that returns what has been typed since the last call, and at first what was
    typed while the command was starting.
    """
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def typed() -> str:
        is_ready = select.select([terminal], [], [], 0.0)[0]
        return os.read(terminal, 64).decode(errors="replace") if is_ready else ""

    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        yield typed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
