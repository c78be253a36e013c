"""Replay a taught motion: go to its start, follow it, hold.

Any file with times that `preflight` reads will do; all of its trajectories are followed, one after
the other. Of a recording that has joint states alone, the motion that was measured is followed,
smoothed. A running feedforward_controller, of a simulated arm or a real one, follows them. The arm
goes to each start at a quarter of its velocity limits, and at most 0.5 rad/s or m/s. Where the
limits of speed or torque ask for it, a trajectory is followed more slowly than it says. A single
point is a place to go to from wherever the arm is, in the point's time.

Between two trajectories, where `teach` was given a mark, the arm waits for --pause seconds; with
--at-mark it waits until a command has ended, whose last argument is the number of the mark.

Ctrl-C, the loss of the terminal, and errors make the arm stop and hold. After a fault the arm is
left to the controller, which holds it.

Exit status: 0 if all was followed; 1 if not, with the reason.

Examples:
  featherstone-ros replay pick.yaml
  featherstone-ros replay pick.yaml --speed 0.5 --plot pick.png
  featherstone-ros replay pick.yaml --at-mark './gripper.sh --at'
  featherstone-ros replay pick.yaml --loop            until Ctrl-C
"""

from __future__ import annotations

import argparse
import shlex
import time
from typing import TYPE_CHECKING

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.options import (
    add_controller,
    add_number,
    add_outputs,
    between,
    positive_up_to,
)
from featherstone_ros.tools.result import Console, Result, write_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from featherstone_ros.tools.motion_client import ControllerClient, Sample
    from featherstone_ros.tools.replay.comparison import Replayed
    from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

NEAR = 5e-3  # [rad or m] from the start: there already


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("trajectory", metavar="FILE", help="YAML file or rosbag2 recording")
    add_number(parser, "--speed", "FACTOR", positive_up_to(10), 1.0, "relative to the file's")
    parser.add_argument("--loop", action="store_true", help="begin anew at the end, until Ctrl-C")
    add_number(parser, "--pause", "S", between(0, 3600), 1.0, "how long to wait at a mark")
    parser.add_argument("--at-mark", metavar="COMMAND", help="command to wait for, instead")
    add_outputs(parser, plot="draw what was taught and replayed, and the torque")
    add_controller(parser)


def run(args: argparse.Namespace, console: Console) -> Result:
    """Follow what is in the file."""
    from functools import partial

    from featherstone_ros.tools import trajectory_files
    from featherstone_ros.tools.motion_client import ControllerClient
    from featherstone_ros.tools.replay.comparison import draw, in_short
    from featherstone_ros.tools.taught_motion import (
        fitted,
        of_all_joints,
        of_arm,
        slowed,
        slower,
        smoothed,
    )
    from featherstone_ros.tools.trajectory_check import trajectory_of

    found = trajectory_files.read_timed(args.trajectory)
    with ControllerClient("replay", args.controller) as controller:
        found = of_arm(found, controller.arm)
        parts, position = [], controller.look()[-1].position
        for number, trajectory in enumerate(found, 1):
            try:
                part = smoothed(trajectory, controller.arm, console.print)
                part = of_all_joints(part, controller.arm, position)
                part, factor = fitted(slowed(part, 1.0 / args.speed), controller.arm)
            except ValueError as error:
                where = f"{args.trajectory}, trajectory {number}"
                raise FeatherstoneError(f"{where}: {error}") from None
            parts.append(part)
            position = trajectory_of(part, controller.arm).state(-1).position
            if factor > 1:
                console.print(
                    f"[yellow]trajectory {number}: {slower(part, factor)}[/]", soft_wrap=True
                )
        is_first = True
        with controller.held_in_the_end():
            while is_first or args.loop:
                replayed = _replay(controller, parts, args, console)
                console.print(in_short(replayed), soft_wrap=True, markup=False)
                if is_first:
                    write_files(console, (args.plot, partial(draw, replayed)))
                is_first = False
    return Result()


def _replay(
    controller: ControllerClient,
    parts: Sequence[UncheckedTrajectory],
    args: argparse.Namespace,
    console: Console,
) -> Replayed:
    """Follow all the trajectories once."""
    import numpy as np

    from featherstone_ros.tools.progress_bar import delayed_progress
    from featherstone_ros.tools.replay.comparison import Replayed
    from featherstone_ros.tools.taught_motion import way_to
    from featherstone_ros.tools.trajectory_check import trajectory_of

    def follow(trajectory: UncheckedTrajectory, what: str) -> tuple[list[Sample], float]:
        total = trajectory.points[-1].time
        with delayed_progress(what, console, 0.0) as progress:
            report = lambda time: progress(round(10 * time), round(10 * total))  # noqa: E731
            followed = controller.follow(trajectory, report)
        if controller.status and controller.status.level:
            console.print(controller.status.message, style="yellow", soft_wrap=True, markup=False)
        return followed

    replayed = Replayed(controller.arm)
    for number, part in enumerate(parts):
        if number:
            _wait(controller, args, number)
        goal = trajectory_of(part, controller.arm).state(0).position
        position = controller.look()[-1].position
        if len(part.points) == 1:
            part = way_to(goal, position, controller.arm, part.points[0].time)
        elif np.abs(controller.arm.limits.shortest(goal - position)).max() > NEAR:
            follow(way_to(goal, position, controller.arm), "to the start")
        replayed.add(part, *follow(part, f"trajectory {number + 1} of {len(parts)}"))
    return replayed


def _wait(controller: ControllerClient, args: argparse.Namespace, mark: int) -> None:
    """Wait at a mark, for a time or a command."""
    import subprocess

    end = time.monotonic() + args.pause
    if not args.at_mark:
        while time.monotonic() < end:
            controller.look()
        return
    with subprocess.Popen([*shlex.split(args.at_mark), str(mark)]) as process:
        try:
            while process.poll() is None:
                controller.look()
        finally:
            process.terminate()
    if process.returncode:
        raise FeatherstoneError(
            f"--at-mark {args.at_mark}: exit status {process.returncode} at mark {mark}"
        )
