"""Fits physically possible bodies and drives to the torque, with the URDF as prior.

    min over theta, phi of  |W (A [pi(theta); phi] - tau)|^2 + |theta / width|^2 + |phi / spread|^2
                            + |min(0, V pi(theta))|^2

pi(theta) are the parameters of bodies deformed as in ``bodies``, hence always possible; friction
and armature are bounded below by 0; V keeps bodies within their links' volumes. The torque enters
through the R of a QR factorisation, so an iteration costs as much for an hour of motion as for a
minute. Each is a step of Levenberg and Marquardt among the unknowns that no bound holds, cut off at
the bounds, and one that takes back how far the torque bends away from that straight line (M.
Transtrum and J. Sethna, "Improvements to the Levenberg-Marquardt algorithm for nonlinear least-
squares minimization", arXiv 1201.5885): precise torque leaves a narrow curved valley of bodies,
which straight steps follow ten times slower.

Masses have another prior width than shapes: a robot whose masses alone are wrong is no less likely
than one that is wrong in all. The widths are those of greatest evidence (D. MacKay, "Bayesian
interpolation", Neural Computation 1992): the probability of the torque with theta and phi
integrated out, which pays for every direction of theta that the data do not need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.bodies import SIZE, Deformable
from featherstone_ros.identification.explanation import squares_about_mean
from featherstone_ros.identification.regression import Equations, Law
from featherstone_ros.model.drives import Drives

WIDTHS = (0.01, 0.03, 0.1, 0.2, 0.4)  # candidates for the prior's widths about the URDF
FOLDS = 4  # of a cross-validation
MAX_ITERATIONS = 200
DAMPING = 1e-3  # of Levenberg's and Marquardt's first step
LOAD_SPREAD = 0.1  # prior of Coulomb friction per torque of the links: losses of a gear
FREE_SPREAD = 1e3  # [SI] of friction and offset: practically no prior
CONVERGED = 1e-9  # least relative change of the sum of squares in an iteration
NEARLY = 1e-5  # likewise, where only the widths are compared


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a fit."""

    theta: Floats  # (10 b,) deformation of the bodies
    drives: Floats  # each of ``Law.terms`` of n joints

    def unknowns(self, bodies: Deformable) -> Floats:
        """Return x in the order of ``regression``."""
        return np.concatenate([bodies.deformed(self.theta), self.drives])

    def by_name(self, law: Law) -> Drives:
        """Return the drives by name; ``thinning`` is the law's."""
        values = self.drives.reshape(len(law.terms), -1)
        terms: dict[str, Any] = dict(zip(law.terms, values, strict=True))
        return Drives(**terms, presliding_displacement=law.displacement)


def noise(equations: Equations) -> Floats:
    """Return the standard deviation (n,) that weights each joint's torque [N m or N]."""
    p = equations.A.shape[2]
    A = equations.A.reshape(-1, p)
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0] = 1.0
    x = np.linalg.lstsq(A / scale, equations.tau.ravel(), rcond=1e-9)[0] / scale
    left = equations.tau - equations.A @ x
    sigma = np.sqrt((left**2).mean(axis=0) * correlation_length(left))
    least = 1e-4 * np.abs(equations.tau).max(axis=0) + 1e-9
    return np.maximum(sigma, least)


def correlation_length(left: Floats) -> Floats:
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


@np.errstate(over="ignore", invalid="ignore")  # a step too far is not taken
def solve(
    R: Floats,
    y: Floats,
    bodies: Deformable,
    armature_spread: Floats,
    width: ArrayLike,
    start: Fit | None = None,
    converged: float = CONVERGED,
) -> Fit:
    """Fit bodies and drives.

    ``R`` (r, p) of ``Equations.reduced``, weighted by the noise. ``y`` (r,) likewise.
    ``armature_spread`` (n,) prior standard deviation of the drives' inertia [kg m^2 or kg].
    ``width`` (10,) prior standard deviation of each component of a body's theta, or of all.
    ``start``: initial guess, e.g. from other data; None: the URDF. ``converged``: least relative
    change of the sum of squares in an iteration.
    """
    b, n, p = SIZE * len(bodies.U), len(armature_spread), R.shape[1]
    squares = _pull(len(bodies.U), p, armature_spread, width) ** 2
    lower = np.full(p, -np.inf)
    lower[b:-n] = 0.0

    def residual(x: Floats) -> Floats:
        parameters = bodies.deformed(x[:b])
        left = R[:, :b] @ parameters + R[:, b:] @ x[b:] - y
        return np.concatenate([left, bodies.outside(parameters)])

    columns = np.vstack([R, np.pad(bodies.volume.reshape(-1, b), ((0, 0), (0, p - b)))])

    x = np.concatenate([start.theta, start.drives]) if start else np.zeros(p)
    left, damping, inverse = residual(x), DAMPING, np.zeros((p, p))
    cost = left @ left + squares @ x**2
    for _ in range(MAX_ITERATIONS):
        active = np.append(np.ones(len(R), bool), left[len(R) :] < 0)
        rows = active[:, None] * _by_unknowns(columns, bodies, x[:b])
        gradient, second = rows.T @ left + squares * x, rows.T @ rows + np.diag(squares)
        free = np.flatnonzero((x > lower) | (gradient < 0))  # the others' bounds hold them
        damped = second + damping * np.diag(np.diag(second))
        inverse[:] = 0.0
        inverse[np.ix_(free, free)] = np.linalg.inv(damped[np.ix_(free, free)])
        straight = np.maximum(x - inverse @ gradient, lower)
        bent = residual(straight) - left - rows @ (straight - x)
        moved = np.maximum(straight - inverse @ (rows.T @ bent), lower)
        there = residual(moved)
        better = cost - (there @ there + squares @ moved**2)
        if better > 0:
            x, left, cost = moved, there, cost - better
        damping *= 0.1 if better > 0 else 10.0
        if abs(better) <= converged * cost:
            break
    return Fit(x[:b], x[b:])


