"""Momentum of a tree whose base may float, in the spatial operator algebra.

Velocities and momenta are about the base's origin, in its axes, angular part first. In this moving
frame the momentum h of a free robot changes at the rate - V_0 x* h; in a frame at rest the linear
momentum and the angular momentum about the centre of mass are conserved. A robot that starts from
rest has h = 0 in any frame: when its joints move, its base must move too. Operators and
conventions: ``operators``.
"""

import numpy as np

from reference.composite import composite_inertias
from reference.operators import STILL, Operators, velocities
from reference.spatial import Floats, dual, of_skew, xlt


def momentum(o: Operators, qd: Floats, V_0: Floats = STILL) -> Floats:
    """Return the spatial momentum (6,) h = M_0 V_0 + E_0 phi M V of base and bodies.

    Args:
        o: ``Operators``.
        qd: (N,) joint velocities.
        V_0: (6,) velocity of the base.
    """
    return o.M_0 @ V_0 + o.E_0 @ o.phi @ o.M @ velocities(o, qd, V_0)


def locked_inertia(o: Operators) -> Floats:
    """Return R_0 (6, 6) = M_0 + E_0 R E_0*, the inertia of the whole robot, its joints frozen."""
    return o.M_0 + o.E_0 @ composite_inertias(o) @ o.E_0.T


def momentum_matrix(o: Operators) -> Floats:
    """Return A (6, N) = E_0 phi R H*, the momentum per joint velocity with the base fixed.

    So h = R_0 V_0 + A qd. Each joint moves all it carries as one body.
    """
    return o.E_0 @ o.phi @ composite_inertias(o) @ o.H.T


def centre_of_mass_velocity(o: Operators, qd: Floats, V_0: Floats = STILL) -> Floats:
    """Return the velocity (3,) [m/s] of the robot's centre of mass: linear momentum over mass."""
    mass = locked_inertia(o)[5, 5]
    return momentum(o, qd, V_0)[3:] / mass


def centre_of_mass(o: Operators) -> Floats:
    """Return the position (3,) [m] of the robot's centre of mass, from its first moment in R_0."""
    R_0 = locked_inertia(o)
    return of_skew(R_0[:3, 3:]) / R_0[5, 5]


def centroidal_momentum(o: Operators, qd: Floats, V_0: Floats = STILL) -> Floats:
    """Return h (6,) about the centre of mass, in the base's axes: angular, then linear part."""
    return dual(xlt(centre_of_mass(o))) @ momentum(o, qd, V_0)


def centre_of_mass_spatial_velocity(o: Operators, qd: Floats, V_0: Floats = STILL) -> Floats:
    """Return V_C (6,) = R_0^-1 h in the base's frame, the velocity of the robot as a whole.

    As one body, its joints frozen, it would have the same momentum at V_C. A base that moves at
    V_0 - V_C instead leaves no momentum. At the centre of mass, xlt(``centre_of_mass``) V_C, the
    linear half is ``centre_of_mass_velocity``, the angular half the average angular velocity.
    """
    return np.linalg.solve(locked_inertia(o), momentum(o, qd, V_0))


def base_velocity(o: Operators, qd: Floats, h: Floats) -> Floats:
    """Return V_0 (6,) = R_0^-1 (h - A qd), which makes the momentum h: a momentum reset.

    It corrects a momentum that should be conserved but has drifted in a simulation.

    Args:
        o: ``Operators``.
        qd: (n,) joint velocities.
        h: (6,) momentum, about the base's origin and in its axes.
    """
    return np.linalg.solve(locked_inertia(o), h - momentum_matrix(o) @ qd)


def nulling_base_velocity(o: Operators, qd: Floats) -> Floats:
    """Return V_0 (6,) = -R_0^-1 A qd: a free base's velocity for joint rates qd, from rest.

    This base velocity makes the momentum zero and the kinetic energy least.

    Args:
        o: ``Operators``.
        qd: (n,) joint velocities.
    """
    return base_velocity(o, qd, STILL)
