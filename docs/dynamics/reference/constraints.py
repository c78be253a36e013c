"""Distances between two points of a tree that are kept: rods and taut cables that close loops.

Each rod from a near point to a far one adds one force along its line, so large that the length does
not accelerate. A cable does the same, but only pulls. How the points answer such forces is the
compliance Omega of the free tree. RBDA chapter 8; operators in the base's frame: ``operators``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.errors import ModelError
from reference import innovations, operators
from reference.robot import BASE, Robot, Wrenches
from reference.spatial import Flags, Floats, parts_of


@dataclass(frozen=True)
class Rod:
    """A constant distance between two points; those of the base link stand still.

    Attributes:
        near: Name of the link with the first point.
        near_point: (3,) in that link's frame [m].
        far: Name of the link with the second point.
        far_point: (3,) in that link's frame [m].
        pulls_only: Whether it is a cable, taut now, which goes slack instead of pushing.
    """

    near: str
    near_point: ArrayLike
    far: str
    far_point: ArrayLike
    pulls_only: bool = False


def point_motion(
    robot: Robot, X0: Floats, V: Floats, link: str, point: ArrayLike
) -> tuple[int, Floats, Floats, Floats]:
    """Return a point's body, position p, velocity and w x velocity (3,), in the base's axes.

    Args:
        robot: A ``Robot``.
        X0: (N + 1, 6, 6) as ``Robot.X0`` returns it.
        V: (N + 1, 6) velocities of the bodies, in the base's frame.
        link: The link's name.
        point: (3,) in the link's frame [m].
    """
    body, X = robot.links[link]
    E, r = parts_of(X @ X0[body])
    p = r + E.T @ np.asarray(point)
    velocity = V[body, 3:] + np.cross(V[body, :3], p)
    return body, p, velocity, np.cross(V[body, :3], velocity)


def forward_dynamics(
    robot: Robot,
    q: Floats,
    qd: Floats,
    tau: Floats,
    rods: Sequence[Rod],
    f_ext: Wrenches | None = None,
) -> tuple[Floats, Floats]:
    """Return qdd (N,) of the joints and the forces F (K,) [N] of K rods, positive if they push.

    With r from the near point to the far one, d = |r| and u = r / d,

        d_dot = u . r_dot = w* V                        w: unit forces u and - u, of the bodies
        d_ddot = u . r_ddot + (r_dot . r_dot - d_dot^2) / d
        d_ddot = d_ddot of the free tree + w* Omega w F = 0

    An error in d or d_dot stays: only d_ddot is kept zero. For a cable, F <= 0, d_ddot <= 0 and
    F d_ddot = 0: see ``forces``.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m].
        qd: (N,) velocities.
        tau: (N,) torques [N m or N].
        rods: At least one ``Rod``.
        f_ext: Link name to wrench, as ``Robot.body_forces`` takes it.
    """
    o = operators.base_frame(robot, q)
    V = np.vstack([operators.velocities(o, qd).reshape(-1, 6), operators.STILL])
    a, _ = operators.velocity_terms(o, qd)
    w = np.zeros((len(rods), robot.N + 1, 6))
    velocity_part = np.zeros(len(rods))
    X0 = robot.X0(q)
    for k, rod in enumerate(rods):
        near, p_n, v_n, turning_n = point_motion(robot, X0, V, rod.near, rod.near_point)
        far, p_f, v_f, turning_f = point_motion(robot, X0, V, rod.far, rod.far_point)
        r, r_dot = p_f - p_n, v_f - v_n
        d = np.linalg.norm(r)
        u = r / d
        w[k, near] -= np.concatenate([np.cross(p_n, u), u])
        w[k, far] += np.concatenate([np.cross(p_f, u), u])
        velocity_part[k] = u @ (turning_f - turning_n) + (r_dot @ r_dot - (u @ r_dot) ** 2) / d
    W = w[:, :BASE].reshape(len(rods), -1).T

    weights = operators.weights(robot, q).reshape(-1, 6)
    in_base = [X.T @ weight for X, weight in zip(X0[:BASE], weights, strict=True)]
    f_x = (robot.base_forces(f_ext, q)[:BASE] + in_base).ravel()
    free = innovations.forward_dynamics(o, qd, tau, f_x=f_x)
    d_ddot = W.T @ o.phi.T @ (o.H.T @ free + a) + velocity_part
    cables = np.array([rod.pulls_only for rod in rods])
    F = forces(W.T @ innovations.compliance(o) @ W, d_ddot, cables)
    return innovations.forward_dynamics(o, qd, tau, f_x=f_x + W @ F), F


def forces(A: Floats, d_ddot: Floats, cables: Flags) -> Floats:
    """Return the forces F (K,) under which no rod's length accelerates, nor any cable's grows.

    All choices of which cables are slack are tried: one of them has none that pushes, and none that
    is slack and grows longer. (With many cables a solver of linear complementarity problems.)

    Args:
        A: (K, K) acceleration of the lengths per force, positive semidefinite.
        d_ddot: (K,) their accelerations without forces.
        cables: (K,) those that pull only.
    """
    for slack in product(*((False, True) if cable else (False,) for cable in cables)):
        held = ~np.array(slack)
        F = np.zeros(len(cables))
        F[held] = -np.linalg.solve(A[np.ix_(held, held)], d_ddot[held])
        growth = d_ddot + A @ F
        if (F[held & cables] <= 0).all() and (growth[~held] <= 0).all():
            return F
    raise ModelError(f"cables pull against each other: no forces keep {len(cables)} lengths")
