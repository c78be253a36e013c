"""External joint torque by the generalised-momentum observer.

De Luca and Mattone, Sensorless robot collision detection and hybrid force/motion control, ICRA
2005; De Luca, Albu-Schaeffer, Haddadin and Hirzinger, Collision detection and safe reaction with
the DLR-III lightweight manipulator arm, IROS 2006.

With p = (H + armature) qd, and Hdot = C + C^T for Christoffel's C, the equation of motion is

    (1) pdot = beta + tau_ext,    beta = tau - friction + C^T qd - g,

which needs no acceleration. The observer r = K (p - p(0) - integral of (beta + r)) obeys

    (2) rdot = K (tau_ext - r).

Over a time dt in which tau_ext is constant, (1) gives it as the mean d, and (2) is solved exactly:

    (3) d = (p_k - p_k-1) / dt - mean of beta,
    (4) r_k = r_k-1 + (1 - exp(-K dt)) (d - r_k-1).

(3) takes the mean of beta as that of its two ends. Unlike (2) integrated by Euler's rule, (4) is
stable and has the time constant 1 / K at any dt, also if every dt is another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros.observer.friction import JointFriction

Floats = NDArray[np.float64]


class MomentumObserver:
    """First order, one gain per joint; all arrays are (n,) in joint order.

    Attributes:
        external_torque: r, the torque by which the world acts on the joints [N m or N].
    """

    def __init__(
        self, dynamics: Dynamics, gain: Floats, friction: JointFriction, armature: Floats
    ) -> None:
        """Take model and gains.

        Args:
            dynamics: Of the rigid bodies.
            gain: K [1/s], positive.
            friction: Of the joints.
            armature: Inertia of the drives as the joints feel it [kg m^2 or kg].
        """
        self._dynamics = dynamics
        self._gain = gain
        self._friction = friction
        self._armature = armature
        self.external_torque = np.zeros_like(gain)

    def start(self, q: Floats, qd: Floats, torque: Floats) -> None:
        """Begin anew at a state, as if nothing acted on the arm."""
        self.external_torque = np.zeros_like(self._gain)
        self._p, self._beta = self._momentum(q, qd), self._known(q, qd, torque)

    def update(self, dt: float, q: Floats, qd: Floats, torque: Floats) -> Floats:
        """Go on to the next state; return the external torque.

        Args:
            dt: Time since the state before [s], positive.
            q: Measured position [rad or m].
            qd: Measured velocity [rad/s or m/s].
            torque: Joint torque by the drives [N m or N].
        """
        p, beta = self._momentum(q, qd), self._known(q, qd, torque)
        d = (p - self._p) / dt - 0.5 * (self._beta + beta)
        r = self.external_torque
        self.external_torque = r - np.expm1(-self._gain * dt) * (d - r)
        self._p, self._beta = p, beta
        return self.external_torque

    def _momentum(self, q: Floats, qd: Floats) -> Floats:
        return self._dynamics.crba(q) @ qd + self._armature * qd

    def _known(self, q: Floats, qd: Floats, torque: Floats) -> Floats:
        """Return beta: the rate of the momentum if nothing acts from outside."""
        C = self._dynamics.coriolis(q, qd)
        return torque - self._friction(qd) + C.T @ qd - self._dynamics.gravity(q)
