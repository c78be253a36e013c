"""The inertia tensor of a rigid body: its definition, and how it moves, turns and adds up.

Tensors are symmetric 3x3 matrices [kg m^2] with the products of inertia negative off the diagonal,
as in a URDF: I = sum of m (r.r 1 - r r^T).
"""

import numpy as np


def of_points(m, r):
    """Return the tensor about the origin of point masses m (K,) [kg] at r (K, 3) [m]."""
    return sum(parallel_axis(np.zeros((3, 3)), *point) for point in zip(m, r, strict=True))


def of_box(m, sides):
    """Return the tensor of a uniform box about its centre, along its sides (3,) [m]."""
    x, y, z = np.square(sides)
    return m / 12 * np.diag([y + z, z + x, x + y])


def parallel_axis(I_C, m, c):
    """Return the tensor about the origin of a body of mass m with its centre of mass at c (3,).

    Args:
        I_C: (3, 3) tensor about the centre of mass, in parallel axes.
        m: Mass [kg].
        c: (3,) [m].
    """
    return I_C + m * (c @ c * np.eye(3) - np.outer(c, c))


def turned(I, R):
    """Return the tensor in axes in which R (3, 3) gives the directions of the old ones."""
    return R @ I @ R.T


def of_bodies(m, c, I_C):
    """Return mass, centre of mass and tensor about it of rigidly joined bodies.

    Args:
        m: (K,) masses [kg].
        c: (K, 3) centres of mass [m].
        I_C: (K, 3, 3) tensors about these, in parallel axes.
    """
    M = np.sum(m)
    C = m @ c / M
    return M, C, sum(parallel_axis(*body) for body in zip(I_C, m, c - C, strict=True))
