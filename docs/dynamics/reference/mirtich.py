"""Forward dynamics of a serial chain by articulated bodies, in Mirtich's notation.

B. Mirtich, Impulse-based Dynamic Simulation of Rigid Body Systems, 1996, chapter 4. Differences
from RBDA: a link's frame has its origin at its centre of mass (axes as in ``Robot``, not
necessarily principal); a motion is [angular, linear] and a force [force, moment], so that one
matrix transforms both; the product of a motion and a force is x' f with the spatial transpose
[a; b]' = [b^T a^T]; the linear part of an acceleration is the second derivative of the centre of
mass's position; and gravity is part of the zero-acceleration force, so that the base is at rest.
Link i is attached to link i - 1; link -1, the last row of every array, is the base in its own
frame.
"""

import numpy as np

from reference.articulated import require_chain
from reference.robot import Robot, Wrenches
from reference.spatial import Floats, skew


def transposed(x: Floats) -> Floats:
    """Return x' (6,), the spatial transpose: x' f is the power of a force f at a velocity x."""
    return np.concatenate([x[3:], x[:3]])


def transform(R: Floats, r: Floats) -> Floats:
    """Return GXF (6, 6), which takes motions and forces from frame F to frame G.

    Args:
        R: (3, 3) turns coordinates in F into coordinates in G.
        r: (3,) from the origin of F to that of G, in G's axes [m].
    """
    return np.block([[R, np.zeros((3, 3))], [-skew(r) @ R, R]])


def inertia(m: float, I_C: Floats) -> Floats:
    """Return the isolated inertia (6, 6): [force, moment] per [angular, linear] acceleration."""
    return np.block([[np.zeros((3, 3)), m * np.eye(3)], [I_C, np.zeros((3, 3))]])


def chain(robot: Robot, q: Floats) -> tuple[Floats, Floats]:
    """Return R (N + 1, 3, 3) from the base's axes to each link's, and r (N, 3).

    r[i] is the vector from the origin of link i - 1 to that of link i, in the axes of link i.

    Raises:
        ModelError: The robot branches.
    """
    require_chain(robot)
    R, p = robot.poses(q)
    p[:-1] += np.einsum("ikl,il->ik", R[:-1], robot.c[:-1])  # to the centres of mass
    r = [R[i].T @ (p[i] - p[i - 1]) for i in range(robot.N)]
    return R.transpose(0, 2, 1), np.array(r).reshape(-1, 3)


def motion(robot: Robot, q: Floats, qd: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return X (N + 1, 6, 6), s and c (N + 1, 6), w (N + 1, 3): what is known of the motion.

    X[i] takes motions and forces from link i - 1 to link i, s[i] is the axis of joint i, c[i] the
    acceleration of link i if neither its parent nor its joint accelerates, w[i] its angular
    velocity. Mirtich's ComputeSerialLinkVelocities also hands on that of each centre of mass,

        v_i = v_(i-1) + w_(i-1) x r + v_J,

    which neither c nor the zero-acceleration force depends on.
    """
    X, s, c = np.zeros((robot.N + 1, 6, 6)), *np.zeros((2, robot.N + 1, 6))
    w = np.zeros((robot.N + 1, 3))
    R0, r = chain(robot, q)
    u, d = robot.axis, robot.c  # d: from the axis to the link's origin
    for i in range(robot.N):
        turning, sliding = robot.motion[i]
        R = R0[i] @ R0[i - 1].T
        X[i] = transform(R, r[i])
        s[i] = np.concatenate([turning * u[i], turning * np.cross(u[i], d[i]) + sliding * u[i]])
        w_J, v_J = s[i, :3] * qd[i], s[i, 3:] * qd[i]  # relative to link i - 1
        w_up = R @ w[i - 1]
        w[i] = w_up + w_J
        centripetal = np.cross(w_up, np.cross(w_up, r[i])) + np.cross(w_J, v_J)
        c[i] = np.concatenate([np.cross(w_up, w_J), centripetal + 2 * np.cross(w_up, v_J)])
    return X, s, c, w


def isolated(
    robot: Robot, q: Floats, w: Floats, f_ext: Wrenches | None = None
) -> tuple[Floats, Floats]:
    """Return I (N + 1, 6, 6) and Z (N + 1, 6) of each link alone: f = I a + Z.

    Z, the zero-acceleration force, is what a link needs so as not to accelerate:
    [- m g - f_x, w x I_C w - n_x], with the external moment n_x about the centre of mass.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        w: (N + 1, 3) angular velocities, as ``motion`` returns them.
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.
    """
    I, Z = np.zeros((robot.N + 1, 6, 6)), np.zeros((robot.N + 1, 6))
    R, _ = robot.poses(q)
    f_x = robot.body_forces(f_ext)
    for i in range(robot.N):
        I[i] = inertia(robot.m[i], robot.I_C[i])
        force = robot.m[i] * R[i].T @ robot.gravity + f_x[i, 3:]
        moment = f_x[i, :3] - np.cross(robot.c[i], f_x[i, 3:])
        Z[i] = np.concatenate([-force, np.cross(w[i], robot.I_C[i] @ w[i]) - moment])
    return I, Z


def forward_dynamics(
    robot: Robot, q: Floats, qd: Floats, tau: Floats, f_ext: Wrenches | None = None
) -> Floats:
    """Return the joints' accelerations (N,): those of ``link_accelerations``."""
    return link_accelerations(robot, q, qd, tau, f_ext)[0]


def link_accelerations(
    robot: Robot, q: Floats, qd: Floats, tau: Floats, f_ext: Wrenches | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return qdd (N,) of the joints, a (N + 1, 6) and f (N, 6): serial forward dynamics.

    a[i] is the angular acceleration of link i and the second derivative of its centre of mass's
    position, in its axes, gravity included: for a link in free fall that is g. f[i] is the force
    that link i - 1 exerts on link i, [force, moment] at the centre of mass of link i.

    Args:
        robot: A ``Robot`` without branches.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        tau: (N,) torques [N m or N].
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.

    Raises:
        ModelError: The robot branches.
    """
    X, s, c, w = motion(robot, q, qd)
    I_A, Z_A = isolated(robot, q, w, f_ext)
    a, f, qdd = np.zeros_like(s), np.zeros_like(s), np.zeros(robot.N)
    for i in reversed(range(1, robot.N)):
        I_s, s_I = I_A[i] @ s[i], transposed(s[i]) @ I_A[i]
        Z_c = Z_A[i] + I_A[i] @ c[i]
        drive = (tau[i] - transposed(s[i]) @ Z_c) / (s_I @ s[i])
        back = np.linalg.inv(X[i])
        I_A[i - 1] += back @ (I_A[i] - np.outer(I_s, s_I) / (s_I @ s[i])) @ X[i]
        Z_A[i - 1] += back @ (Z_c + I_s * drive)
    for i in range(robot.N):
        a_up = X[i] @ a[i - 1] + c[i]
        s_I = transposed(s[i]) @ I_A[i]
        qdd[i] = (tau[i] - s_I @ a_up - transposed(s[i]) @ Z_A[i]) / (s_I @ s[i])
        a[i] = a_up + s[i] * qdd[i]
        f[i] = I_A[i] @ a[i] + Z_A[i]
    return qdd, a, f[:-1]
