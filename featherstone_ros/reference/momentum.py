"""Momentum of a tree whose base may float, in the spatial operator algebra.

Velocities and momenta are the base's and about its origin, in its axes, angular part first. Nothing
outside acts on a robot in space, so its momentum is what it was: where the joints move, the base
must. Operators and conventions: ``operators``.
"""

import numpy as np

from featherstone_ros.reference.composite import composite_inertias
from featherstone_ros.reference.operators import STILL, velocities


def momentum(o, qd, V_0=STILL):
    """Return the spatial momentum (6,) h = M_0 V_0 + E_0 phi M V of base and bodies.

    Args:
        o: ``Operators``.
        qd: (N,) joint velocities.
        V_0: (6,) velocity of the base.
    """
    return o.M_0 @ V_0 + o.E_0 @ o.phi @ o.M @ velocities(o, qd, V_0)


def locked_inertia(o):
    """Return R_0 (6, 6) = M_0 + E_0 R E_0*, the inertia of the whole robot, its joints frozen."""
    return o.M_0 + o.E_0 @ composite_inertias(o) @ o.E_0.T


def momentum_matrix(o):
    """Return A (6, N) = E_0 phi R H*, the momentum per joint velocity where the base is fixed.

    So h = R_0 V_0 + A qd. Each joint moves all it carries as one body.
    """
    return o.E_0 @ o.phi @ composite_inertias(o) @ o.H.T


def centre_of_mass_velocity(o, qd, V_0=STILL):
    """Return the velocity (3,) [m/s] of the robot's centre of mass: linear momentum over mass."""
    mass = locked_inertia(o)[5, 5]
    return momentum(o, qd, V_0)[3:] / mass


def nulling_base_velocity(o, qd):
    """Return V_0 (6,) = -R_0^-1 A qd: how a base in space moves when its joints do, from rest.

    Of all velocities of the base, this one makes the momentum zero, and the kinetic energy least.

    Args:
        o: ``Operators``.
        qd: (N,) joint velocities.
    """
    return -np.linalg.solve(locked_inertia(o), momentum_matrix(o) @ qd)
