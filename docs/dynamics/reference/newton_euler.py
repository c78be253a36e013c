"""Inverse dynamics in 3-vectors: Newton's equation for each centre of mass, Euler's about it.

J. Luh, M. Walker and R. Paul, On-Line Computational Scheme for Mechanical Manipulators, 1980; in
the notation of J. Craig, Introduction to Robotics, section 6.5, extended from chains to trees.
"""

import numpy as np
from numpy import cross
from numpy.typing import ArrayLike

from reference.robot import BASE, Robot, Wrenches
from reference.spatial import Floats, parts_of


def steps(robot: Robot, q: Floats) -> tuple[Floats, Floats]:
    """Return R (N, 3, 3), from the parent's axes to the body's, and P (N, 3), its origin there."""
    parts = [parts_of(robot.jcalc(i, q[i])[0] @ robot.Xtree[i]) for i in range(robot.N)]
    return np.array([R for R, _ in parts]), np.array([P for _, P in parts])


def link_accelerations(
    robot: Robot, q: Floats, qd: Floats, qdd: Floats, vd_0: ArrayLike = (0.0, 0.0, 0.0)
) -> tuple[Floats, Floats, Floats]:
    """Return w, wd and vd (N + 1, 3): angular motion of bodies, acceleration of their origins.

    Each is in the body's axes; vd is the second derivative of a position, unlike the linear half of
    a spatial acceleration. The base does not turn.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        qdd: (N,) accelerations.
        vd_0: (3,) acceleration of the base [m/s^2].
    """
    R, P = steps(robot, q)
    w, wd, vd = np.zeros((3, robot.N + 1, 3))
    vd[BASE] = vd_0
    for i in range(robot.N):
        j = robot.parent[i]
        turn, slide = np.outer(robot.motion[i], robot.axis[i])  # one is 0, except in a screw
        w[i] = R[i] @ w[j] + turn * qd[i]
        wd[i] = R[i] @ wd[j] + cross(R[i] @ w[j], turn * qd[i]) + turn * qdd[i]
        vd[i] = (
            R[i] @ (cross(wd[j], P[i]) + cross(w[j], cross(w[j], P[i])) + vd[j])
            + 2 * cross(w[i], slide * qd[i])
            + slide * qdd[i]
        )
    return w, wd, vd


def centre_of_mass_accelerations(robot: Robot, w: Floats, wd: Floats, vd: Floats) -> Floats:
    """Return vd_C (N + 1, 3) of the centres of mass, from ``link_accelerations``."""
    return cross(wd, robot.c) + cross(w, cross(w, robot.c)) + vd


def inverse_dynamics(
    robot: Robot, q: Floats, qd: Floats, qdd: Floats, f_ext: Wrenches | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return tau (N,), and force f and moment n (N + 1, 3) across each joint.

    The parent exerts f[i] and n[i] on body i, at the origin of its frame and in its axes; the last
    rows are the load that holds the base, without its own weight. The arguments are those of
    ``featherstone.rnea``.
    """
    N, m, c, I_C = robot.N, robot.m, robot.c, robot.I_C
    F, M = np.zeros((2, N + 1, 3))
    tau = np.zeros(N)
    force = robot.body_forces(f_ext)

    # Outward: motion, and the force and moment it needs. Accelerating the base upward replaces
    # gravity.
    w, wd, vd = link_accelerations(robot, q, qd, qdd, -robot.gravity)
    vd_C = centre_of_mass_accelerations(robot, w, wd, vd)
    for i in range(N):
        F[i] = m[i] * vd_C[i]
        M[i] = I_C[i] @ wd[i] + cross(w[i], I_C[i] @ w[i])

    f = F - force[:, 3:]
    n = M + cross(c, F) - force[:, :3]
    R, P = steps(robot, q)
    for i in reversed(range(N)):  # inward: loads that the joints transmit
        j = robot.parent[i]
        turn, slide = np.outer(robot.motion[i], robot.axis[i])
        tau[i] = n[i] @ turn + f[i] @ slide
        f[j] += R[i].T @ f[i]
        n[j] += R[i].T @ n[i] + cross(P[i], R[i].T @ f[i])
    return tau, f, n
