"""Inertial figures of links: as measured, of homogeneous solids, and of several together."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.errors import ModelError
from featherstone_ros.figures import finite, not_negative, positive, rotation_matrix
from featherstone_ros.urdf import Inertial

ORIGIN = (0.0, 0.0, 0.0)
UNTURNED = (0.0, 0.0, 0.0)  # roll, pitch, yaw


def inertial(mass: float, com: ArrayLike = ORIGIN, inertia: ArrayLike | None = None) -> Inertial:
    """Return inertial figures as given.

    Args:
        mass: [kg], at least 0.
        com: (3,) centre of mass in the link's frame [m].
        inertia: (3, 3) about that point, in the link's axes [kg m^2]; None for a point mass.

    Raises:
        ModelError: A figure is not finite, mass is negative or inertia not symmetric.
    """
    mass = not_negative("mass", mass)
    inertia = finite("inertia", np.zeros((3, 3)) if inertia is None else inertia, (3, 3))
    rounding = 1e-9 * np.abs(inertia).max()
    if not np.allclose(inertia, inertia.T, rtol=0, atol=rounding):
        raise ModelError(f"inertia is {inertia.tolist()}, expected a symmetric matrix")
    return Inertial(mass, finite("com", com, (3,)), inertia)


def box(
    size: ArrayLike,
    *,
    mass: float | None = None,
    density: float | None = None,
    translation: ArrayLike = ORIGIN,
    rotation: ArrayLike = UNTURNED,
) -> Inertial:
    """Return the inertial figures of a homogeneous box.

    Args:
        size: (3,) lengths of its edges, along its x, y and z axes [m].
        mass: [kg]; either this or ``density``.
        density: [kg/m^3].
        translation: (3,) its centre in the link's frame [m].
        rotation: Orientation of its axes there: (3, 3), or roll, pitch and yaw [rad].

    Raises:
        ModelError: A figure cannot be used, or not exactly one of mass and density is given.
    """
    x, y, z = positive("size of a box", size, (3,))
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
    """Return the inertial figures of a homogeneous cylinder along its z axis.

    Args:
        radius: [m].
        length: [m].
        mass: As for ``box``.
        density: As for ``box``.
        translation: As for ``box``.
        rotation: As for ``box``.

    Raises:
        ModelError: As ``box``.
    """
    r, h = positive("radius and length of a cylinder", (radius, length), (2,))
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
    """Return the inertial figures of a homogeneous sphere.

    Args:
        radius: [m].
        mass: As for ``box``.
        density: As for ``box``.
        translation: As for ``box``.

    Raises:
        ModelError: As ``box``.
    """
    r = float(positive("radius of a sphere", radius))
    mass = _mass("sphere", 4 / 3 * math.pi * r**3, mass, density)
    return _placed(mass, np.full(3, 0.4 * mass * r**2), translation, UNTURNED)


def together(parts: Sequence[Inertial]) -> Inertial:
    """Return the inertial figures of several parts that make one rigid body."""
    masses = np.array([part.mass for part in parts])
    centres = np.array([part.com for part in parts])
    mass = masses.sum()
    com = masses @ centres / mass if mass else np.zeros(3)
    d = centres - com
    spread = (masses * d.T) @ d  # the sum of m d d^T, whose moments the parallel-axis theorem adds
    own = sum(part.inertia for part in parts)
    return Inertial(float(mass), com, own + np.trace(spread) * np.eye(3) - spread)


def _mass(solid: str, volume: float, mass: float | None, density: float | None) -> float:
    if (mass is None) == (density is None):
        raise ModelError(
            f"mass of a {solid} is {mass!r} and its density {density!r}, expected one of the two"
        )
    if density is None:
        return float(positive(f"mass of a {solid}", mass))
    return float(volume * positive(f"density of a {solid}", density))


def _placed(
    mass: float, moments: ArrayLike, translation: ArrayLike, rotation: ArrayLike
) -> Inertial:
    """Turn principal moments of inertia, about the centre of mass, into the link's axes."""
    R = rotation_matrix("rotation", rotation)
    return Inertial(mass, finite("translation", translation, (3,)), R * moments @ R.T)
