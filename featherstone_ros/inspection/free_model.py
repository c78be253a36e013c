"""A robot's model with all joints free that are to move, and random postures of it."""

from collections.abc import Iterable, Mapping

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model import EARTH, Model
from featherstone_ros.model.model import what_moves
from featherstone_ros.model.robot_description import RobotDescription, without_ground

MAX_JOINTS = 300  # that are checked: the time grows with their cube


def free_model(
    robot: RobotDescription,
    joints: Iterable[str] | None = None,
    locked: Mapping[str, float] | None = None,
    base: str = "fixed",
) -> tuple[Model, list[str]]:
    """Return a robot's model and the joints that move no inertia, which it locks.

    A base that floats is held. Arguments as for ``Model.from_urdf``.
    """
    if base == "floating":
        robot = without_ground(robot)
    chosen, tree, idle = what_moves(robot, joints, locked, tolerated=1.0)
    return Model.from_bodies(robot, chosen, tree, EARTH), idle


def random_postures(model: Model, count: int) -> Floats:
    """Return (count, n) positions within the limits, the same in every call [rad or m]."""
    lower, upper = model.position_range
    return lower + np.random.default_rng(0).uniform(size=(count, model.n)) * (upper - lower)


def middle(model: Model) -> Floats:
    """Return the (n,) positions midway between the limits [rad or m]."""
    return model.position_range.mean(axis=0)
