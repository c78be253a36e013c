"""Inertial values of links: as measured, of homogeneous solids, and of several together."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats, finite_number, positive_array
from featherstone_ros.errors import ModelError
from featherstone_ros.model.arguments import finite, rotation_matrix
from featherstone_ros.model.robot_description import Inertial

ORIGIN = (0.0, 0.0, 0.0)
UNTURNED = (0.0, 0.0, 0.0)  # roll, pitch, yaw


def inertial(mass: float, com: ArrayLike = ORIGIN, inertia: ArrayLike | None = None) -> Inertial:
    """Return inertial values, checked.

    ``mass`` [kg], ``com`` (3,) centre of mass in the link's frame [m], ``inertia`` (3, 3) about
    that point, in the link's axes [kg m^2]; None for a point mass.

    Raises:
        ModelError: A value is not finite, mass or a principal moment of inertia is negative, or
            inertia is not symmetric.
    """
    mass = finite_number("mass", mass, 0.0, ModelError)
    inertia = finite("inertia", np.zeros((3, 3)) if inertia is None else inertia, (3, 3))
    rounding = 1e-9 * np.abs(inertia).max()
    if not np.allclose(inertia, inertia.T, rtol=0, atol=rounding):
        raise ModelError(f"inertia is {inertia.tolist()}, expected a symmetric matrix")
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -rounding:
        raise ModelError(
            f"inertia is {inertia.tolist()}, with the principal moment {moments[0]:g}, "
            "expected none below 0"
        )
    return Inertial(mass, finite("com", com, (3,)), inertia)


def box(
    size: ArrayLike,
    *,
    mass: float | None = None,
    density: float | None = None,
    translation: ArrayLike = ORIGIN,
    rotation: ArrayLike = UNTURNED,
) -> Inertial:
    """Return the inertial values of a homogeneous box.

    Args:
        size: (3,) lengths of its edges, along its x, y and z axes [m].
        mass: [kg]; either this or ``density``.
        density: [kg/m^3].
        translation: (3,) its centre in the link's frame [m].
        rotation: Orientation of its axes there: (3, 3), or roll, pitch and yaw [rad].

    Raises:
        ModelError: A value cannot be used, or not exactly one of mass and density is given.
    """
    x, y, z = positive_array("size of a box", size, (3,), ModelError)
    mass = _mass("box", x * y * z, mass, density)
    moments = mass / 12 * np.array([y**2 + z**2, x**2 + z**2, x**2 + y**2])
    return _placed(mass, moments, translation, rotation)


def cylinder(
    radius: float,
    length: float,
    *,
    mass: float | None = None,
    density: float | None = None,
    translation: ArrayLike = ORIGIN,
    rotation: ArrayLike = UNTURNED,
) -> Inertial:
    """Return the inertial values of a homogeneous cylinder along its z axis.

    ``radius`` and ``length`` [m]; the other arguments, and the errors, are those of ``box``.
    """
    r, h = positive_array("radius and length of a cylinder", (radius, length), (2,), ModelError)
    mass = _mass("cylinder", math.pi * r**2 * h, mass, density)
    across = (3 * r**2 + h**2) / 12
    return _placed(mass, mass * np.array([across, across, r**2 / 2]), translation, rotation)


def sphere(
    radius: float,
    *,
    mass: float | None = None,
    density: float | None = None,
    translation: ArrayLike = ORIGIN,
) -> Inertial:
    """Return the inertial values of a homogeneous sphere of ``radius`` [m]; else as ``box``."""
    r = float(positive_array("radius of a sphere", radius, (), ModelError))
    mass = _mass("sphere", 4 / 3 * math.pi * r**3, mass, density)
    return _placed(mass, np.full(3, 0.4 * mass * r**2), translation, UNTURNED)


def mesh(
    triangles: ArrayLike,
    *,
    mass: float | None = None,
    density: float | None = None,
    translation: ArrayLike = ORIGIN,
    rotation: ArrayLike = UNTURNED,
) -> Inertial:
    """Return the inertial values of a homogeneous solid that triangles enclose.

    Each triangle forms a tetrahedron with an inner point; its integrals of 1, x and x x^T are
    polynomials of its corners, negative where its outer side faces the point. B. Mirtich, "Fast and
    accurate computation of polyhedral mass properties", 1996, gets the same from integrals over
    projected faces.

    ``triangles`` (T, 3, 3): the corners of each, all in the same order seen from outside [m]; from
    vertices and faces, ``vertices[faces]``. Neighbours must share corners exactly, to the last bit.
    ``translation`` (3,): the mesh's origin in the link's frame [m]. The rest is as for ``box``.

    Raises:
        ModelError: As ``box``; or the triangles do not enclose a volume: the message gives an edge
            of a missing or reversed triangle.
    """
    corners = _closed(triangles)
    middle = corners.mean(axis=(0, 1))  # a near point, so that the integrals do not cancel
    a, b, c = np.moveaxis(corners - middle, 1, 0)
    volumes = np.einsum("ti,ti->t", a, np.cross(b, c)) / 6
    volume = volumes.sum()
    if not abs(volume) > 1e-12 * np.abs(volumes).sum():
        raise ModelError(f"triangles of a mesh enclose {volume:g} m^3, expected a volume")
    total = a + b + c  # four times the tetrahedron's centre, whose fourth corner is the origin
    com = volumes @ total / (4 * volume)
    corner_sums = np.einsum("t,tki,tkj->ij", volumes, corners - middle, corners - middle)
    second = (corner_sums + np.einsum("t,ti,tj->ij", volumes, total, total)) / (20 * volume)
    spread = second - np.outer(com, com)  # the mean of x x^T about the centre of mass
    mass = _mass("mesh", abs(volume), mass, density)
    R = rotation_matrix("rotation", rotation)
    inertia = mass * (np.trace(spread) * np.eye(3) - spread)
    at = finite("translation", translation, (3,)) + R @ (com + middle)
    return Inertial(mass, at, R @ inertia @ R.T)


def together(parts: Sequence[Inertial]) -> Inertial:
    """Return the inertial values of several parts that form one rigid body."""
    masses = np.array([part.mass for part in parts])
    centres = np.array([part.com for part in parts])
    mass = masses.sum()
    com = masses @ centres / mass if mass else np.zeros(3)
    d = centres - com
    spread = (masses * d.T) @ d  # sum of m d d^T, for the parallel-axis theorem
    own = sum(part.inertia for part in parts)
    return Inertial(float(mass), com, own + np.trace(spread) * np.eye(3) - spread)


def _closed(triangles: ArrayLike) -> Floats:
    """Return triangles (T, 3, 3) that are finite and make a closed surface.

    Each edge of a triangle must be an edge of another in the opposite direction.
    """
    try:
        corners = np.array(triangles, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"triangles of a mesh are not numbers: {error}") from error
    if corners.ndim != 3 or corners.shape[1:] != (3, 3) or not len(corners):
        raise ModelError(f"triangles of a mesh have shape {corners.shape}, expected (T, 3, 3)")
    if not np.isfinite(corners).all():
        odd = np.flatnonzero(~np.isfinite(corners).all(axis=(1, 2)))[0]
        raise ModelError(
            f"triangle {odd} of a mesh is {corners[odd].tolist()}, expected finite numbers"
        )
    points, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    start = index.reshape(-1, 3)
    edges = np.stack([start, np.roll(start, -1, axis=1)], axis=-1).reshape(-1, 2)
    unpaired = Counter(map(tuple, edges.tolist()))
    unpaired.subtract(map(tuple, edges[:, ::-1].tolist()))
    for edge, surplus in unpaired.items():
        if surplus > 0:
            ends = " to ".join(str(points[end].tolist()) for end in edge)
            raise ModelError(
                f"edge {ends} of a mesh has no triangle on its other side, expected a closed "
                "surface whose triangles all face outwards"
            )
    return corners


def _mass(solid: str, volume: float, mass: float | None, density: float | None) -> float:
    if (mass is None) == (density is None):
        raise ModelError(
            f"mass of a {solid} is {mass!r} and its density {density!r}, expected one of the two"
        )
    what, value, per = ("density", density, volume) if mass is None else ("mass", mass, 1.0)
    return float(per * positive_array(f"{what} of a {solid}", value, (), ModelError))  # type: ignore[arg-type]


def _placed(mass: float, moments: Floats, translation: ArrayLike, rotation: ArrayLike) -> Inertial:
    """Turn principal moments of inertia, about the centre of mass, into the link's axes."""
    R = rotation_matrix("rotation", rotation)
    return Inertial(mass, finite("translation", translation, (3,)), R * moments @ R.T)


