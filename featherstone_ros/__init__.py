"""Model-based torque control and digital twins of robot arms: rigid-body dynamics for ROS 2, from Python."""

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
