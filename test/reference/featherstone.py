"""Featherstone's three algorithms, row by row as in RBDA's tables 5.1, 6.2 and 7.1.

R. Featherstone, Rigid Body Dynamics Algorithms, 2008. The lines are the rows of the tables'
algorithm column, in order, in the book's symbols. Joints have one degree of freedom and an axis
fixed in the body's frame, so vJ = S qd, cJ = 0, and D and u are scalars. Positions, velocities,
accelerations and torques are those of all N joints (``Robot.expand`` and ``reduce``). The base's
row starts the recursion in v and a; in f, Ic, IA and pA it holds the load on the base.
"""

import numpy as np

from reference.robot import BASE, Robot, Wrenches
from reference.spatial import Floats, crf, crm, dual


def rnea(robot: Robot, q: Floats, qd: Floats, qdd: Floats, f_ext: Wrenches | None = None) -> Floats:
    """Return tau (N,), inverse dynamics by the recursive Newton-Euler algorithm. RBDA Table 5.1.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        qdd: (N,) accelerations.
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.
    """
    N, parent, Xtree, I = robot.N, robot.parent, robot.Xtree, robot.I
    S, v, a, f = np.zeros((4, N + 1, 6), I.dtype)
    Xup, X0 = np.zeros((2, N + 1, 6, 6), I.dtype)
    f_x = robot.base_forces(f_ext, q)
    tau = np.zeros(N, I.dtype)

    X0[BASE] = np.eye(6)
    v[BASE] = 0
    a[BASE, 3:] = -robot.gravity
    for i in range(N):
        XJ, S[i] = robot.jcalc(i, q[i])
        vJ = S[i] * qd[i]
        Xup[i] = XJ @ Xtree[i]
        X0[i] = Xup[i] @ X0[parent[i]]
        v[i] = Xup[i] @ v[parent[i]] + vJ
        a[i] = Xup[i] @ a[parent[i]] + S[i] * qdd[i] + crm(v[i]) @ vJ
        f[i] = I[i] @ a[i] + crf(v[i]) @ I[i] @ v[i] - dual(X0[i]) @ f_x[i]
    for i in reversed(range(N)):
        tau[i] = S[i] @ f[i]
        f[parent[i]] += Xup[i].T @ f[i]
    return tau


def crba(robot: Robot, q: Floats) -> Floats:
    """Return H (N, N), the joint-space inertia, by composite bodies. RBDA Table 6.2.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
    """
    N, parent, Xtree = robot.N, robot.parent, robot.Xtree
    S, Xup = np.zeros((N, 6), robot.I.dtype), np.zeros((N, 6, 6), robot.I.dtype)
    H = np.zeros((N, N), robot.I.dtype)

    Ic = robot.I.copy()
    for i in range(N):
        XJ, S[i] = robot.jcalc(i, q[i])
        Xup[i] = XJ @ Xtree[i]
    for i in reversed(range(N)):
        Ic[parent[i]] += Xup[i].T @ Ic[i] @ Xup[i]
        F = Ic[i] @ S[i]
        H[i, i] = S[i] @ F
        j = i
        while parent[j] != BASE:
            F = Xup[j].T @ F
            j = parent[j]
            H[i, j] = F @ S[j]
            H[j, i] = H[i, j]
    return H


def aba(robot: Robot, q: Floats, qd: Floats, tau: Floats, f_ext: Wrenches | None = None) -> Floats:
    """Return qdd (N,), forward dynamics by articulated bodies. RBDA Table 7.1.

    All joints are independent here; for mimic joints see ``forward_dynamics``.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        tau: (N,) torques [N m or N].
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.
    """
    N, parent, Xtree, I = robot.N, robot.parent, robot.Xtree, robot.I
    S, v, c, a, pA, U = np.zeros((6, N + 1, 6), I.dtype)
    Xup, X0 = np.zeros((2, N + 1, 6, 6), I.dtype)
    D, u = np.zeros((2, N), I.dtype)
    f_x = robot.base_forces(f_ext, q)
    qdd = np.zeros(N, I.dtype)

    X0[BASE] = np.eye(6)
    v[BASE] = 0
    IA = I.copy()
    for i in range(N):
        XJ, S[i] = robot.jcalc(i, q[i])
        vJ = S[i] * qd[i]
        Xup[i] = XJ @ Xtree[i]
        X0[i] = Xup[i] @ X0[parent[i]]
        v[i] = Xup[i] @ v[parent[i]] + vJ
        c[i] = crm(v[i]) @ vJ
        pA[i] = crf(v[i]) @ I[i] @ v[i] - dual(X0[i]) @ f_x[i]
    for i in reversed(range(N)):
        U[i] = IA[i] @ S[i]
        D[i] = S[i] @ U[i]
        u[i] = tau[i] - S[i] @ pA[i]
        Ia = IA[i] - np.outer(U[i], U[i]) / D[i]
        pa = pA[i] + Ia @ c[i] + U[i] * u[i] / D[i]
        IA[parent[i]] += Xup[i].T @ Ia @ Xup[i]
        pA[parent[i]] += Xup[i].T @ pa
    a[BASE, 3:] = -robot.gravity
    for i in range(N):
        a_ = Xup[i] @ a[parent[i]] + c[i]
        qdd[i] = (u[i] - U[i] @ a_) / D[i]
        a[i] = a_ + S[i] * qdd[i]
    return qdd


def forward_dynamics(
    robot: Robot, q: Floats, qd: Floats, tau: Floats, f_ext: Wrenches | None = None
) -> Floats:
    """Return the accelerations (n,) of the coordinates, with or without mimic joints.

    Articulated bodies need independent joints. With q_J = G q + q_0 the equation of
    motion is G^T H G qdd + G^T C = tau: RBDA equation 3.20.

    Args:
        robot: A ``Robot``.
        q: (n,) coordinates [rad or m].
        qd: (n,) velocities.
        tau: (n,) torques on the coordinates [N m or N].
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.
    """
    q_J, qd_J, zero = robot.expand(q, qd, np.zeros(robot.n))
    H = robot.reduce(crba(robot, q_J))
    C = robot.reduce(rnea(robot, q_J, qd_J, zero, f_ext))
    return np.linalg.solve(H, tau - C)
