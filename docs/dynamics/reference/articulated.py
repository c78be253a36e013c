"""Articulated bodies of an open tree, with sums over the children n of each body.

R. Featherstone, The calculation of robot dynamics using articulated-body inertias, 1983; RBDA
chapter 7. Everything here is in the base's frame, so no transforms between bodies are needed. With
the axis s of a joint and T = I_A s / (s^T I_A s), a free joint transmits the part 1 - T s^T of the
force beyond it.

    I_A = I + sum_n (1 - T s^T) I_A,n          p_A = p + sum_n (1 - T s^T) (p_A,n + I_A,n c) + T tau
    f = I_A a + p_A                            a = a_parent + c + s qdd

Vectors are RBDA's (spatial.py). In arrays of N + 1 rows the base is last. All joints are
independent; for mimic joints see ``featherstone.forward_dynamics``.
"""

import numpy as np

from featherstone_ros.errors import ModelError
from reference.robot import BASE, Robot, Wrenches
from reference.spatial import Flags, Floats, crf, crm, inverse


def bodies(robot: Robot, q: Floats) -> tuple[Floats, Floats]:
    """Return s (N + 1, 6) and I (N + 1, 6, 6), joint axes and inertias in the base's frame."""
    X0 = robot.X0(q)
    s = np.zeros((robot.N + 1, 6))
    for i in range(robot.N):
        s[i] = inverse(X0[i]) @ robot.jcalc(i, q[i])[1]
    return s, X0.transpose(0, 2, 1) @ robot.I @ X0


def velocity_terms(robot: Robot, s: Floats, I: Floats, qd: Floats) -> tuple[Floats, Floats]:
    """Return c and p (N + 1, 6): accelerations and forces at qdd = 0.

    c = v x s qd is the acceleration across a joint due to the motion of its axis; p = v x* I v is
    the force that keeps a body's velocity constant.
    """
    v, c, p = np.zeros((3, robot.N + 1, 6))
    for i in range(robot.N):
        v[i] = v[robot.parent[i]] + s[i] * qd[i]
        c[i] = crm(v[i]) @ s[i] * qd[i]
        p[i] = crf(v[i]) @ I[i] @ v[i]
    return c, p


def articulated_inertias(
    robot: Robot, s: Floats, I: Floats, prescribed: Flags | None = None
) -> tuple[Floats, Floats]:
    """Return I_A (N + 1, 6, 6) and T (N + 1, 6). RBDA section 7.2.

    I_A[i] is the apparent inertia of body i with the joint before it cut and those beyond it free;
    the base's is that of the whole robot, were it floating. A joint with prescribed acceleration,
    (N,) bool, is not free: its T is 0, and it transmits the whole force.
    """
    I_A, T = I.copy(), np.zeros_like(s)
    for n in reversed(range(robot.N)):
        if prescribed is None or not prescribed[n]:
            T[n] = I_A[n] @ s[n] / (s[n] @ I_A[n] @ s[n])
        I_A[robot.parent[n]] += (np.eye(6) - np.outer(T[n], s[n])) @ I_A[n]
    return I_A, T


