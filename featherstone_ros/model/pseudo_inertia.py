"""Ten inertial parameters as one symmetric 4 by 4 matrix, the pseudo-inertia.

    J = integral of [r; 1] [r; 1]^T dm = [[S, h], [h^T, m]],   S = tr(I) E / 2 - I

with mass m, first moment h and inertia I about the origin of the link's frame. Some body (of
non-negative density, not all in one plane) has this inertia if and only if J is positive definite;
in another frame it is T J T^T with the homogeneous transform T (P. Wensing, S. Kim and
J.-J. Slotine, "Linear matrix inequalities for physically consistent inertial parameter
identification", RA-L 2018).
"""

from __future__ import annotations

import numpy as np

from featherstone_ros.arrays import Floats

# Places of the vector's xx xy xz yy yz zz in the inertia matrix.
UPPER = ROWS, COLUMNS = np.triu_indices(3)
# (16, 10) m, h and tr(S) E - S of J, row by row: one product is quicker than ten assignments.
_PARAMETERS = np.zeros((16, 10))
_PARAMETERS[[15, 3, 7, 11], range(4)] = 1.0
_PARAMETERS[4 * ROWS + COLUMNS, range(4, 10)] = -1.0
_PARAMETERS[[0, 5, 10], 4:] += np.eye(3)[ROWS, COLUMNS]


def pseudo_inertia(parameters: Floats) -> Floats:
    """Return J (..., 4, 4) of ten parameters (..., 10), see ``Model.inertial_parameters``."""
    parameters = np.asarray(parameters, dtype=float)
    inertia = inertia_matrix(parameters[..., 4:])
    trace = np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    J = np.empty((*parameters.shape[:-1], 4, 4))
    J[..., :3, :3] = trace / 2 * np.eye(3) - inertia
    J[..., :3, 3] = J[..., 3, :3] = parameters[..., 1:4]
    J[..., 3, 3] = parameters[..., 0]
    return J


def inertial_parameters(J: Floats) -> Floats:
    """Return the ten parameters (..., 10) of pseudo-inertias (..., 4, 4)."""
    return J.reshape(*J.shape[:-2], 16) @ _PARAMETERS


def inertia_matrix(six: Floats) -> Floats:
    """Return the symmetric matrix (..., 3, 3) of xx xy xz yy yz zz (..., 6)."""
    matrix = np.empty((*six.shape[:-1], 3, 3))
    matrix[..., ROWS, COLUMNS] = matrix[..., COLUMNS, ROWS] = six
    return matrix


def transform(rotation: Floats, translation: Floats) -> Floats:
    """Return T (..., 4, 4) of the orientations (..., 3, 3) and origins (..., 3) of frames."""
    T = np.zeros((*np.shape(rotation)[:-2], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = rotation, translation, 1.0
    return T


def in_frame(J: Floats, T: Floats) -> Floats:
    """Return T J T^T: J in the frame relative to which T gives the pose of its present frame."""
    return T @ J @ np.swapaxes(T, -1, -2)
