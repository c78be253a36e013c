"""The first moment of a load, where the torque does not separate its mass and centre of mass.

About one axis a mass m at c weighs by m (c - p) across the axis, with p any point of it: a heavy
load near the axis is no other than a light one far from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import IdentificationError
from featherstone_ros.identification.base_parameters import UNDETERMINED
from featherstone_ros.identification.explanation import CERTAIN

LEVER = 0.1  # [m] scales the first moment to the mass
UNKNOWN = 100.0  # [kg] prior deviation of the mass, and of the first moment / LEVER
SEPARATE = 0.01  # relative singular value of mass and first moment that are told apart


@dataclass(frozen=True, eq=False)
class FirstMoment:
    """What is known of m (c - p), the first moment of a mass m at c about p, in link axes."""

    about: Floats  # (3,) p, where a mass would make no difference, nearest to the link's origin [m]
    directions: Floats  # (k, 3) orthonormal, along which it is determined; k is 0 to 3
    values: Floats  # (k,) it along each [kg m]
    deviations: Floats  # (k,) standard deviation of each [kg m]
    # relative singular value of mass and first moment: 0 where the torque leaves some combination
    # of them open, 1 where it tells all as well
    separation: float

    @property
    def shows_load(self) -> bool:
        """Whether there is a load, although the torque does not tell its mass."""
        seen = np.abs(self.values) > CERTAIN * self.deviations
        return self.separation < SEPARATE and bool(seen.any())


class UnseparatedError(IdentificationError):
    """The torque does not tell mass and centre of mass of a load apart.

    Attributes:
        link: That carries it.
        moment: What it tells of them.
    """

    def __init__(self, link: str, moment: FirstMoment) -> None:
        """Say what is known of the load on ``link``, and how to know more."""
        self.link, self.moment = link, moment
        super().__init__(
            f"the motion does not separate mass and centre of mass of a load on {link}: turn the "
            f"link about several axes{_in_words(moment)}"
        )


def first_moment(R: Floats, y: Floats) -> FirstMoment:
    """Return the first moment, by least squares.

    It is taken about the point at which it has least to do with the mass.

    ``R`` (r, p) regressor of torque of unit noise; its first columns are those of mass and first
    moment about the link's origin. ``y`` (r,) the torque.
    """
    scale = np.array([1.0, LEVER, LEVER, LEVER])
    others = R[:, 4:] / (np.linalg.norm(R[:, 4:], axis=0) + 1e-300)
    U, s, _ = np.linalg.svd(others, full_matrices=False)
    U = U[:, s > UNDETERMINED * s.max(initial=0.0)]
    own = R[:, :4] * scale
    left = own - U @ (U.T @ own)
    strengths = np.linalg.svd(left, compute_uv=False)
    rows, told = np.vstack([left, np.eye(4) / UNKNOWN]), np.append(y - U @ (U.T @ y), np.zeros(4))
    U, s, Vt = np.linalg.svd(rows, full_matrices=False)
    x = Vt.T @ (U.T @ told / s)
    covariance = (Vt.T / s**2) @ Vt
    about = covariance[1:, 0] / covariance[0, 0]
    apart = np.column_stack([-about, np.eye(3)])
    of_moment = apart @ covariance @ apart.T
    variances, axes = np.linalg.eigh(of_moment)
    known = axes[:, variances < (UNKNOWN / 10) ** 2]
    directions = _along_axes(known)
    return FirstMoment(
        about * LEVER,
        directions,
        directions @ (apart @ x) * LEVER,
        np.sqrt(np.einsum("ki,ij,kj->k", directions, of_moment, directions)) * LEVER,
        float(strengths[-1] / (np.linalg.norm(own) + 1e-300)) if len(strengths) == 4 else 0.0,
    )


def _along_axes(space: Floats) -> Floats:
    """Return an orthonormal basis (k, 3) of a space (3, k), along the axes of x, y, z if it can."""
    projector, basis = space @ space.T, np.empty((0, 3))
    for _ in range(space.shape[1]):
        nearest = int(np.argmax(np.diag(projector)))
        basis = np.vstack([basis, projector[nearest] / np.sqrt(projector[nearest, nearest])])
        projector = projector - np.outer(basis[-1], basis[-1])
    return basis[np.argsort(np.abs(basis).argmax(axis=1), kind="stable")]


def _in_words(moment: FirstMoment) -> str:
    if not len(moment.values):
        return "; no joint that was recorded feels how it weighs"
    about = "" if np.allclose(moment.about, 0, atol=1e-4) else f" - {_vector(moment.about)} m"
    told = ", ".join(
        f"{value:.4g} ± {2 * deviation:.2g} along {_vector(direction)}"
        for value, direction, deviation in zip(
            moment.values, moment.directions, moment.deviations, strict=True
        )
    )
    what = f"m (c{about})" if about else "m c"
    return (
        ", or say where its centre of mass is (--com, or com in Python). Of its mass m and centre "
        f"c the torque tells {what} [kg m, with two standard deviations]: {told}"
    )


def _vector(values: Floats) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in values.round(4) + 0.0) + ")"
