"""The equation of motion as formulas: M(q) qdd + V(q, qd) + G(q) = tau, after Lagrange.

Everything is computed from the links' Jacobians and their derivatives, which are cross products of
their columns, without finite differences. C(q) multiplies the squares of velocities, B(q) their
products: J. Craig, Introduction to Robotics, section 6.8 (his configuration-space equation).
Vectors are in the base's axes; indices run over all N joints (``Robot.expand`` and ``reduce``).
"""

import numpy as np

from reference.inertia import turned
from reference.robot import BASE, Robot
from reference.spatial import Floats, skew


def link_jacobians(robot: Robot, q: Floats) -> tuple[Floats, Floats]:
    """Return J_v and J_w (N, 3, N): of each link's centre of mass, and of its angular velocity.

    Column k is the link's velocity when joint k moves at unit rate: zero unless joint k carries the
    link. A revolute joint gives the angular velocity z along its axis and moves the centre of mass
    c at z x (c - p), with p a point on the axis; a prismatic joint gives the velocity z.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
    """
    R, p = robot.poses(q)
    J_v, J_w = np.zeros((2, robot.N, 3, robot.N))
    for i in range(robot.N):
        c = p[i] + R[i] @ robot.c[i]
        k = i
        while k != BASE:
            angular, linear = robot.motion[k]
            z = R[k] @ robot.axis[k]
            J_w[i, :, k] = angular * z
            J_v[i, :, k] = angular * np.cross(z, c - p[k]) + linear * z
            k = robot.parent[k]
    return J_v, J_w


def link_inertias(robot: Robot, q: Floats) -> Floats:
    """Return the rotational inertias (N, 3, 3) about the centres of mass, in the base's axes."""
    R, _ = robot.poses(q)
    return np.array([turned(robot.I_C[i], R[i]) for i in range(robot.N)])


def inertia(robot: Robot, q: Floats) -> Floats:
    """Return M (N, N) = sum over links of m J_v^T J_v + J_w^T I_C J_w.

    The kinetic energy of the links is qd^T M qd / 2.
    """
    m, I_C = robot.m, link_inertias(robot, q)
    J_v, J_w = link_jacobians(robot, q)
    M = np.zeros((robot.N, robot.N))
    for i in range(robot.N):
        M += m[i] * J_v[i].T @ J_v[i] + J_w[i].T @ I_C[i] @ J_w[i]
    return M


def inertia_derivatives(robot: Robot, q: Floats) -> Floats:
    """Return m_ijk (N, N, N), the derivative of m_ij by q_k.

    At unit rate, joint k turns all that it carries with w, column k of J_w. The column of a joint j
    that it carries turns with it: w x column j. If, conversely, joint j carries joint k, then joint
    k only moves the centre of mass, by column k of J_v: w_j x column k. Of two joints that both
    move a link, the one with the lower number carries the other.
    """
    m, I_C = robot.m, link_inertias(robot, q)
    J_v, J_w = link_jacobians(robot, q)
    m_ijk = np.zeros((robot.N, robot.N, robot.N))
    for i, k in np.ndindex(robot.N, robot.N):
        w = skew(J_w[i, :, k])
        dJ_v = np.hstack([-skew(J_v[i, :, k]) @ J_w[i, :, :k], w @ J_v[i, :, k:]])
        dJ_w = np.hstack([np.zeros((3, k)), w @ J_w[i, :, k:]])
        dI_C = w @ I_C[i] - I_C[i] @ w
        half = m[i] * dJ_v.T @ J_v[i] + dJ_w.T @ I_C[i] @ J_w[i]
        m_ijk[:, :, k] += half + half.T + J_w[i].T @ dI_C @ J_w[i]
    return m_ijk


def christoffel(m_ijk: Floats) -> Floats:
    """Return b_ijk (N, N, N) = (m_ijk + m_ikj - m_jki) / 2: Christoffel symbols, first kind.

    The first index is the row of the equation of motion, the last two are the velocities', in
    either order: b_ijk = b_ikj. Differential geometry writes [jk, i] or Gamma_ijk.
    """
    return (m_ijk + m_ijk.transpose(0, 2, 1) - m_ijk.transpose(2, 0, 1)) / 2


def centrifugal(b: Floats) -> Floats:
    """Return C(q) (N, N), which multiplies [qd^2] = (qd_1^2, ..., qd_N^2): column j is b_ijj."""
    return np.einsum("ijj->ij", b)


def coriolis(b: Floats) -> Floats:
    """Return B(q) (N, N (N - 1) / 2), which multiplies [qd qd]: columns 2 b_ijk for j < k."""
    j, k = np.triu_indices(len(b), 1)
    return 2 * b[:, j, k]


def products(qd: Floats) -> Floats:
    """Return [qd qd] (N (N - 1) / 2,) = (qd_1 qd_2, qd_1 qd_3, ..., qd_1 qd_N, qd_2 qd_3, ...)."""
    j, k = np.triu_indices(len(qd), 1)
    return qd[j] * qd[k]


def coriolis_matrix(b: Floats, qd: Floats) -> Floats:
    """Return C(q, qd) (N, N) = sum over k of b_ijk qd_k: V = C(q, qd) qd.

    Other matrices have the same product with qd. This one makes dM/dt - 2 C skew-symmetric: its
    entry is the sum of (m_jki - m_ikj) qd_k, which changes sign when i and j are exchanged.
    """
    return b @ qd


def velocity_terms(robot: Robot, q: Floats, qd: Floats) -> Floats:
    """Return V (N,) = C(q) [qd^2] + B(q) [qd qd]: centrifugal and Coriolis torques."""
    b = christoffel(inertia_derivatives(robot, q))
    return centrifugal(b) @ qd**2 + coriolis(b) @ products(qd)


def gravity(robot: Robot, q: Floats) -> Floats:
    """Return G (N,) = - sum over links of J_v^T m g."""
    J_v, _ = link_jacobians(robot, q)
    G = np.zeros(robot.N)
    for i in range(robot.N):
        G -= J_v[i].T @ (robot.m[i] * robot.gravity)
    return G


def inverse_dynamics(robot: Robot, q: Floats, qd: Floats, qdd: Floats) -> Floats:
    """Return tau (N,) = M(q) qdd + V(q, qd) + G(q)."""
    return inertia(robot, q) @ qdd + velocity_terms(robot, q, qd) + gravity(robot, q)
