"""Friction of joints: one law.

    torque = viscous qd / (1 + thinning |qd|) + (coulomb + load |torque of the links|) z

Viscous friction grows ever more slowly with the speed if the lubricant is thinned by shear, and dry
friction with the load on the gear. Both parameters are often 0: viscous and Coulomb friction.

z, from -1 to 1, is the presliding state: it approaches the sign of the motion over a displacement,
however slow the motion is (P. R. Dahl, *A Solid Friction Model*, Aerospace Corporation, 1968):

    dz = (sign(dq) - z) (1 - exp(-|dq| / displacement))

So a joint that is held keeps the friction with which it came to rest, or creeps from it over
fractions of a millirad, as real gears do. Identification drives z with the measured motion.
The controller, and the check of trajectories, drive it with the desired one, and let it go at rest
within ``RELEASE_TIME``: the arm arrives, then its own friction holds it, and none that was assumed
too large pushes it on (cython_core/smooth_friction.pxd).

A simulated joint at rest sticks: dry friction balances any torque up to its limit. ``Simulator``
solves this exactly (cython_core/dynamics/joint_friction.pxd). The shadow knows of a joint at rest
only that its dry friction lies between the two limits (cython_core/observer/effort.pxd).

A URDF calls viscous friction ``damping`` and Coulomb friction ``friction``, and so do ``Model`` and
``Simulator``.
"""

from __future__ import annotations

import numpy as np

from featherstone_ros._core import presliding_states, release_time
from featherstone_ros.arrays import Floats

SLIDING_SPEED = 0.02  # [rad/s or m/s]
PRESLIDING_DISPLACEMENT = 1e-4  # [rad or m] over which 63 % of a change of z take place
RELEASE_TIME = release_time  # [s] likewise, at rest


def viscous_speed(velocity: Floats, thinning: Floats | float) -> Floats:
    """Return the factor of viscous friction: the velocity, less where shear thins the lubricant.

    ``velocity`` (..., n) [rad/s or m/s]. ``thinning`` (n,) reciprocal of the speed at which half of
    it is left [s/rad or s/m].
    """
    return velocity / (1.0 + thinning * np.abs(velocity))


def smooth_sign(velocity: Floats) -> Floats:
    """Return the sign of a velocity (..., n), smooth through zero: 76 % at ``SLIDING_SPEED``."""
    return np.tanh(velocity / SLIDING_SPEED)


def presliding(
    position: Floats,
    displacement: float = PRESLIDING_DISPLACEMENT,
    start: Floats | float = 0.0,
    time: Floats | None = None,
) -> Floats:
    """Return the presliding states along a motion, (N, n) from -1 to 1.

    ``position`` (N, n) [rad or m]. ``displacement``: over which the states change [rad or m].
    ``start`` (n,) the first states; the signs of the velocities where the motion goes on already.
    ``time`` (N,) [s]; given, joints at rest are released, as the controller does.
    """
    first = np.broadcast_to(np.asarray(start, float), np.shape(position)[1:])
    at = None if time is None else np.asarray(time, float)
    return presliding_states(np.asarray(position, float), displacement, first, at)
