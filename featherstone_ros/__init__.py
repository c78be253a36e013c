"""Rigid-body dynamics, torque control and digital twins of robot arms in ROS 2, from the URDF."""

from .errors import FeatherstoneError, ModelError, SingularInertiaError, UnknownNameError

from ._core import Dynamics, Simulator  # isort: skip  (the core raises the errors above)
from .model import Model

__all__ = [
    "Dynamics",
    "FeatherstoneError",
    "Model",
    "ModelError",
    "Simulator",
    "SingularInertiaError",
    "UnknownNameError",
]
