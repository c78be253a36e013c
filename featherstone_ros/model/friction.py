"""Friction of joints: one law, viscous and Coulomb.

    torque = viscous qd + coulomb sign(qd)

A joint at rest sticks: friction balances any torque up to ``coulomb``. ``Simulator`` solves this
exactly (cython_core/dynamics/joint_friction.pxd).

The sign of a measured velocity is meaningless near zero. There Coulomb friction is smoothed to
``coulomb tanh(qd / sliding_speed)``, 76 % of it at the sliding speed: in the observer and in
identification.

A desired motion is known exactly. What the controller compensates, and the check of trajectories
expects, is ``coulomb z`` with the presliding state z, which approaches sign(qd): over a
displacement (parameter ``presliding_displacement``), however slow the motion is (P. R. Dahl, *A
Solid Friction Model*, Aerospace Corporation, 1968), and at rest within ``RELEASE_TIME``. So
friction is compensated until the motion ends, and the arm arrives; then its own friction holds it,
and none that was assumed too large pushes it on. Both are compiled in
cython_core/smooth_friction.pxd, too.

A URDF calls viscous friction ``damping`` and Coulomb friction ``friction``, and so do ``Model`` and
``Simulator``.
"""

from __future__ import annotations

import numpy as np

from featherstone_ros.arrays import Floats

SLIDING_SPEED = 0.02  # [rad/s or m/s]
PRESLIDING_DISPLACEMENT = 1e-4  # [rad or m] over which 63 % of a change of z take place
RELEASE_TIME = 0.05  # [s] likewise, at rest


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


def presliding(
    time: Floats, position: Floats, start: Floats, displacement: float = PRESLIDING_DISPLACEMENT
) -> Floats:
    """Return the presliding states along a desired motion, (N, n) from -1 to 1.

    Args:
        time: (N,) [s].
        position: (N, n) [rad or m].
        start: (n,) the first states; the signs of the velocities where the motion goes on already.
        displacement: Over which the states change [rad or m].
    """
    way = np.diff(position, axis=0)
    passed = np.where(way != 0.0, np.abs(way) / displacement, np.diff(time)[:, None] / RELEASE_TIME)
    kept, sign = np.exp(-passed), np.sign(way)
    states = np.empty_like(position)
    states[0] = start
    for k in range(len(way)):
        states[k + 1] = sign[k] + (states[k] - sign[k]) * kept[k]
    return states