def _pull(bodies: int, p: int, armature_spread: Floats, width: ArrayLike) -> Floats:
    """Return the reciprocal prior deviations (p,) of the bodies' theta and the drives' terms."""
    b, n = SIZE * bodies, len(armature_spread)
    spread = np.full(p, FREE_SPREAD)
    spread[:b] = np.broadcast_to(width, (bodies, SIZE)).ravel()
    spread[b : b + n] = armature_spread
    if p - b > 4 * n:
        spread[b + 3 * n : b + 4 * n] = LOAD_SPREAD
    return 1 / spread


def covariance_factor(
    R: Floats, bodies: Deformable, armature_spread: Floats, width: ArrayLike, fit: Fit
) -> Floats:
    """Return F (p, p): errors of ``fit.unknowns`` are F times independent ones of deviation 1."""
    root = _root(R, bodies, _pull(len(bodies.U), R.shape[1], armature_spread, width), fit)
    return _by_unknowns(np.eye(R.shape[1]), bodies, fit.theta) @ np.linalg.inv(root)


def _by_unknowns(columns: Floats, bodies: Deformable, theta: Floats) -> Floats:
    """Return the derivatives (r, p) by theta and the drives of (r, p) columns times unknowns."""
    b = len(theta)
    return np.hstack([bodies.by_theta(columns[:, :b], theta), columns[:, b:]])


def _root(R: Floats, bodies: Deformable, pull: Floats, fit: Fit) -> Floats:
    """Return the triangular root (p, p) of the second derivatives, by Gauss-Newton."""
    rows = np.vstack([_by_unknowns(R, bodies, fit.theta), np.diag(pull)])
    return np.asarray(np.linalg.qr(rows, "r"))


def evidence(
    R: Floats, y: Floats, bodies: Deformable, armature_spread: Floats, width: ArrayLike, fit: Fit
) -> float:
    """Return the logarithm of the torque's probability given the widths, by Laplace's method."""
    pull = _pull(len(bodies.U), R.shape[1], armature_spread, width)
    left = np.concatenate(
        [R @ fit.unknowns(bodies) - y, pull * np.concatenate([fit.theta, fit.drives])]
    )
    root = np.diag(_root(R, bodies, pull, fit))
    volume = np.log(pull).sum() - np.log(np.abs(root)).sum()
    return float(volume - left @ left / 2)


def choose_width(
    R: Floats,
    y: Floats,
    bodies: Deformable,
    armature_spread: Floats,
    step: Callable[[], None] = lambda: None,
) -> Floats:
    """Return the prior widths (10,) of a body's theta with the greatest evidence."""
    best, chosen, fit = -np.inf, np.ones(SIZE), None
    for mass, shape in product(WIDTHS, WIDTHS):
        width = np.array([mass, *[shape] * (SIZE - 1)])
        fit = solve(R, y, bodies, armature_spread, width, fit, NEARLY)
        found = evidence(R, y, bodies, armature_spread, width, fit)
        if found > best:
            best, chosen = found, width
        step()
    return chosen


def cross_validate(
    equations: Equations,
    sigma: Floats,
    bodies: Deformable,
    armature_spread: Floats,
    width: ArrayLike,
    step: Callable[[], None] = lambda: None,
) -> Floats:
    """Return what fits to other parts of the motion leave unexplained of each, over all (n,)."""
    edges = np.linspace(0, 1, FOLDS + 1)
    folds = [equations.between(*pair) for pair in pairwise(edges)]
    reduced = [fold.reduced(1 / sigma) for fold in folds]
    left, fit = np.zeros(len(sigma)), None
    for k, fold in enumerate(folds):
        others = [part for j, part in enumerate(reduced) if j != k]
        rows = np.vstack([np.column_stack(part) for part in others])
        R, y = np.split(np.linalg.qr(rows, "r"), [-1], axis=1)
        fit = solve(R, y[:, 0], bodies, armature_spread, width, start=fit)
        left += ((fold.tau - fold.A @ fit.unknowns(bodies)) ** 2).sum(axis=0)
        step()
    return left / (squares_about_mean(equations.tau) + 1e-300)
