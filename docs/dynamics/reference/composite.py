"""Composite bodies in the spatial operator algebra: all that a joint carries as one rigid body.

R is block diagonal like M; each block is the inertia of a body and all it carries, with their
joints frozen. Everything else follows from the decomposition
phi M phi* = R + phi~ R + R phi~*, phi~ = phi - 1.
Operators and conventions: ``operators``.
"""

import numpy as np

from reference.operators import STILL, Operators, velocity_terms
from reference.spatial import Floats


def composite_inertias(o: Operators) -> Floats:
    """Return R (6 N, 6 N), block diagonal: the solution of M = R - E_phi R E_phi*.

    This is a Lyapunov equation, solved from the tips, since a block of R needs its children's.

    Args:
        o: ``Operators``.
    """
    R = np.zeros_like(o.M)
    for i in reversed(range(len(o.rows))):
        k = slice(6 * i, 6 * i + 6)
        R[k, k] = o.M[k, k] + o.E_phi[k] @ R @ o.E_phi[k].T
    return R


def decomposition(o: Operators, R: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the three terms of phi M phi* = R + phi~ R + R phi~*, each (6 N, 6 N).

    The first is block diagonal; the second is nonzero where the column's body is beyond the row's;
    the third is its transpose. Blocks of bodies on different branches are zero.

    Args:
        o: ``Operators``.
        R: Their ``composite_inertias``.
    """
    phi_tilde = o.phi - np.eye(len(o.phi))
    return R, phi_tilde @ R, R @ phi_tilde.T


def mass_matrix(o: Operators) -> Floats:
    """Return the joint-space inertia (n, n) = H R H* + H phi~ R H* + (H phi~ R H*)*.

    Computed block by block this is RBDA's composite-rigid-body algorithm.
    """
    own, beyond, transpose = decomposition(o, composite_inertias(o))
    return o.H @ (own + beyond + transpose) @ o.H.T


def trace(o: Operators) -> float:
    """Return the trace of the joint-space inertia, the sum of Trace(H_i R_i H_i*) over joints.

    Each block is as large as joint i has degrees of freedom; phi~ contributes nothing.
    """
    return np.trace(o.H @ composite_inertias(o) @ o.H.T)


def inverse_dynamics(
    o: Operators,
    qd: Floats,
    qdd: Floats,
    alpha_0: Floats = STILL,
    f_x: Floats | float = 0.0,
    V_0: Floats = STILL,
) -> tuple[Floats, Floats]:
    """Return f (6 N,) and tau (n,) by composite bodies: f = R alpha + y.

    R alpha is the force on all that a joint carries if it were rigid; y = E_phi (y + R w) + b - f_x
    corrects it, from the tips, for the motion of the joints within: w = H* qdd + a is the
    acceleration across a joint. This follows from the decomposition, with
    alpha = phi* (w + E_0* alpha_0) and E_phi phi = phi~.

    Args:
        o: ``Operators``.
        qd: (n,) joint velocities.
        qdd: (n,) accelerations.
        alpha_0: (6,) the base's spatial acceleration, in its frame.
        f_x: (6 N,) external forces on the bodies, in their frames.
        V_0: (6,) the base's velocity, in its frame.
    """
    R = composite_inertias(o)
    a, b = velocity_terms(o, qd, V_0)
    w = o.H.T @ qdd + a
    alpha = o.phi.T @ (w + o.E_0.T @ alpha_0)
    b, y = b - f_x, np.zeros_like(b)
    for i in reversed(range(len(o.rows))):
        k = slice(6 * i, 6 * i + 6)
        y[k] = o.E_phi[k] @ (y + R @ w) + b[k]
    f = R @ alpha + y
    return f, o.H @ f
