"""What physics and settings allow the arm: the bounds that every episode is held against."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from episodes import PEAK, PEAK_ACCELERATION, REACH, SHARE_OF_SPEED, SHORTEST_MOTION

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import CartesianSettings
from featherstone_ros.control.joint_space import default_torque_rate
from featherstone_ros.tools.robot_setup import RobotSetup, load

RATE = 200.0  # [Hz] of the joint states
LONGEST_STEP = 0.005  # [s] of torque_rate that one command may use up, see torque_governor.pxd
COMMAND_TIMEOUT = 0.2  # [s] of the twin, after which its brakes are on, as a drive's would be

GIVE_UP_AFTER = 0.4  # [s] the controller's

# Bounds; that of the sag depends on the arm, see ``Arm``.
# An arm that gets no news, or sends none, brakes as if it kept its acceleration for this time: for
# the controller's state_timeout (0.1) it does, then it stops within stop_time (0.25) on half the
# way; or for the drives' time-out (0.2), then its brakes stop it within 0.1.
BRAKING = 0.25  # [s]
TRACKED = 0.01  # [rad] from the desired position: the arm tracks, or holds
# A hand on its spring is off by what dry friction leaves (up to 0.13 in nine of ten poses of the
# workspace, more near singular ones), and lags behind what leads it. Standing, it has recovered.
TRACKED_BY_HAND = 0.15  # [rad]
# The controller believes again (0.05), stops what moves (0.25), fades (0.2), and its feedback (of
# 15 rad/s in the slowest joint) takes an error of path_tolerance (0.1) below TRACKED (0.3).
RECOVERY = 1.0  # [s] from the end of the fault until the arm tracks or holds again
# The posture's soft spring has 1.1 rad/s in its slowest way; critically damped, a fifth of 0.3 rad
# is left after 2.7 s, at the speed STANDING.
RECOVERY_BY_HAND = 3.0  # [s]
POSTURE_RATE = 1.1  # [rad/s]

STANDING = 0.05  # [rad/s] an arm that is slower stands

# What the bounds assume.
FAULT_SHARE = 0.2  # of the effort limit by which a fault's damping brakes at the velocity limit
WRONG_COMMANDS = 2  # in a row, as large as the drives allow, that reach them
OVERSHOOT = 0.46  # of v / w that a joint at the speed v still moves, damped by 0.7 at w rad/s
BEYOND_GRAVITY = 0.5  # share of the effort limits within which an effort may be what holds the arm
BLIND = 0.1 + GIVE_UP_AFTER + COMMAND_TIMEOUT  # [s] after the last state the drives' brakes are on
TIPS = {"panda": "panda_hand", "ur5e": "tool0"}
WORKSPACE = 2.0 * REACH  # [rad] about home
POSES = 500  # in it at which the arm is looked at


@dataclass(frozen=True)
class Arm:
    """The arm, its nodes' parameters, and its limits; arrays are (n,) in joint order.

    Attributes:
        robot: Description and parameters.
        dynamics: Of its model.
        period: Of the joint states [s].
        torque_step: Largest step of a command [N m].
        give: Deflection of a stop under full effort [rad].
        spring: Square of its deflection when hit at the speed limit [rad^2].
        overshoot: How far a joint moves on per second of wrong commands [rad/s].
        drift: How far it may move by itself while its position is unknown [rad].
        jolt: Acceleration that one step of a command may cause [rad/s^2].
        surge: Acceleration that a command as large as the drives allow may cause [rad/s^2].
        coasting: Time constant with which the damped hold of a fault brakes [s].
        overshoot_by_hand: ``overshoot`` where the hand is led.
        is_led_by_hand: Whether it is.
    """

    robot: RobotSetup
    dynamics: Dynamics
    period: float
    torque_step: Floats
    give: Floats
    spring: Floats
    overshoot: float
    drift: float
    jolt: Floats
    surge: Floats
    coasting: float
    overshoot_by_hand: float
    is_led_by_hand: bool = False

    @property
    def model(self) -> Model:
        """Joint names and limits."""
        return self.robot.model

    def compliance(self, speed: float) -> Floats:
        """Return how far the stops may give way, hit at a share of the speed limits (n,) [rad].

        A stop of stiffness k that is hit at the speed v and pressed by the effort tau gives way by
        x with k x^2 / 2 = m v^2 / 2 + tau x, m the inertia that the joint moves; its damping helps.
        """
        return self.give + np.sqrt(self.give**2 + self.spring * speed**2)

    def knock(self, kept: float) -> float:
        """Return how far a wrong command that the drives keep for so long may move the arm [rad].

        It speeds up meanwhile, by a t after a way of a t^2 / 2, and then has to be stopped.
        """
        return self.overshoot * kept + 0.5 * float(self.surge.max()) * kept**2

    @property
    def tip(self) -> str:
        """The hand's link."""
        return TIPS[self.robot.name]

    def led(self, by_hand: bool) -> Arm:
        """Return the arm with the bounds of one that is led by its hand, or by its joints."""
        if not by_hand:
            return self
        return replace(self, overshoot=self.overshoot_by_hand, is_led_by_hand=True)

    @property
    def tracked(self) -> float:
        """Return how far from the desired position the arm tracks [rad]."""
        return TRACKED_BY_HAND if self.is_led_by_hand else TRACKED

    @property
    def recovery(self) -> float:
        """Return the longest time from the end of the fault until it tracks or stands [s]."""
        return RECOVERY_BY_HAND if self.is_led_by_hand else RECOVERY

    @property
    def home(self) -> Floats:
        """Where the arm works [rad]."""
        return self.robot.start