# Places of the vector's xx xy xz yy yz zz in the inertia matrix.
UPPER = ROWS, COLUMNS = np.triu_indices(3)
# (16, 10) m, h and tr(S) E - S of J, row by row: one product is quicker than ten assignments.
_PARAMETERS = np.zeros((16, 10))
_PARAMETERS[[15, 3, 7, 11], range(4)] = 1.0
_PARAMETERS[4 * ROWS + COLUMNS, range(4, 10)] = -1.0
_PARAMETERS[[0, 5, 10], 4:] += np.eye(3)[ROWS, COLUMNS]


def pseudo_inertia(parameters: Floats) -> Floats:
    """Return J (..., 4, 4) of ten parameters (..., 10), see ``Model.inertial_parameters``."""
    parameters = np.asarray(parameters)
    inertia = inertia_matrix(parameters[..., 4:])
    trace = np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    J = np.empty((*parameters.shape[:-1], 4, 4), np.result_type(parameters, float))
    J[..., :3, :3] = trace / 2 * np.eye(3) - inertia
    J[..., :3, 3] = J[..., 3, :3] = parameters[..., 1:4]
    J[..., 3, 3] = parameters[..., 0]
    return J


def inertial_parameters(J: Floats) -> Floats:
    """Return the ten parameters (..., 10) of pseudo-inertias (..., 4, 4)."""
    return J.reshape(*J.shape[:-2], 16) @ _PARAMETERS


def inertia_matrix(six: Floats) -> Floats:
    """Return the symmetric matrix (..., 3, 3) of xx xy xz yy yz zz (..., 6)."""
    matrix = np.empty((*six.shape[:-1], 3, 3), six.dtype)
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
