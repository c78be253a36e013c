"""Rigid-body dynamics, torque control and digital twins of robot arms in ROS 2, from the URDF."""

from typing import TYPE_CHECKING

from . import _core as _core  # refuses to be imported where there is no build for this processor
from .lazy import exporter

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
    from . import control as control
    from . import identification as identification
    from . import kinematics as kinematics
    from ._core import Dynamics, Simulator, get_num_threads, set_num_threads
    from .errors import (
        DivergenceError,
        FeatherstoneError,
        ModelError,
        SingularInertiaError,
        SingularJacobianError,
        UnknownNameError,
    )
    from .model import Model
    from .model.primitives import box, cylinder, inertial, mesh, sphere
    from .model.tree import Continuous, Fixed, Prismatic, Revolute, Screw, Tree

    __version__: str
else:
    _exported, __dir__ = exporter(
        __name__, "errors", "_core", "model.model", "model.primitives", "model.tree"
    )

    def __getattr__(name: str) -> object:
        """Import what is exported, or read the version, when it is first asked for."""
        if name == "__version__":
            from .model.robots import version

            return version()
        return _exported(name)
