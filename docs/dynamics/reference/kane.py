"""Kane's equations: for each coordinate, generalized active and inertia forces add up to zero.

T. Kane, D. Levinson, Dynamics: Theory and Applications, 1985, chapter 6. A partial velocity is a
link's velocity per unit rate of one coordinate: a column of the link's Jacobian. Projected on
these, the constraint forces of the joints cancel, since they do no work, and neither energies nor
their derivatives are needed. Vectors are in the base's axes, arrays (link, coordinate, 3);
coordinates are those of all N joints (``Robot.expand`` and ``reduce``).
"""

import numpy as np

from reference.explicit import link_inertias, link_jacobians
from reference.newton_euler import (
    centre_of_mass_accelerations,
    link_accelerations,
)
from reference.robot import BASE, Robot, Wrenches
from reference.spatial import Floats


def partial_velocities(robot: Robot, q: Floats) -> tuple[Floats, Floats]:
    """Return v_r and w_r (N, N, 3): partial velocities of the centres of mass, and angular ones.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
    """
    J_v, J_w = link_jacobians(robot, q)
    return J_v.transpose(0, 2, 1), J_w.transpose(0, 2, 1)


def active_forces(robot: Robot, q: Floats, f_ext: Wrenches | None = None) -> Floats:
    """Return F (N,) = sum over links of v_r . (m g + f) + w_r . n, of weights and external forces.

    n is the moment about the link's centre of mass. The joints' torques are active forces as well,
    but they are the unknowns of ``inverse_dynamics``.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.
    """
    v_r, w_r = partial_velocities(robot, q)
    R, p = robot.poses(q)
    centre = p + np.einsum("ikl,il->ik", R, robot.c)
    n_O, f = np.split(robot.base_forces(f_ext, q), 2, axis=1)
    n = n_O - np.cross(centre, f)
    weight = np.outer(robot.m, robot.gravity)
    return project(v_r, weight + f) + project(w_r, n)


def inertia_forces(robot: Robot, q: Floats, qd: Floats, qdd: Floats) -> Floats:
    """Return F* (N,) = - sum over links of v_r . m a_C + w_r . (I wd + w x I w).

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        qdd: (N,) accelerations.
    """
    v_r, w_r = partial_velocities(robot, q)
    R, _ = robot.poses(q)
    w, wd, vd = link_accelerations(robot, q, qd, qdd)
    a_C = centre_of_mass_accelerations(robot, w, wd, vd)
    w, wd, a_C = (np.einsum("ikl,il->ik", R, x)[:BASE] for x in (w, wd, a_C))
    I = link_inertias(robot, q)
    turning = np.einsum("ikl,il->ik", I, wd) + np.cross(w, np.einsum("ikl,il->ik", I, w))
    return -project(v_r, robot.m[:BASE, None] * a_C) - project(w_r, turning)


def project(partial: Floats, forces: Floats) -> Floats:
    """Return (N,) the sum over links of partial velocities (N, N, 3) times forces (N, 3)."""
    return np.einsum("irk,ik->r", partial, forces[: len(partial)])


def inverse_dynamics(
    robot: Robot, q: Floats, qd: Floats, qdd: Floats, f_ext: Wrenches | None = None
) -> Floats:
    """Return tau (N,): tau + F + F* = 0."""
    return -active_forces(robot, q, f_ext) - inertia_forces(robot, q, qd, qdd)
