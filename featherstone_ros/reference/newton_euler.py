"""Inverse dynamics in 3-vectors: Newton's equation for each centre of mass, Euler's about it.

J. Luh, M. Walker and R. Paul, On-Line Computational Scheme for Mechanical Manipulators, 1980; in
the notation of J. Craig, Introduction to Robotics, section 6.5, which goes along a chain where this
goes along a tree.
"""

import numpy as np
from numpy import cross

from featherstone_ros.reference.robot import BASE
from featherstone_ros.reference.spatial import parts_of


def inverse_dynamics(robot, q, qd, qdd, f_ext=None):
    """Return tau (N,), and force f and moment n (N + 1, 3) across each joint.

    Body i feels f[i] and n[i] from its parent, at the origin of its frame and in its axes; the
    last rows are what it takes to hold the base, whose own weight is left out. The arguments are
    those of ``featherstone.rnea``.
    """
    N, parent, m, c, I_C = robot.N, robot.parent, robot.m, robot.c, robot.I_C
    w, wd, vd, F, M, P = np.zeros((6, N + 1, 3))
    R = np.zeros((N, 3, 3))  # turns vectors from the parent's axes to the body's
    tau = np.zeros(N)
    force = robot.body_forces(f_ext)

    vd[BASE] = -robot.gravity  # all bodies fall up: as good as gravity down
    for i in range(N):  # outward: motion, and the force and moment that it takes
        j = parent[i]
        R[i], P[i] = parts_of(robot.jcalc(i, q[i])[0] @ robot.Xtree[i])
        turn, slide = np.outer(robot.motion[i], robot.axis[i])  # one is 0, save in a screw
        w[i] = R[i] @ w[j] + turn * qd[i]
        wd[i] = R[i] @ wd[j] + cross(R[i] @ w[j], turn * qd[i]) + turn * qdd[i]
        vd[i] = (
            R[i] @ (cross(wd[j], P[i]) + cross(w[j], cross(w[j], P[i])) + vd[j])
            + 2 * cross(w[i], slide * qd[i])
            + slide * qdd[i]
        )
        vd_C = cross(wd[i], c[i]) + cross(w[i], cross(w[i], c[i])) + vd[i]
        F[i] = m[i] * vd_C
        M[i] = I_C[i] @ wd[i] + cross(w[i], I_C[i] @ w[i])

    f = F - force[:, 3:]
    n = M + cross(c, F) - force[:, :3]
    for i in reversed(range(N)):  # inward: what the joint must transmit
        j = parent[i]
        turn, slide = np.outer(robot.motion[i], robot.axis[i])
        tau[i] = n[i] @ turn + f[i] @ slide
        f[j] += R[i].T @ f[i]
        n[j] += R[i].T @ n[i] + cross(P[i], R[i].T @ f[i])
    return tau, f, n
