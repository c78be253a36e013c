"""Fills a trajectory's effort fields with the model's torque.

joint_trajectory_controller adds them to its command on an effort interface. Between two points it
interpolates them linearly, which says how dense the points should be: see ``largest_gap``. Our own
controller adds them to the model's torque and has no use for them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.trajectory import Trajectory
from featherstone_ros.tools.checked_arm import CheckedArm
from featherstone_ros.tools.preflight.source import UncheckedTrajectory


def filled(
    unchecked: UncheckedTrajectory, trajectory: Trajectory, asked: Demand, arm: CheckedArm
) -> UncheckedTrajectory:
    """Return the trajectory with the torque at every point as its effort.

    Where the acceleration jumps at a point, the effort is the mean of both sides. The last point
    gets the gravity torque alone, since the controller holds it.

    Args:
        unchecked: The trajectory as it was read.
        trajectory: The same, checked.
        asked: The torque along it; its time is the trajectory's.
        arm: With the trajectory's joints, in that order.
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

    Args:
        unchecked: A trajectory with efforts.
        asked: The torque along it, joints in the same order.
    """
    times = [point.time for point in unchecked.points]
    effort = np.array([point.effort for point in unchecked.points])
    line = [np.interp(asked.time, times, column) for column in effort.T]
    return np.abs(np.transpose(line) - asked.torque).max(axis=0)
