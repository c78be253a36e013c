"""The three control laws: what effort the model and the gains ask for.

Siciliano, Sciavicco, Villani, Oriolo, *Robotics: Modelling, Planning and Control*, sections 8.5 and
8.6; here the model torque comes from the recursive Newton-Euler algorithm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import _control
from featherstone_ros.control.dynamics_blend import DynamicsBlend
from featherstone_ros.control.settings import Mode, Settings, Terms

Floats = NDArray[np.float64]


class ControlLaws:
    """The laws with their gains; all arrays are (n,) in joint order.

    ``desired`` is (3, n): position, velocity and acceleration. Results are in memory that the next
    call overwrites.
    """

    def __init__(self, dynamics: DynamicsBlend, settings: Settings) -> None:
        """Take gains and model.

        Args:
            dynamics: Inverse dynamics.
            settings: Gains, friction, mode.
        """
        n = settings.n
        self._acceleration = np.zeros(n)
        self._dynamics = dynamics
        self._torque = np.zeros(n)
        self.configure(settings)

    def configure(self, settings: Settings) -> None:
        """Take other gains."""
        self._settings = settings

    def torque(self, q: Floats, qd: Floats, desired: Floats) -> Floats:
        """Return the effort that the mode in force asks for (n,) [N m] or [N]."""
        mode = self._settings.mode
        if mode is Mode.FEEDFORWARD:
            return self.feedforward(q, qd, desired)
        if mode is Mode.COMPUTED_TORQUE:
            return self.computed_torque(q, qd, desired)
        return self.gravity_compensation(q, qd)

    def gravity_compensation(self, q: Floats, qd: Floats) -> Floats:
        """Return g(q) - D qd."""
        return self.gravity_hold(q, qd, 1.0)

    def feedforward(self, q: Floats, qd: Floats, desired: Floats) -> Floats:
        """Return RNEA(q_d, qd_d, qdd_d) + drives(qd_d, qdd_d) + Kp e + Kd ed."""
        torque = self.model_torque(desired)
        return self._add_feedback(torque, q, qd, desired, torque)

    def computed_torque(self, q: Floats, qd: Floats, desired: Floats) -> Floats:
        """Return RNEA(q, qd, a) + drives(qd_d, a) with a = qdd_d + Kp e + Kd ed."""
        acceleration = self._add_feedback(desired[2], q, qd, desired, self._acceleration)
        torque = self._dynamics.rnea(q, qd, acceleration, self._torque)
        self._add_drives(desired[1], acceleration, torque)
        return torque

    def model_torque(self, desired: Floats) -> Floats:
        """Return what the model asks for along the desired motion, without feedback."""
        terms = self._settings.feedforward_terms
        if terms is Terms.FULL or self._settings.mode is Mode.COMPUTED_TORQUE:
            return self.motion_torque(desired)
        if terms is Terms.GRAVITY:
            return self._dynamics.gravity(desired[0], self._torque)
        self._torque[:] = 0.0
        return self._torque

    def motion_torque(self, desired: Floats) -> Floats:
        """Return RNEA(q_d, qd_d, qdd_d) + drives(qd_d, qdd_d): all that a motion takes."""
        position, velocity, acceleration = desired
        torque = self._dynamics.rnea(position, velocity, acceleration, self._torque)
        self._add_drives(velocity, acceleration, torque)
        return torque

    def gravity_hold(self, q: Floats, qd: Floats, damping: float) -> Floats:
        """Return g(q) - damping * D qd: what holds the arm without asking it to be anywhere."""
        torque = self._dynamics.gravity(q, self._torque)
        _control.add_damping(self._settings.damping, damping, qd, torque)
        return torque

    def _add_feedback(
        self, start: Floats, q: Floats, qd: Floats, desired: Floats, out: Floats
    ) -> Floats:
        """Return start + Kp e + Kd ed, in ``out``."""
        settings = self._settings
        _control.add_feedback(start, desired, q, qd, settings.p, settings.d, out)
        return out

    def _add_drives(self, velocity: Floats, acceleration: Floats, torque: Floats) -> None:
        """Add what the drives need for themselves: rotor inertia, viscous and Coulomb friction.

        Coulomb's is smoothed by a hyperbolic tangent. The velocity is the desired one: friction
        cannot be over-compensated into a limit cycle.
        """
        its = self._settings
        _control.add_drives(
            velocity,
            acceleration,
            its.armature,
            its.viscous,
            its.coulomb,
            its.friction_velocity,
            torque,
        )
