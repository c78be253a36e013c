"""Fits physically possible bodies and drives to the torque, with the URDF as prior.

    min over theta, phi of  |W (A [pi(theta); phi] - tau)|^2 + |theta / width|^2 + |phi / spread|^2

pi(theta) are the parameters of bodies deformed as in ``bodies``, hence always possible; friction
and armature are bounded below by 0. The torque enters through the R of a QR factorisation, so an
iteration costs as much for an hour of motion as for a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.bodies import SIZE, Deformable
from featherstone_ros.identification.filtering import needed_from_scipy
from featherstone_ros.identification.friction import Friction, Law
from featherstone_ros.identification.regression import Equations

WIDTHS = (0.03, 0.1, 0.2, 0.4, 0.8)  # candidates for the prior's width about the URDF
FOLDS = 4  # of the cross-validation that chooses the width
MOST_ITERATIONS = 200
LOAD_SPREAD = 0.1  # prior of Coulomb friction per torque of the links: losses of a gear
FREE_SPREAD = 1e3  # [SI] of friction and offset: practically no prior
CONVERGED = 1e-9  # least relative change of the sum of squares in an iteration


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a fit.

    Attributes:
        theta: (10 b,) deformation of the bodies.
        drives: Each of ``Law.terms`` of n joints.
    """

    theta: Floats
    drives: Floats

    def unknowns(self, bodies: Deformable) -> Floats:
        """Return x in the order of ``regression``."""
        return np.concatenate([bodies.deformed(self.theta), self.drives])

    def friction(self, law: Law) -> Friction:
        """Return the drives by name; ``thinning`` is the law's."""
        values = self.drives.reshape(len(law.terms), -1)
        terms: dict[str, Any] = dict(zip(law.terms, values, strict=True))
        return Friction(**terms)


def noise(equations: Equations) -> Floats:
    """Return the standard deviation (n,) that weights each joint's torque [N m or N].

    It is the residual of the linear fit with all parameters free, raised where that is correlated:
    then there are fewer independent samples.
    """
    p = equations.A.shape[2]
    A = equations.A.reshape(-1, p)
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0] = 1.0
    x = np.linalg.lstsq(A / scale, equations.tau.ravel(), rcond=1e-9)[0] / scale
    left = equations.tau - equations.A @ x
    sigma = np.sqrt((left**2).mean(axis=0) * _correlation_length(left))
    least = 1e-4 * np.abs(equations.tau).max(axis=0) + 1e-9
    return np.maximum(sigma, least)


