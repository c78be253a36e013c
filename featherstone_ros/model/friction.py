"""Friction of joints: one law, viscous and Coulomb.

    torque = viscous qd + coulomb sign(qd)

A joint at rest sticks: friction balances any torque up to ``coulomb``. ``Simulator`` solves this
exactly (cython_core/dynamics/joint_friction.pxd).

The sign of a measured or desired velocity is meaningless near zero. There Coulomb friction is
smoothed to ``coulomb tanh(qd / sliding_speed)``, 76 % of it at the sliding speed: in the
controller's compensation (parameter ``friction_velocity``), the check of trajectories, the observer
and identification. The compiled version is in cython_core/smooth_friction.pxd.

A URDF calls viscous friction ``damping`` and Coulomb friction ``friction``, and so do ``Model`` and
``Simulator``.
"""

from __future__ import annotations

import numpy as np

from featherstone_ros.arrays import Floats

SLIDING_SPEED = 0.02  # [rad/s or m/s]


def smooth_sign(velocity: Floats, sliding_speed: float = SLIDING_SPEED) -> Floats:
    """Return tanh(velocity / sliding_speed): the sign of a velocity, smooth through zero."""
    return np.tanh(velocity / sliding_speed)


def friction_torque(
    velocity: Floats, viscous: Floats, coulomb: Floats, sliding_speed: float = SLIDING_SPEED
) -> Floats:
    """Return the friction torque.

    Args:
        velocity: (n,) or (N, n) [rad/s or m/s].
        viscous: (n,) [N m s/rad or N s/m].
        coulomb: (n,) [N m or N].
        sliding_speed: Speed at which 76 % of Coulomb friction acts [rad/s or m/s].

    Returns:
        As ``velocity`` [N m or N].
    """
    return viscous * velocity + coulomb * smooth_sign(velocity, sliding_speed)
