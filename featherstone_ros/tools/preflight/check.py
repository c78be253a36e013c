"""A trajectory from a file or a topic, checked for an arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.control.feasibility.verdict import Feasibility, check
from featherstone_ros.control.motion import Motion
from featherstone_ros.control.settings import Settings
from featherstone_ros.control.trajectory import JointSpace, Trajectory
from featherstone_ros.tools.checked_arm import CheckedArm
from featherstone_ros.tools.preflight.effort import filled
from featherstone_ros.tools.preflight.source import Given


@dataclass(frozen=True, eq=False)
class FileCheck:
    """What the command reports on.

    Attributes:
        given: The trajectory as it came.
        arm: Who is to follow it.
        verdict: Whether it can follow.
        filled: The trajectory with the model's effort.
    """

    given: Given
    arm: CheckedArm
    verdict: Feasibility
    filled: Given


def check_file(given: Given, arm: CheckedArm) -> FileCheck:
    """Check a trajectory from its first point on: how the arm gets there is not known.

    Args:
        given: The trajectory. Its own efforts are not looked at: they do not change what it takes.
        arm: Loaded for its joints.

    Raises:
        TrajectoryError: No controller would take it, whatever the arm.
    """
    limits = arm.limits
    unlimited = np.full(arm.model.n, np.inf)  # positions are checked all along, not at points alone
    space = JointSpace(limits.names, -unlimited, unlimited, limits.velocity)
    trajectory = Trajectory(given.names, given.points, space, arm.may_end_moving)
    motion = started(trajectory)
    begin, end = trajectory.times[0], motion.end
    velocity = trajectory.state(0).velocity
    verdict = check(Dynamics(arm.model), arm.drives, limits, motion, begin, end, velocity)
    return FileCheck(given, arm, verdict, filled(given, trajectory, motion, arm))


def started(trajectory: Trajectory) -> Motion:
    """Return the motion of an arm that is at the first point when its time has come."""
    return trajectory.motion(0.0, trajectory.times[0], trajectory.state(0), Settings.stop_time)