def _correlation_length(left: Floats) -> Floats:
    """Return the samples (n,) per independent one: 1 + 2 sum of autocorrelation to its zero."""
    centred = left - left.mean(axis=0)
    variance = (centred**2).mean(axis=0) + 1e-300
    lengths = np.ones(left.shape[1])
    for j, column in enumerate(centred.T):
        for lag in range(1, len(column) // 4):
            correlation = (column[lag:] @ column[:-lag]) / len(column) / variance[j]
            if correlation <= 0:
                break
            lengths[j] += 2 * correlation
    return lengths


def solve(
    R: Floats,
    y: Floats,
    bodies: Deformable,
    armature_spread: Floats,
    width: ArrayLike,
    start: Fit | None = None,
) -> Fit:
    """Fit bodies and drives.

    Args:
        R: (r, p) of ``Equations.reduced``, weighted by the noise.
        y: (r,) likewise.
        bodies: The bodies to deform.
        armature_spread: (n,) prior standard deviation of the drives' inertia [kg m^2 or kg].
        width: Prior standard deviation of theta, for each component or all.
        start: Initial guess, e.g. from other data; None: the URDF.

    Raises:
        EvaluationError: scipy is missing.
    """
    optimize = needed_from_scipy("optimize")
    b, n = SIZE * len(bodies.U), len(armature_spread)
    pull = _pull(b, R.shape[1] - b, armature_spread, width)
    by_bodies = np.ascontiguousarray(R[:, :b].reshape(len(R), b // SIZE, SIZE).swapaxes(0, 1))

    def residuals(x: Floats) -> Floats:
        return np.concatenate([R[:, :b] @ bodies.deformed(x[:b]) + R[:, b:] @ x[b:] - y, pull * x])

    def jacobian(x: Floats) -> Floats:
        by_theta = (by_bodies @ bodies.jacobian(x[:b])).swapaxes(0, 1).reshape(len(R), b)
        return np.vstack([np.hstack([by_theta, R[:, b:]]), np.diag(pull)])

    lower = np.full(R.shape[1], -np.inf)
    lower[b:-n] = 0.0
    if start is None:
        theta, drives = np.zeros(b), np.zeros(R.shape[1] - b)
        drives[:-n], drives[:n] = 0.1, 0.1 * armature_spread
        start = Fit(theta, drives)
    found = optimize.least_squares(
        residuals, np.concatenate([start.theta, start.drives]), jacobian, (lower, np.inf),
        x_scale="jac", max_nfev=MOST_ITERATIONS, ftol=CONVERGED,
    )  # fmt: skip
    return Fit(found.x[:b], found.x[b:])


def _pull(b: int, drives: int, armature_spread: Floats, width: ArrayLike) -> Floats:
    """Return the reciprocal prior deviations of b components of theta and of the drives' terms."""
    n, spread = len(armature_spread), np.full(drives, FREE_SPREAD)
    spread[:n] = armature_spread
    if drives == 5 * n:
        spread[3 * n : 4 * n] = LOAD_SPREAD
    return 1 / np.concatenate([np.broadcast_to(np.asarray(width, float), b), spread])


def covariance_factor(
    R: Floats, bodies: Deformable, armature_spread: Floats, width: ArrayLike, fit: Fit
) -> Floats:
    """Return F (p, p): the errors of ``fit.unknowns`` are F times independent ones of deviation 1.

    Arguments as for ``solve``, by which the fit was found.
    """
    block_diag = needed_from_scipy("linalg").block_diag
    b = len(fit.theta)
    chain = block_diag(*bodies.jacobian(fit.theta), np.eye(R.shape[1] - b))
    pull = np.diag(_pull(b, R.shape[1] - b, armature_spread, width))
    return np.asarray(chain @ np.linalg.inv(np.linalg.qr(np.vstack([R @ chain, pull]), "r")))


def choose_width(
    equations: Equations,
    sigma: Floats,
    bodies: Deformable,
    armature_spread: Floats,
    widths: Sequence[float] = WIDTHS,
    step: Callable[[], None] = lambda: None,
) -> tuple[float, Floats]:
    """Return the prior width with the best cross-validation, and its errors.

    The errors are each joint's residual sum of squares / sum of squares about the mean (n,); the
    width with the least sum is best.

    Args:
        equations: Of the motion to fit.
        sigma: (n,) from ``noise``.
        bodies: As for ``solve``.
        armature_spread: As for ``solve``.
        widths: Candidates.
        step: Called after each fit.
    """
    edges = np.linspace(0, 1, FOLDS + 1)
    folds = [equations.between(*pair) for pair in pairwise(edges)]
    reduced = [fold.reduced(1 / sigma) for fold in folds]
    spread = ((equations.tau - equations.tau.mean(axis=0)) ** 2).sum(axis=0) + 1e-300
    errors, fit = [], None
    for width in widths:
        left = np.zeros(len(sigma))
        for k, fold in enumerate(folds):
            others = [part for j, part in enumerate(reduced) if j != k]
            rows = np.vstack([np.column_stack(part) for part in others])
            R, y = np.split(np.linalg.qr(rows, "r"), [-1], axis=1)
            fit = solve(R, y[:, 0], bodies, armature_spread, width, start=fit)
            left += ((fold.tau - fold.A @ fit.unknowns(bodies)) ** 2).sum(axis=0)
            step()
        errors.append(left / spread)
    best = int(np.argmin(np.sum(errors, axis=1)))
    return widths[best], errors[best]
