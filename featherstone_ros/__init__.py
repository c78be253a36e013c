"""Rigid-body dynamics, torque control and digital twins of robot arms in ROS 2, from the URDF."""

from .errors import FeatherstoneError, ModelError, SingularInertiaError, UnknownNameError

from ._core import (  # isort: skip  (the core raises the errors above)
    Dynamics,
    Simulator,
    get_num_threads,
    set_num_threads,
)
from .model import Model
from .primitives import box, cylinder, inertial, sphere
from .tree import Continuous, Fixed, Prismatic, Revolute, Screw, Tree

__all__ = [
    "Continuous",
    "Dynamics",
    "FeatherstoneError",
    "Fixed",
    "Model",
    "ModelError",
    "Prismatic",
    "Revolute",
    "Screw",
    "Simulator",
    "SingularInertiaError",
    "Tree",
    "UnknownNameError",
    "box",
    "cylinder",
    "get_num_threads",
    "inertial",
    "set_num_threads",
    "sphere",
]
