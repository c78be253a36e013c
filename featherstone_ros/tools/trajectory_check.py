"""A trajectory from a file or a topic, checked for an arm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.feasibility import Demand, Feasibility, check
from featherstone_ros.control.goal_tolerances import with_others
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.control.trajectory import Motion, Trajectory, TrajectoryError
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory


@dataclass(frozen=True, eq=False)
class FileCheck:
    """What the command reports on."""

    unchecked: UncheckedTrajectory  # the trajectory as it was read
    arm: ControlledArm  # the arm that is to follow it
    verdict: Feasibility  # whether it can
    filled: UncheckedTrajectory  # the trajectory with the model's effort
    refusal: str = ""  # why a controller refuses it whatever the arm can do; empty if it does not

    @property
    def is_at_once(self) -> bool:
        """Whether the arm is to jump: to the only point, in no time."""
        return len(self.unchecked.points) == 1 and self.unchecked.points[0].time == 0.0

    @property
    def fits(self) -> bool:
        """Whether the arm can follow."""
        return self.verdict.fits and not self.is_at_once and not self.refusal

    def advice(self) -> str:
        """Return one line of advice where it does not fit."""
        if self.refusal and self.verdict.fits and not self.is_at_once:
            return "the controller would refuse it"
        if not self.is_at_once:
            return self.verdict.advice()
        besides = "" if self.verdict.fits else f"; besides, {self.verdict.advice()}"
        return f"give the point a time_from_start{besides}"


def check_file(
    unchecked: UncheckedTrajectory, arm: ControlledArm, controller: ControlledArm | None = None
) -> FileCheck:
    """Check a trajectory from its first point on: how the arm gets there is not known.

    ``unchecked``: the trajectory. Its own effort fields are ignored: they do not change the torque
    that the motion needs. ``controller``: the arm with all joints of its controller; None: that
    one.
    """
    limits, trajectory = arm.limits, trajectory_of(unchecked, arm)
    motion = started(trajectory)
    begin, end = trajectory.times[0], motion.end
    velocity = trajectory.state(0).velocity
    verdict = check(Dynamics(arm.model), arm.drives, limits, motion, begin, end, velocity)
    with_effort = filled(unchecked, trajectory, verdict.demand, arm)
    return FileCheck(unchecked, arm, verdict, with_effort, refusal(unchecked, controller or arm))


def refusal(unchecked: UncheckedTrajectory, controller: ControlledArm) -> str:
    """Return why a controller refuses a trajectory wherever its arm is; empty if it takes it."""
    names, points = list(unchecked.names), list(unchecked.points)
    space = without_limits(controller.limits)
    try:
        if controller.values["allow_partial_joints_goal"]:
            names, points = with_others(names, points, space.names, np.zeros(len(space.names)))
        Trajectory(names, points, space, *controller.of_trajectories).check_accelerations()
    except TrajectoryError as error:
        return str(error)
    return ""


def trajectory_of(unchecked: UncheckedTrajectory, arm: ControlledArm) -> Trajectory:
    """Return a trajectory for an arm whose limits are not checked at points, but all along."""
    space = without_limits(arm.limits)
    return Trajectory(unchecked.names, unchecked.points, space, *arm.of_trajectories)


def without_limits(space: JointSpace) -> JointSpace:
    """Return the same joints with no limits of position and effort."""
    unlimited = np.full(len(space.names), np.inf)
    return replace(space, lower=-unlimited, upper=unlimited, effort=unlimited)


def started(trajectory: Trajectory) -> Motion:
    """Return the motion of an arm that is at the first point at that point's time."""
    return trajectory.motion(trajectory.times[0], trajectory.state(0), ControllerSettings.stop_time)


# The model's torque in a trajectory's effort fields. joint_trajectory_controller adds them to its
# command on an effort interface. Between two points it interpolates them linearly, which says how
# dense the points should be: see ``largest_gap``. Our own controller adds them to the model's
# torque and has no use for them.


def filled(
    unchecked: UncheckedTrajectory, trajectory: Trajectory, asked: Demand, arm: ControlledArm
) -> UncheckedTrajectory:
    """Return the trajectory with the torque at every point as its effort.

    Where the acceleration jumps at a point, the effort is the mean of both sides. The last point
    gets the gravity torque alone, since the controller holds it.

    ``asked``: the torque along it; its time is the trajectory's.
    """
    times = np.array(trajectory.times)
    before = np.searchsorted(asked.time, times, side="left")
    after = np.searchsorted(asked.time, times, side="right") - 1
    torque = (asked.torque[before] + asked.torque[after]) / 2.0
    torque[-1] = Dynamics(arm.model).gravity(asked.position[after[-1]])
    points = [
        replace(point, effort=tuple(row.tolist()))
        for point, row in zip(unchecked.points, torque, strict=True)
    ]
    return UncheckedTrajectory(unchecked.names, tuple(points))


def largest_gap(unchecked: UncheckedTrajectory, asked: Demand) -> Floats:
    """Return how far the efforts, interpolated linearly, are from the torque (n,) [N m] or [N].

    ``asked``: the torque along it, joints in the same order.
    """
    times = [point.time for point in unchecked.points]
    effort = np.array([point.effort for point in unchecked.points])
    line = [np.interp(asked.time, times, column) for column in effort.T]
    return np.abs(np.transpose(line) - asked.torque).max(axis=0)