@cache
def arm(name: str) -> Arm:
    """Load an arm of the package's own."""
    robot = load(name)
    model = robot.model
    dynamics = Dynamics(model)
    rotors = robot.by_joint("digital_twin", "armature.{}")
    inertia = np.diag(dynamics.crba(robot.start)) + rotors
    weight = np.abs(dynamics.gravity(robot.start))
    give = (model.effort_limit + weight) / robot.parameters["digital_twin"]["stops.stiffness"]
    spring = inertia * model.velocity_limit**2 / robot.parameters["digital_twin"]["stops.stiffness"]
    torque_step = default_torque_rate(model.effort_limit) * LONGEST_STEP
    stiffness = robot.by_joint("feedforward_controller", "gains.{}.p")
    brakes = FAULT_SHARE * model.effort_limit / model.velocity_limit
    softest = float(np.min(CartesianSettings().posture_stiffness))  # that holds a joint
    overshoot = overshoot_by_hand = drift = coasting = 0.0
    jolt, surge = np.zeros((2, model.n))
    for pose in workspace(model, robot.start):
        mass = dynamics.crba(pose) + np.diag(rotors)
        mobility = np.linalg.inv(mass)
        coasting = max(coasting, float(np.linalg.eigvals(mass / brakes).real.max()))
        most = model.effort_limit + np.abs(dynamics.gravity(pose))
        jolt = np.maximum(jolt, np.abs(mobility * torque_step).max(axis=1))
        surged = np.abs(mobility * most).max(axis=1)
        surge = np.maximum(surge, surged)
        bandwidth = np.sqrt(stiffness * np.diag(mobility))
        overshoot = max(overshoot, float((OVERSHOOT * surged / bandwidth).max()))
        bandwidth = np.sqrt(softest * np.diag(mobility))
        overshoot_by_hand = max(overshoot_by_hand, float((OVERSHOOT * surged / bandwidth).max()))
        drift = max(drift, drifted(model, dynamics, mobility, pose))
    period = 1.0 / RATE
    return Arm(
        *(robot, dynamics, period, torque_step, give, spring, overshoot, drift),
        *(jolt, surge, coasting, overshoot_by_hand),
    )


def workspace(model: Model, home: Floats) -> Floats:
    """Return poses between which the episodes' arm moves (POSES, n) [rad]."""
    offset = np.random.default_rng(0).uniform(-WORKSPACE, WORKSPACE, (POSES, model.n))
    return np.clip(home + offset, model.lower, model.upper)


def drifted(model: Model, dynamics: Dynamics, mobility: Floats, pose: Floats) -> float:
    """Return how far an arm drifts about a pose that is held by its torque alone [rad].

    About it M dq'' = -dg/dq dq: an error of position grows with cosh(rt), one of velocity with
    sinh(rt) / r, r^2 the largest eigenvalue of -M^-1 dg/dq. Both are what passes unseen within one
    period between joint states in the fastest motion, and in the one that speeds up the most.
    """
    still = np.zeros(model.n)
    slope = dynamics.rnea_derivatives(pose, still, still)[0]
    rate = float(np.sqrt(max(np.linalg.eigvals(-mobility @ slope).real.max(), 1e-6)))
    speed = SHARE_OF_SPEED * model.velocity_limit.max()
    acceleration = PEAK_ACCELERATION / PEAK * speed / SHORTEST_MOTION
    growth = speed * np.cosh(rate * BLIND) + acceleration * np.sinh(rate * BLIND) / rate
    return float(growth / RATE)
