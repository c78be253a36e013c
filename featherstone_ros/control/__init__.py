"""The controller's logic, importable and testable without ROS.

What runs in every cycle is compiled (cython_core/control); here is what prepares and explains it.
``ControlledArm`` in ``controlled_arm`` is where to begin, an arm with its parameters and all that
follows from both; docs/architecture.md has the others.
"""

from typing import TYPE_CHECKING

from featherstone_ros.lazy import exporter

__all__ = [
    "CartesianImpedance",
    "CartesianSettings",
    "Retimed",
    "RetimingError",
    "Wall",
    "box",
    "retime",
]

if TYPE_CHECKING:
    from featherstone_ros.control.cartesian_impedance import (
        CartesianImpedance,
        CartesianSettings,
        Wall,
        box,
    )
    from featherstone_ros.control.retiming.retime import Retimed, RetimingError, retime
else:
    __getattr__, __dir__ = exporter(__name__, "cartesian_impedance", "retiming.retime")
