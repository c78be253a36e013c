"""What physics and settings allow the arm: the bounds that every episode is held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics, Model
from featherstone_ros.control.governor import LONGEST_STEP, default_torque_rate
from featherstone_ros.demo.robot import Robot, load

Floats = NDArray[np.float64]

RATE = 200.0  # [Hz] of the joint states
COMMAND_TIMEOUT = 0.2  # [s] of the twin, after which its brakes are on, as a drive's would be

# Bounds.
# An arm that gets no news, or sends none, brakes as if it kept its acceleration for this time: for
# the controller's state_timeout (0.1) it does, then it stops within stop_time (0.25); or for the
# drives' time-out (0.2), then its brakes stop it within 0.1.
BRAKING = 0.25  # [s]
# Further than that. At rest: by two wrong commands in a row, as large as the drives go. A Panda
# that is let go of falls 30 mrad in some 60 ms, 400 mrad in some 250 ms.
SAG_AT_REST = 0.03  # [rad]
# In motion also by what the controller does not know of where the arm is while it holds it blindly,
# at a pose from which it falls by itself. That lasts GIVE_UP_AFTER, then the drives' brakes are on.
SAG_IN_MOTION = 0.4  # [rad]
GIVE_UP_AFTER = 0.4  # [s]
SPEED = 2.0  # times the limits: faster, and the controller would not believe the joint states
TRACKED = 0.01  # [rad] from the desired position: the arm tracks, or holds
RECOVERY = 1.0  # [s] from the end of the fault until it does so again


@dataclass(frozen=True)
class Arm:
    """The arm, its nodes' parameters, and its limits; arrays are (n,) in joint order.

    Attributes:
        robot: Description and parameters.
        period: Of the joint states [s].
        torque_step: Largest step of a command [N m].
        compliance: How far the stops may give way [rad].
    """

    robot: Robot
    period: float
    torque_step: Floats
    compliance: Floats

    @property
    def model(self) -> Model:
        """Joint names and limits."""
        return self.robot.model

    @property
    def home(self) -> Floats:
        """Where the arm works [rad]."""
        return self.robot.start


def arm(name: str) -> Arm:
    """Load an arm of the package's own.

    A stop of stiffness k that is hit at the speed v and pressed by the effort tau gives way by x
    with k x^2 / 2 = m v^2 / 2 + tau x, m the inertia that the joint moves and v its speed limit;
    its damping helps.
    """
    robot = load(name)
    model = robot.model
    dynamics = Dynamics(model)
    rotors = robot.by_joint("digital_twin", "armature.{}")
    inertia = np.diag(dynamics.crba(robot.start)) + rotors
    weight = np.abs(dynamics.gravity(robot.start))
    give = (model.effort_limit + weight) / robot.parameters["digital_twin"]["stops.stiffness"]
    spring = inertia * model.velocity_limit**2 / robot.parameters["digital_twin"]["stops.stiffness"]
    torque_step = default_torque_rate(model.effort_limit) * LONGEST_STEP
    return Arm(robot, 1.0 / RATE, torque_step, give + np.sqrt(give**2 + spring))
