"""A robot's model with all joints free, and random postures of it."""

from collections.abc import Mapping

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model import EARTH, Model
from featherstone_ros.model.model import what_moves
from featherstone_ros.model.robot_description import RobotDescription

MAX_JOINTS = 300  # that are checked: the time grows with their cube


def free_model(
    robot: RobotDescription, locked: Mapping[str, float] | None = None
) -> tuple[Model, list[str]]:
    """Return a robot's model and the joints that move no inertia, which it locks.

    ``locked`` has the positions of joints that do not move [rad or m].

    Raises:
        ModelError: The robot cannot be modelled.
    """
    chosen, tree, idle = what_moves(robot, locked=locked, tolerated=1.0)
    return Model.from_bodies(robot, chosen, tree, EARTH), idle


def random_postures(model: Model, count: int) -> Floats:
    """Return (count, n) positions within the limits, the same in every call [rad or m]."""
    lower, upper = model.position_range
    return lower + np.random.default_rng(0).uniform(size=(count, model.n)) * (upper - lower)


def middle(model: Model) -> Floats:
    """Return the (n,) positions midway between the limits [rad or m]."""
    return model.position_range.mean(axis=0)
