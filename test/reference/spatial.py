"""Spatial vectors as 6-vectors and 6x6 matrices: RBDA chapter 2.

A motion vector is [angular, linear], a force vector [moment, force], both at the origin of their
frame and in its axes. If frame B has its origin at r in frame A, and E turns
A's coordinates into B's, then BXA = rot(E) @ xlt(r) takes motions from A to B, BXA.T takes forces
from B to A, and dual(BXA) takes forces from A to B.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


def skew(r: ArrayLike) -> Floats:
    """Return the matrix (3, 3) whose product with v is r x v. RBDA section 2.8."""
    x, y, z = np.asarray(r)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def of_skew(R: Floats) -> Floats:
    """Return r (3,) of the matrix skew(r)."""
    return np.array([R[2, 1], R[0, 2], R[1, 0]])


def turn(axis: ArrayLike, angle: float) -> Floats:
    """Return E (3, 3), the coordinates in a frame turned by ``angle`` [rad] about a unit ``axis``.

    E v are a vector's coordinates in the turned frame; E.T is the rotation itself (Rodrigues).
    """
    K = skew(axis)
    return np.eye(3) - np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def rot(E: Floats) -> Floats:
    """Return the motion transform to axes turned by E (3, 3). RBDA section 2.8."""
    return np.block([[E, np.zeros((3, 3))], [np.zeros((3, 3)), E]])


def xlt(r: Floats) -> Floats:
    """Return the motion transform to an origin shifted by r (3,) [m]. RBDA section 2.8."""
    return np.block([[np.eye(3), np.zeros((3, 3))], [-skew(r), np.eye(3)]])


def parts_of(X: Floats) -> tuple[Floats, Floats]:
    """Return E (3, 3) and r (3,) of a motion transform X = rot(E) @ xlt(r)."""
    E = X[:3, :3]
    return E, of_skew(-E.T @ X[3:, :3])


def dual(X: Floats) -> Floats:
    """Return X*, which transforms forces as X transforms motions: the inverse transpose of X."""
    X_star = X.copy()
    X_star[:3, 3:] = X[3:, :3]
    X_star[3:, :3] = 0.0
    return X_star


def inverse(X: Floats) -> Floats:
    """Return the transform back: the inverse of X."""
    return dual(X).T


def crm(v: Floats) -> Floats:
    """Return v x, the cross product of a motion with motions, as a (6, 6) matrix. RBDA eq. 2.31."""
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def crf(v: Floats) -> Floats:
    """Return v x*, the cross product of a motion with forces, as a (6, 6) matrix. RBDA eq. 2.32."""
    return -crm(v).T


def mcI(m: float, c: Floats, I_C: Floats) -> Floats:
    """Return the spatial inertia (6, 6) of a rigid body. RBDA equation 2.63.

    Args:
        m: Mass [kg].
        c: (3,) centre of mass [m].
        I_C: (3, 3) rotational inertia about the centre of mass [kg m^2].
    """
    C = skew(c)
    return np.block([[I_C + m * C @ C.T, m * C], [m * C.T, m * np.eye(3)]])
