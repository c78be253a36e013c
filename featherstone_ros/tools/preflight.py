"""Tell whether an arm's motors can follow a trajectory, before it moves.

Computes the torque along the trajectory by inverse dynamics, a thousand times a second (and at most
5000 times between two points), on the curve that the controller would follow (linear, cubic or
quintic, depending on the fields of the points), and compares position, speed and torque of every
joint with the URDF's limits, and acceleration, deceleration and jerk where it has such limits; or
with those of MoveIt's joint_limits.yaml, --joint-limits, where that has others.
If the trajectory does not fit, the report says by which factor to slow it down, or that no speed
helps: gravity alone exceeds a limit, or the curve leaves the position limits.

The trajectory may come from a YAML file with trajectory_msgs/JointTrajectory messages as
`ros2 topic echo --full-length` prints them (or goals of FollowJointTrajectory, or MoveIt's
RobotTrajectory), from a rosbag2 recording, or from a topic, where the next message is taken. Of a
recording that has joint states alone, the motion that was measured is taken, smoothed.

Friction, armature, payload, gravity and effort_scale come from the controller's parameter file if
one is given; otherwise friction comes from the URDF's <dynamics>. Joints that are not in the
trajectory stand where locked.<joint> in that file says. A name in it that no parameter has is an
error. A trajectory whose joints are not those of the controller with that file, which has all that
move where the file has no `joints`, is refused as the controller does.

Points with positions alone are joined by straight lines, so the velocity jumps at each point; a
jump of more than a quarter of the velocity limit does not fit. With velocities the pieces are
cubic, with accelerations quintic.

Exit status: 0 if the trajectory fits, 1 if not, 2 if it cannot be read or checked.

Examples:
  featherstone-ros preflight plan.yaml --urdf arm.urdf
  featherstone-ros preflight plan.yaml --urdf panda --plot plan.png
  featherstone-ros preflight plan.yaml --urdf arm.urdf --parameters arm.yaml
  featherstone-ros preflight recording/ --urdf arm.urdf --number 3   the third
  featherstone-ros preflight /arm_controller/joint_trajectory --urdf arm.urdf
  featherstone-ros preflight plan.yaml --urdf arm.urdf --fill-effort full.yaml

--fill-effort writes the trajectory with its effort fields filled, for joint_trajectory_controller,
which adds them to its command on an effort interface. feedforward_controller computes the torque
itself: it recognises these efforts by its own model, and does not add them.

Waypoints without time_from_start get the times of `featherstone-ros retime`.
"""

from __future__ import annotations

import argparse

from featherstone_ros.tools.options import add_outputs, add_trajectory_arguments
from featherstone_ros.tools.result import Console, Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trajectory_arguments(parser)
    add_outputs(
        parser,
        plot="write a picture",
        fill_effort="write the trajectory with its effort",
    )


def run(args: argparse.Namespace, console: Console) -> Result:
    """Check the trajectory."""
    from functools import partial

    from featherstone_ros.control.controlled_arm import ControlledArm
    from featherstone_ros.tools import trajectory_files
    from featherstone_ros.tools.taught_motion import smoothed
    from featherstone_ros.tools.trajectory_check import (
        check_file,
        draw,
        gap,
        shown,
        trajectory_of,
    )

    found = trajectory_files.read(args.trajectory, args.topic)
    unchecked = trajectory_files.chosen(found, args.number, args.trajectory)
    if len(found) > 1:
        console.print(f"Trajectory {args.number} of {len(found)}; --number K for another")
    joints = None if unchecked.is_measured else unchecked.names
    arm = ControlledArm.from_robot(args.urdf, joints, args.parameters, args.joint_limits)
    unchecked = smoothed(unchecked, arm, console.print)
    if not unchecked.is_timed:
        timed = arm.retimed(trajectory_of(unchecked, arm))
        unchecked = trajectory_files.UncheckedTrajectory(timed.names, tuple(timed.points()))
        console.print("Without times: those of `featherstone-ros retime`", highlight=False)
    controller = arm
    if args.parameters:
        controller = ControlledArm.from_robot(args.urdf, None, args.parameters)
    checked = check_file(unchecked, arm, controller)
    lines = [*shown(checked)]
    if args.fill_effort:
        lines.append(f"[dim]Efforts filled in: {gap(checked)}")
    files = (
        (args.fill_effort, trajectory_files.as_yaml(checked.filled)),
        (args.plot, partial(draw, checked)),
    )
    return Result(lines, files, 0 if checked.fits else 1)
