"""The controller's logic, importable and testable without ROS.

What runs in every cycle is compiled (cython_core/control); here is what prepares and explains it:

- ``transitions``: the phases and what leads from one to another, the table that the loop reads.
- ``controller``: the controller for Python, around a simulation or in tests.
- ``settings``, ``plausibility``, ``governor``: every setting, checked.
- ``motion``, ``trajectory``: a JointTrajectory checked and turned into a motion.
- ``planning``: what it is checked against before the controller is asked to follow it.
- ``loaded_model``: the arm with its payload, under the gravity of where it stands.
- ``events``: what the compiled controller says, in words.
- ``cartesian_impedance``: the hand on a spring and a damper, a law of its own.
"""

from featherstone_ros.control.cartesian_impedance import (
    CartesianImpedance,
    CartesianSettings,
    Wall,
    box,
)

__all__ = ["CartesianImpedance", "CartesianSettings", "Wall", "box"]