def forward_dynamics(
    robot: Robot, q: Floats, qd: Floats, tau: Floats, f_ext: Wrenches | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return qdd (N,), a (N + 1, 6) and f (N, 6): forward dynamics of an open tree.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        tau: (N,) torques [N m or N].
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.

    Returns:
        Joint accelerations; the bodies' spatial accelerations minus gravity; and the force across
        each joint, on its body, in the base's frame.
    """
    all_free = np.zeros(robot.N, dtype=bool)
    qdd, _, a, f = hybrid_dynamics(robot, q, qd, np.zeros(robot.N), tau, all_free, f_ext)
    return qdd, a, f


def hybrid_dynamics(
    robot: Robot,
    q: Floats,
    qd: Floats,
    qdd: Floats,
    tau: Floats,
    prescribed: Flags,
    f_ext: Wrenches | None = None,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return qdd (N,), tau (N,), a (N + 1, 6) and f (N, 6): some accelerations are prescribed.

    RBDA section 9.2. The torque of a prescribed joint is whatever its acceleration needs
    (Featherstone3D's motors that define an acceleration): s qdd is added to c, and the joint
    transmits the whole force.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        qdd: (N,) accelerations; only those of prescribed joints are read.
        tau: (N,) torques [N m or N]; only those of the other joints are read.
        prescribed: (N,) bool, the joints whose acceleration is given.
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.

    Returns:
        Accelerations and torques of all joints; a and f as in ``forward_dynamics``.
    """
    s, I = bodies(robot, q)
    c, p = velocity_terms(robot, s, I, qd)
    I_A, T = articulated_inertias(robot, s, I, prescribed)
    a, f = np.zeros_like(s), np.zeros((robot.N, 6))
    qdd, tau = np.where(prescribed, qdd, 0.0), np.where(prescribed, 0.0, tau)

    p_A = p - robot.base_forces(f_ext, q)
    for n in reversed(range(robot.N)):
        beyond = p_A[n] + I_A[n] @ (c[n] + s[n] * qdd[n])
        p_A[robot.parent[n]] += beyond - T[n] * (s[n] @ beyond) + T[n] * tau[n]
    a[BASE, 3:] = -robot.gravity
    for i in range(robot.N):
        a_ = a[robot.parent[i]] + c[i]
        if not prescribed[i]:
            qdd[i] = (tau[i] - s[i] @ (I_A[i] @ a_ + p_A[i])) / (s[i] @ I_A[i] @ s[i])
        a[i] = a_ + s[i] * qdd[i]
        f[i] = I_A[i] @ a[i] + p_A[i]
        tau[i] = s[i] @ f[i] if prescribed[i] else tau[i]
    return qdd, tau, a, f


def residuals(
    robot: Robot, q: Floats, qd: Floats, a: Floats, f: Floats, f_ext: Wrenches | None = None
) -> Floats:
    """Return (N, 6), the residual of each body's force balance: f + f_ext - sum_n f_n - (I a + p).

    The Newton-Euler equations of each body, without articulated bodies.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        a: (N + 1, 6) accelerations, as ``forward_dynamics`` returns them.
        f: (N, 6) forces across the joints, likewise.
        f_ext: As there.
    """
    s, I = bodies(robot, q)
    _, p = velocity_terms(robot, s, I, qd)
    net = robot.base_forces(f_ext, q)
    for i in range(robot.N):
        net[i] += f[i]
        net[robot.parent[i]] -= f[i]
    return (net - np.einsum("ikl,il->ik", I, a) - p)[:BASE]


def mobility(robot: Robot, q: Floats) -> Floats:
    """Return (N, 6, 6), each body's acceleration per unit force on it, with all joints free.

    This is the inverse of the body's apparent inertia, J M^-1 J^T, in the base's frame. It is
    computed outwards from the fixed base: each joint adds its own mobility to the part of its
    parent's that it transmits.
    """
    s, I = bodies(robot, q)
    I_A, T = articulated_inertias(robot, s, I)
    Phi = np.zeros((robot.N + 1, 6, 6))
    for i in range(robot.N):
        through = np.eye(6) - np.outer(T[i], s[i])
        own = np.outer(s[i], s[i]) / (s[i] @ I_A[i] @ s[i])
        Phi[i] = own + through.T @ Phi[robot.parent[i]] @ through
    return Phi[:BASE]


def require_chain(robot: Robot) -> None:
    """Raise ``ModelError``, naming the body where it branches, if a robot is not a chain."""
    for i in range(robot.N):
        if robot.parent[i] != i - 1:
            fork = robot.parent[i]
            children = [robot.names[k] for k in np.flatnonzero(robot.parent == fork)]
            raise ModelError(
                f"body {robot.names[fork]!r} carries {len(children)} bodies "
                f"({', '.join(children)}), expected a serial chain"
            )


def outward_mobility(robot: Robot, q: Floats, qd: Floats, tau: Floats) -> tuple[Floats, Floats]:
    """Return L (N, 6, 6) and b (N, 6): a = b - L f for each body of a chain cut off behind it.

    The articulated-body argument from the other end (Featherstone3D, art_mobility). f is the force
    of body i on the next one, a its acceleration minus gravity; L is also called Lambda^-1. With
    the parent's L and b, the force across joint i satisfies
    (1 + I L) f_i = I (b + c + s qdd) + p + f; the rest is as for articulated bodies, with
    I_M = (1 + I L)^-1 I in place of I_A.

    Raises:
        ModelError: The robot branches.
    """
    require_chain(robot)
    s, I = bodies(robot, q)
    c, p = velocity_terms(robot, s, I, qd)
    L, b = np.zeros_like(I), np.zeros_like(s)
    b[BASE, 3:] = -robot.gravity
    for i in range(robot.N):
        yields = np.linalg.inv(np.eye(6) + I[i] @ L[i - 1])
        I_M = yields @ I[i]
        D = s[i] @ I_M @ s[i]
        T = I_M @ s[i] / D
        let_through = b[i - 1] + c[i] - s[i] * (T @ (b[i - 1] + c[i]))
        L[i] = yields.T @ (np.outer(s[i], s[i]) @ yields / D + L[i - 1])
        b[i] = yields.T @ (s[i] * tau[i] / D + let_through) - L[i] @ p[i]
    return L[:BASE], b[:BASE]
