"""Base parameters by weighted least squares, from the data alone; how wrong an arm's model may be.

``estimate`` gives base parameters with standard deviations.

``probable_widths`` judges an arm's model by the torque that it leaves unexplained. The links
deviate from it by unknown deformations theta (see ``bodies``), all of the same standard deviation,
the width. What of this shows in the torque, beyond noise and the fitted unknowns, says how large
the width is; by it, the part that hides in the unknowns is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.base_parameters import BaseParameters
from featherstone_ros.identification.bodies import SIZE, Bodies
from featherstone_ros.identification.fit import Fit, noise
from featherstone_ros.identification.friction import drive_terms
from featherstone_ros.identification.regression import Equations

KNOWN_BEFORE = 0.3  # prior standard deviation of theta, which the data must improve on
LINK_WIDTHS = np.geomspace(0.001, 1.0, 31)  # equally probable before the data: figures are rounded
IMPROBABLE = 1e-3  # relative probability of widths that do not count
UNDETERMINED = 1e-9  # relative singular value of unknowns that the torque does not determine


@dataclass(frozen=True, eq=False)
class Estimate:
    """r base parameters and the friction of j joints, without any prior."""

    names: tuple[str, ...]  # r + 3 j names, r + 4 j if friction grows with the load
    value: Floats  # by least squares
    deviation: Floats  # standard deviation of each; inf where the data do not determine it
    urdf: Floats  # from the description; NaN for friction
    fitted: Floats  # from the fitted possible bodies and drives
    scale: Floats  # standard deviation of each if every body were known to 30 %; inf for friction
    identified: NDArray[np.bool_]  # whether the data are more precise than ``scale``

    @property
    def unidentified(self) -> list[str]:
        """Names of what could not be identified."""
        return [n for n, known in zip(self.names, self.identified, strict=True) if not known]


def estimate(
    facts: Equations,
    sigma: Floats,
    base: BaseParameters,
    bodies: Bodies,
    fit: Fit,
    judged: Sequence[int],
) -> Estimate:
    """Estimate base parameters and friction.

    ``facts``: equations of the judged joints, unknowns as in ``fit``. ``sigma`` (j,) from
    ``fit.noise``. ``base``: of the model's bodies and all its drives' armature.
    """
    b, n, j = SIZE * len(bodies.names), bodies.model.n, len(judged)
    names = np.array(base.texts())
    judged_armature = [b + k for k in judged]
    links = base.independent < b
    kept = links | np.isin(base.independent, judged_armature)
    columns = base.independent.copy()
    for place, column in enumerate(judged_armature):
        columns[base.independent == column] = b + place
    of_drives = np.arange(b + j, facts.A.shape[2])
    of_drives = of_drives[facts.A[:, :, of_drives].any(axis=(0, 1))]  # the terms that the law has
    chosen = np.concatenate([columns[kept], of_drives])
    A = (facts.A[:, :, chosen] / sigma[:, None]).reshape(-1, len(chosen))
    value, deviation = least_squares(A, (facts.tau / sigma).ravel())

    full = np.zeros((2, b + n))  # of the description and of the fit, drives included
    full[0, :b] = bodies.parameters
    full[1, :b] = bodies.deformed(fit.theta)
    full[1, judged_armature] = fit.drives[:j]
    mapped = (base.mapping @ full.T)[kept].T
    friction = fit.drives[of_drives - b]
    prior = _prior_deviation(base, bodies, fit)[kept]
    joints = [bodies.model.joint_names[k] for k in judged]
    every_term = drive_terms((facts.A.shape[2] - b) // j)
    terms = [f"{every_term[k // j]}.{joints[k % j]}" for k in of_drives - b]
    every = np.concatenate([prior, np.full(len(terms), np.inf)])
    return Estimate(
        (*names[kept].tolist(), *terms),
        value,
        deviation,
        np.concatenate([mapped[0], np.full(len(terms), np.nan)]),
        np.concatenate([mapped[1], friction]),
        every,
        deviation < every,
    )


def least_squares(A: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Solve A x = y of unit noise; return x and its standard deviations, inf if undetermined.

    Directions of x whose singular value is negligible are left at 0.
    """
    scale = np.linalg.norm(A, axis=0)
    seen = scale > 0
    scale[~seen] = 1.0
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    good = s > UNDETERMINED * s[0]
    x = Vt[good].T @ ((U[:, good].T @ y) / s[good]) / scale
    deviation = np.sqrt(((Vt[good].T / s[good]) ** 2).sum(axis=1)) / scale
    hidden = (Vt[~good] ** 2).sum(axis=0) > UNDETERMINED
    deviation[hidden | ~seen] = np.inf
    return x, deviation


def _prior_deviation(base: BaseParameters, bodies: Bodies, fit: Fit) -> Floats:
    """Return the deviation (r,) of base parameters if every body were known to 30 %."""
    columns = base.mapping[:, : len(fit.theta)]
    by_theta = bodies.by_theta(columns, np.zeros_like(fit.theta))
    deviation = KNOWN_BEFORE * np.linalg.norm(by_theta, axis=1)
    return np.where(deviation > 0, deviation, np.inf)  # only a drive's inertia: no prior


def probable_widths(facts: Equations, by_theta: Floats) -> tuple[Floats, Floats]:
    """Return the widths (k,) that the torque allows for, and their probabilities (k,).

    The probability of one, for unit noise, is that of the torque orthogonal to the fitted unknowns:
    normal with variance 1 + (width s)^2 along each singular direction of ``by_theta`` there.

    ``facts``: N samples of the torque that the arm leaves, and the unknowns that may explain it:
    drives too, even where they are known, for their errors are not those of links. ``by_theta``
    (N, n, 10 b), filtered likewise.
    """
    p = facts.A.shape[2]
    both = facts.beside(Equations(by_theta, facts.tau))
    R, y = both.reduced(1 / noise(both))
    R, y = R[:-1], y[:-1]  # the last row is noise alone
    U, s, _ = np.linalg.svd(R[:, :p] / (np.linalg.norm(R[:, :p], axis=0) + 1e-300))
    rest = U[:, np.count_nonzero(s > UNDETERMINED * s[0]) :]
    U, s, _ = np.linalg.svd(rest.T @ R[:, p:], full_matrices=False)
    seen = U.T @ (rest.T @ y)
    variance = 1 + (LINK_WIDTHS[:, None] * s) ** 2
    logarithm = -0.5 * (np.log(variance) + seen**2 / variance).sum(axis=1)
    probability = np.exp(logarithm - logarithm.max())
    counted = probability > IMPROBABLE
    return LINK_WIDTHS[counted], probability[counted] / probability[counted].sum()
