"""The inertia tensor of a rigid body: its definition, and how to shift, rotate and add it.

Tensors are symmetric 3x3 matrices [kg m^2] with the products of inertia negative off the diagonal,
as in a URDF: I = sum of m (r.r 1 - r r^T).
"""

import numpy as np
from numpy.typing import ArrayLike

from reference.spatial import Floats


def of_points(m: Floats, r: Floats) -> Floats:
    """Return the tensor about the origin of point masses m (K,) [kg] at r (K, 3) [m]."""
    points = zip(m, r, strict=True)
    return np.sum([parallel_axis(np.zeros((3, 3)), *point) for point in points], axis=0)


def of_box(m: float, sides: ArrayLike) -> Floats:
    """Return the tensor of a uniform box about its centre, along its sides (3,) [m]."""
    x, y, z = np.square(sides)
    return m / 12 * np.diag([y + z, z + x, x + y])


def parallel_axis(I_C: Floats, m: float, c: Floats) -> Floats:
    """Return the tensor about the origin of a body of mass m with its centre of mass at c (3,).

    Args:
        I_C: (3, 3) tensor about the centre of mass, in parallel axes.
        m: Mass [kg].
        c: (3,) [m].
    """
    return I_C + m * (c @ c * np.eye(3) - np.outer(c, c))


def turned(I: Floats, R: Floats) -> Floats:
    """Return the tensor in new axes; the columns of R (3, 3) are the old axes in the new ones."""
    return R @ I @ R.T


def of_bodies(m: Floats, c: Floats, I_C: Floats) -> tuple[float, Floats, Floats]:
    """Return mass, centre of mass and tensor about it of rigidly joined bodies.

    Args:
        m: (K,) masses [kg].
        c: (K, 3) centres of mass [m].
        I_C: (K, 3, 3) tensors about these, in parallel axes.
    """
    M = float(np.sum(m))
    C = m @ c / M
    bodies = zip(I_C, m, c - C, strict=True)
    return M, C, np.sum([parallel_axis(*body) for body in bodies], axis=0)
