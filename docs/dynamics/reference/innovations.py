"""Articulated bodies in the spatial operator algebra: the mass matrix in factors, and its inverse.

The dynamics of a chain has the structure of Kalman filtering: the articulated inertia P plays the
error covariance, K the gain and D the variance of the innovations; filtering runs from the tips to
the base, smoothing back. G. Rodriguez, Kalman filtering, smoothing, and recursive robot arm forward
and inverse dynamics, 1987. Operators and conventions: ``operators``; matrices that are lower
triangular in the paper are upper triangular here.
"""

from dataclasses import dataclass

import numpy as np

from reference.operators import STILL, Operators, block_diagonal, velocity_terms
from reference.spatial import Floats


@dataclass(frozen=True, eq=False)
class Innovations:
    """The articulated-body operators of a tree, in addition to its ``Operators``.

    Attributes:
        P: (6 N, 6 N) block diagonal, the articulated inertias: RBDA's IA.
        D: (n, n) block diagonal, H P H*: the inertia about each joint, those beyond it free; a
            scalar for a joint with one degree of freedom.
        G: (6 N, n) block diagonal, P H* D^-1: a free joint transmits the part 1 - G H of a force.
        K: (6 N, n) = E_phi G, the gain: the parent's load per torque of a joint.
        E_psi: (6 N, 6 N) = E_phi (1 - G H), forces of children to parents through free joints.
        psi: (6 N, 6 N) = (1 - E_psi)^-1, as phi is of E_phi.
    """

    P: Floats
    D: Floats
    G: Floats
    K: Floats
    E_psi: Floats
    psi: Floats


def articulate(o: Operators) -> Innovations:
    """Return the ``Innovations`` of ``Operators``.

    P solves the Riccati equation M = P - E_phi (P - P H* D^-1 H P) E_phi*, D = H P H*, which is
    also M = P - E_psi P E_psi*: from the tips, as a block of P needs those of its children.
    """
    one = np.eye(len(o.M))
    P, D, G = np.zeros_like(o.M), np.zeros((len(o.H), len(o.H))), np.zeros_like(o.H.T)
    for i, r in reversed(list(enumerate(o.rows))):
        k = slice(6 * i, 6 * i + 6)
        P[k, k] = o.M[k, k] + o.E_phi[k] @ (P - G @ D @ G.T) @ o.E_phi[k].T
        D[r, r] = o.H[r] @ P @ o.H[r].T
        G[:, r] = P @ o.H[r].T @ np.linalg.inv(D[r, r])
    E_psi = o.E_phi @ (one - G @ o.H)
    return Innovations(P, D, G, o.E_phi @ G, E_psi, np.linalg.inv(one - E_psi))


def factors(o: Operators, x: Innovations) -> tuple[Floats, Floats]:
    """Return L (n, n) = 1 + H phi K and D: the mass matrix is L D L*.

    L is triangular with ones on its diagonal, and square, unlike the factors of H phi M phi* H*.

    Args:
        o: ``Operators``.
        x: Their ``Innovations``.
    """
    return np.eye(len(o.H)) + o.H @ o.phi @ x.K, x.D


def inverse_factors(o: Operators, x: Innovations) -> tuple[Floats, Floats]:
    """Return L^-1 (n, n) = 1 - H psi K and D^-1: the inverse of the mass matrix is L^-* D^-1 L^-1.

    Only the blocks of D are inverted: scalars, for joints with one degree of freedom.
    """
    blocks = [np.linalg.inv(x.D[r, r]) for r in o.rows]
    return np.eye(len(o.H)) - o.H @ x.psi @ x.K, block_diagonal(blocks)


def mass_matrix(o: Operators) -> Floats:
    """Return the joint-space inertia (n, n) = (1 + H phi K) D (1 + H phi K)*."""
    L, D = factors(o, articulate(o))
    return L @ D @ L.T


def inverse_mass_matrix(o: Operators) -> Floats:
    """Return its inverse (n, n) = (1 - H psi K)* D^-1 (1 - H psi K)."""
    L_inverse, D_inverse = inverse_factors(o, articulate(o))
    return L_inverse.T @ D_inverse @ L_inverse


def inward(
    o: Operators, x: Innovations, tau: Floats, a: Floats, b: Floats
) -> tuple[Floats, Floats]:
    """Return z (6 N,) and e (n,): the inward sweep of the articulated-body algorithm.

        z = psi (K tau + P a + b)      e = tau - H z, the innovations

    z_i is the force across joint i if its own qdd and its parent's acceleration were zero and all
    joints beyond it free under their torques.

    Args:
        o: ``Operators``.
        x: Their ``Innovations``.
        tau: (n,) torques [N m or N].
        a: (6 N,) accelerations at qdd = 0, the base's included.
        b: (6 N,) gyroscopic less external forces.
    """
    z = x.psi @ (x.K @ tau + x.P @ a + b)
    return z, tau - o.H @ z


def forward_dynamics(
    o: Operators,
    qd: Floats,
    tau: Floats,
    alpha_0: Floats = STILL,
    f_x: Floats | float = 0.0,
    V_0: Floats = STILL,
) -> Floats:
    """Return qdd (n,) = M^-1 (tau - C) without C: both sweeps of the articulated-body algorithm.

    qdd = (1 - H psi K)* D^-1 e - K* psi* a, with e of ``inward``.

    a includes the base's acceleration. With H psi = (1 - H psi K) H phi and psi M phi* =
    psi P + P phi~* (from the Riccati equation as M = P - E_psi P E_phi*), and with H P = D G*,
    (1 - H psi K) (tau - C) = e - D K* phi* a; and (1 - H psi K)* K* phi* = K* psi*.

    Args:
        o: ``Operators``.
        qd: (n,) joint velocities.
        tau: (n,) torques [N m or N].
        alpha_0: (6,) the base's spatial acceleration, in its frame.
        f_x: (6 N,) external forces on the bodies, in their frames.
        V_0: (6,) the base's velocity, in its frame.
    """
    x = articulate(o)
    L_inverse, D_inverse = inverse_factors(o, x)
    a, b = velocity_terms(o, qd, V_0)
    a = a + o.E_0.T @ alpha_0
    _, e = inward(o, x, tau, a, b - f_x)
    return L_inverse.T @ D_inverse @ e - x.K.T @ x.psi.T @ a


def compliance(o: Operators) -> Floats:
    """Return Omega (6 N, 6 N) = psi* H* D^-1 H psi: accelerations of bodies per force on bodies.

    It equals phi* H* M^-1 H phi, without M^-1. Its diagonal blocks are ``articulated.mobility``;
    the others give the acceleration of one body per force on another.
    """
    x = articulate(o)
    _, D_inverse = inverse_factors(o, x)
    return x.psi.T @ o.H.T @ D_inverse @ o.H @ x.psi
