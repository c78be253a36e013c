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

if TYPE_CHECKING:
    from . import identification as identification

    __version__: str
else:

    def __getattr__(name: str) -> object:
        """Import ``identification``, or read the version, when it is first asked for."""
        if name == "identification":
            return import_module(f"{__name__}.{name}")
        if name == "__version__":
            from .model.share import version

            return version()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
