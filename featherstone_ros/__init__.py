"""Rigid-body dynamics, torque control and digital twins of robot arms in ROS 2, from the URDF."""

from importlib import import_module
from typing import TYPE_CHECKING

from .errors import (
    DivergenceError,
    FeatherstoneError,
    ModelError,
    SingularInertiaError,
    SingularJacobianError,
    UnknownNameError,
)

from ._core import (  # isort: skip  (the core raises the errors above)
    Dynamics,
    Simulator,
    get_num_threads,
    set_num_threads,
)
from . import control, kinematics
from .model import Model
from .model.primitives import box, cylinder, inertial, mesh, sphere
from .model.tree import Continuous, Fixed, Prismatic, Revolute, Screw, Tree

__all__ = [
    "Continuous",
    "DivergenceError",
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
    "SingularJacobianError",
    "Tree",
    "UnknownNameError",
    "__version__",
    "box",
    "control",
    "cylinder",
    "get_num_threads",
    "inertial",
    "kinematics",
    "mesh",
    "set_num_threads",
    "sphere",
]

__version__ = "0.1.0"  # as in package.xml and setup.py


if TYPE_CHECKING:
    from . import identification as identification
else:

    def __getattr__(name: str) -> object:
        """Import ``identification`` when it is first asked for."""
        if name == "identification":
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
