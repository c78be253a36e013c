"""Dynamics of a link as a task sees them, also where its Jacobian loses rank."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats

TOLERANCE = 1e-3  # relative: of what is smaller, Lambda has a million times the usual inertia


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """The result of ``Dynamics.operational_space``; arrays (B, ...) for a batch.

    Wrenches and accelerations are those of a point of the link, linear part first, base axes. A
    torque ``N.T @ tau`` gives the link no acceleration, and a velocity ``N @ qd`` does not move it:
    N and N^T are projectors onto what the task leaves free. Where the Jacobian J loses rank, the
    directions in which joints hardly move the link are left out of Lambda, mu, p and Jbar, and are
    free in N.

    Attributes:
        Lambda: (6, 6) inertia, (J M^-1 J^T)^-1, symmetric [kg, kg m, kg m^2].
        mu: (6,) wrench of the Coriolis and centrifugal forces [N, N m].
        p: (6,) wrench of gravity [N, N m].
        Jbar: (nv, 6) the inverse M^-1 J^T Lambda of J, dynamically consistent: a joint velocity
            ``Jbar @ v`` gives the link the velocity v, with the least kinetic energy.
        N: (nv, nv) null-space projector, 1 - Jbar J.
        rank: Directions in which joints move the link, 6 where none is left out; 0 where the
            position is not finite.
    """

    Lambda: Floats
    mu: Floats
    p: Floats
    Jbar: Floats
    N: Floats
    rank: int | NDArray[np.intp]


def operational_space(
    J: Floats, Minv: Floats, coriolis: Floats, gravity: Floats, Jdot_qd: Floats, tolerance: float
) -> OperationalSpace:
    """Return a link's dynamics from those of the joints; (B, ...) for a batch.

    Args:
        J: (6, nv) Jacobian.
        Minv: (nv, nv) inverse of the joint-space inertia.
        coriolis: (nv,) torque of velocities, without gravity [N m, N].
        gravity: (nv,) torque of gravity [N m, N].
        Jdot_qd: (6,) acceleration of the link without that of the joints [m/s^2, rad/s^2].
        tolerance: Share of the largest singular value of J, below which one counts as zero.
    """
    transposed = np.swapaxes(J, -1, -2)
    Lambda, rank = _inertia(J, Minv, tolerance)
    Jbar = Minv @ transposed @ Lambda
    back = np.swapaxes(Jbar, -1, -2)
    return OperationalSpace(
        Lambda,
        _times(back, coriolis) - _times(Lambda, Jdot_qd),
        _times(back, gravity),
        Jbar,
        np.eye(J.shape[-1]) - Jbar @ J,
        int(rank) if rank.ndim == 0 else rank,
    )


def _inertia(J: Floats, Minv: Floats, tolerance: float) -> tuple[Floats, NDArray[np.intp]]:
    """Return Lambda of the directions U that joints move, U (U^T J M^-1 J^T U)^-1 U^T, and rank."""
    known = np.isfinite(J).all(axis=(-2, -1), keepdims=True)
    U, sizes, _ = np.linalg.svd(np.where(known, J, 0.0), full_matrices=False)
    moved = sizes > tolerance * sizes[..., :1]
    both = moved[..., :, None] & moved[..., None, :]
    along = np.swapaxes(U, -1, -2) @ J
    inverse = np.where(both, along @ Minv @ np.swapaxes(along, -1, -2), np.eye(sizes.shape[-1]))
    Lambda = U @ np.where(both, np.linalg.inv(inverse), 0.0) @ np.swapaxes(U, -1, -2)
    symmetric = (Lambda + np.swapaxes(Lambda, -1, -2)) / 2
    return np.where(known, symmetric, np.nan), moved.sum(axis=-1)


def _times(A: Floats, x: Floats) -> Floats:
    return np.einsum("...ij,...j->...i", A, x)
