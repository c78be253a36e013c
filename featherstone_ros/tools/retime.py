"""Time a trajectory anew: the same path, as fast as the arm can follow it.

Keeps the path and finds new times, velocities and accelerations, from rest to rest, so that every
joint stays within its limits: of velocity, acceleration, deceleration and jerk (URDF 1.2, or
MoveIt's joint_limits.yaml), of torque, with gravity, friction, rotors and payload, and of the
torque's rate, the controller's torque_rate, by default 50 effort limits per second. They hold
between the points, too: what is written is judged by the check of `featherstone-ros preflight`.

Joints without acceleration limit get what the controller takes at most, 100 velocity limits per
second; --acceleration sets one for all. Use --effort 80 to leave a fifth of the torque to the
feedback, whose errors and disturbances need some, too.

Points with positions alone are joined by straight lines. Their corners are rounded: no joint passes
them by more than --blend, the larger, the faster. With --blend 0, at corners sharper than 150
degrees, and where a trajectory with velocities turns back, the arm stops. Rests on the way are left
out.

Takes the same files, and the same parameters, as `featherstone-ros preflight`. Needs scipy.

Exit status: 0 if it is written, 1 if no timing is within the limits (the joint and the limit are
named), 2 if the trajectory cannot be read or used.

Examples:
  featherstone-ros retime plan.yaml --urdf arm.urdf --output fast.yaml
  featherstone-ros retime plan.yaml --urdf arm.urdf --effort 80 --output f.yaml
  featherstone-ros retime p.yaml --urdf ur5e --acceleration 10 --output f.yaml
  featherstone-ros retime plan.yaml --urdf panda --output slow.yaml --plot t.png
  featherstone-ros retime p.yaml --urdf ur5e --link-speed tool0=1 --output f
  featherstone-ros preflight fast.yaml --urdf arm.urdf   the judge
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from featherstone_ros.control.retiming import BLEND
from featherstone_ros.tools.options import (
    add_number,
    add_outputs,
    add_trajectory_arguments,
    between,
    named,
    positive,
    positive_up_to,
)
from featherstone_ros.tools.result import Console, Result

if TYPE_CHECKING:
    from featherstone_ros.control import Retimed
    from featherstone_ros.tools.trajectory_check import FileCheck


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trajectory_arguments(parser)
    add_outputs(parser, required=True, output="the trajectory with its times")
    add_number(
        parser, "--effort", "PERCENT", positive_up_to(100), 100, "of the effort limits to use"
    )
    add_number(
        parser, "--acceleration", "A", positive, None, "limit of every joint [rad/s^2 or m/s^2]"
    )
    add_number(
        parser, "--blend", "D", between(0, 1), BLEND,
        "how far joints may pass the corners of straight lines by [rad or m]",
    )  # fmt: skip
    parser.add_argument(
        "--link-speed", type=named("LINK=V", positive), action="append", default=[],
        metavar="LINK=V", help="greatest speed of a link's origin [m/s]; may be repeated",
    )  # fmt: skip
    add_outputs(parser, plot="write a picture")


def run(args: argparse.Namespace, console: Console) -> Result:
    """Time the trajectory."""
    from functools import partial

    from featherstone_ros.control.controlled_arm import ControlledArm
    from featherstone_ros.tools.progress_bar import delayed_progress
    from featherstone_ros.tools.taught_motion import smoothed
    from featherstone_ros.tools.trajectory_check import check_file, draw, trajectory_of
    from featherstone_ros.tools.trajectory_files import UncheckedTrajectory, as_yaml, chosen, read

    given = chosen(read(args.trajectory, args.topic), args.number, args.trajectory)
    joints = None if given.is_measured else given.names
    arm = ControlledArm.from_robot(args.urdf, joints, args.parameters, args.joint_limits)
    arm = arm.with_parameters(allow_nonzero_velocity_at_trajectory_end=True)  # it will stand
    given = smoothed(given, arm, console.print)
    trajectory = trajectory_of(given, arm)
    with delayed_progress("timing", console) as report:
        timed = arm.retimed(
            trajectory,
            effort=args.effort / 100.0,
            acceleration=args.acceleration,
            link_speed=dict(args.link_speed),
            blend=args.blend,
            report=report,
        )
    written = UncheckedTrajectory(timed.names, tuple(timed.points(trajectory.times[0])))
    checked = check_file(written, arm)
    before = check_file(given, arm) if given.is_timed else None
    files = ((args.output, as_yaml(written)), (args.plot, partial(draw, checked)))
    return Result([*_summary(before, timed)], files)


def _summary(before: FileCheck | None, timed: Retimed) -> Iterator[str]:
    """Yield what has become of a trajectory; None: of points without times."""
    was = "without times before"
    if before is not None:
        begin, end = before.verdict.demand.time[[0, -1]]
        was = f"{end - begin:.3f} s before{'' if before.fits else ', which does not fit'}"
    yield f"[bold]{timed.duration:.3f} s[/], {was}; {len(timed.times)} points"
    yield f"Of the limits: {timed.used()}"
