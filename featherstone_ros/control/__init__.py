"""The controller's logic, importable and testable without ROS.

What runs in every cycle is compiled (cython_core/control); here is what prepares and explains it:

- ``phases``: the phases and their transitions, the table that the loop reads.
- ``causes``: why the arm is held and what is done then, a table that the loop reads as well.
- ``controller``: the controller for Python, around a simulation or in tests.
- ``controlled_arm``: an arm with its parameters, and all that follows from both; begin here.
- ``controller_parameters``, ``cartesian_parameters``: the parameters that are no settings, and what
  is made of them.
- ``choices``: mode and timing; ``settings``: every setting, checked.
- ``gains``: gains from the model, and whether gains are stable as a sampled loop; the same for the
  damping of the gravity hold and of a fault.
- ``feedback``: both for a set of parameters, set or chosen, and what is said of it.
- ``armature``: the inertia of the drives that is assumed where no gains are stable without; the
  parameters of drives.
- ``joint_space``: the joints with their limits, what their drives can accelerate, torque rates.
- ``trajectory``: a JointTrajectory checked, when it starts, and the motion that it is.
- ``feasibility``: whether the motors can follow it; ``retiming``: as fast as they can.
- ``goal_tolerances``: the outcome of an action's goal.
- ``tool_weight``: what a wrench sensor's zeros in several postures tell of the tool.
- ``arrival``: whether the arm, or its tip, is where it was asked to go.
- ``diagnostics``: level and line of the diagnostics, how well the arm follows, how often joint
  states come, how trajectories that follow each other fit together, whether the arm stood when the
  commands ended; ``drive_watch``: what limits of drives bind.
- ``payload``: the model with payload and gravity from the parameters.
- ``reasons``: text for the compiled controller's records, and for messages that cannot be used.
- ``cartesian_impedance``: the end effector on a spring and a damper, a law of its own; what contact
  and sensor ask of it in mode admittance.
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
