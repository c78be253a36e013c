"""A trajectory from a file or a topic, checked for an arm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.control.feasibility.feasibility import Feasibility, check
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import Motion
from featherstone_ros.control.settings import Settings
from featherstone_ros.control.trajectory import Trajectory
from featherstone_ros.tools.checked_arm import CheckedArm
from featherstone_ros.tools.preflight.effort import filled
from featherstone_ros.tools.preflight.source import UncheckedTrajectory


@dataclass(frozen=True, eq=False)
class FileCheck:
    """What the command reports on.

    Attributes:
        unchecked: The trajectory as it was read.
        arm: The arm that is to follow it.
        verdict: Whether it can.
        filled: The trajectory with the model's effort.
    """

    unchecked: UncheckedTrajectory
    arm: CheckedArm
    verdict: Feasibility
    filled: UncheckedTrajectory

    @property
    def is_at_once(self) -> bool:
        """Whether the arm is to jump: to the only point, in no time."""
        return len(self.unchecked.points) == 1 and self.unchecked.points[0].time == 0.0

    @property
    def fits(self) -> bool:
        """Whether the arm can follow."""
        return self.verdict.fits and not self.is_at_once

    def advice(self) -> str:
        """Return one line of advice where it does not fit."""
        if not self.is_at_once:
            return self.verdict.advice()
        besides = "" if self.verdict.fits else f"; besides, {self.verdict.advice()}"
        return f"give the point a time_from_start{besides}"


def check_file(unchecked: UncheckedTrajectory, arm: CheckedArm) -> FileCheck:
    """Check a trajectory from its first point on: how the arm gets there is not known.

    Args:
        unchecked: The trajectory. Its own effort fields are ignored: they do not change the torque
            that the motion needs.
        arm: Loaded for its joints.

    Raises:
        TrajectoryError: The trajectory is invalid for any arm.
    """
    limits, trajectory = arm.limits, trajectory_of(unchecked, arm)
    motion = started(trajectory)
    begin, end = trajectory.times[0], motion.end
    velocity = trajectory.state(0).velocity
    verdict = check(Dynamics(arm.model), arm.drives, limits, motion, begin, end, velocity)
    return FileCheck(unchecked, arm, verdict, filled(unchecked, trajectory, verdict.demand, arm))


def trajectory_of(unchecked: UncheckedTrajectory, arm: CheckedArm) -> Trajectory:
    """Return a trajectory for an arm whose limits are not checked at points, but all along.

    Raises:
        TrajectoryError: It is invalid for any arm.
    """
    space = without_limits(arm.limits)
    return Trajectory(
        unchecked.names, unchecked.points, space, arm.may_end_moving, arm.interpolation
    )


def without_limits(space: JointSpace) -> JointSpace:
    """Return the same joints with no limits of position and effort."""
    unlimited = np.full(len(space.names), np.inf)
    return replace(space, lower=-unlimited, upper=unlimited, effort=unlimited)


def started(trajectory: Trajectory) -> Motion:
    """Return the motion of an arm that is at the first point at that point's time."""
    return trajectory.motion(trajectory.times[0], trajectory.state(0), Settings.stop_time)
