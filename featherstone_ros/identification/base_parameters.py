"""Base parameters, the combinations on which torque depends, and what the data alone tell of them.

Parameters whose columns of the regressor are linear combinations of others, in every motion, cannot
be identified separately. A QR factorisation with column pivoting of the regressor in random states
finds r independent columns, Y[:, independent] = Q1 R1, and how the others depend on them,
Y[:, dependent] = Y[:, independent] K
with K = R1^-1 R2 (M. Gautier, "Numerical calculation of the base inertial parameters of robots",
J. Robotic Systems 1991). ``estimate`` gives them with standard deviations, by weighted least
squares.

``probable_widths`` judges an arm's model by the torque that it leaves unexplained. The links
deviate from it by unknown deformations theta (see ``bodies``), all of the same standard deviation,
the width. What of this shows in the torque, beyond noise and the fitted unknowns, says how large
the width is; by it, the part that hides in the unknowns is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats, Indices
from featherstone_ros.errors import needed
from featherstone_ros.identification.bodies import SIZE, Bodies
from featherstone_ros.identification.fit import Fit, noise
from featherstone_ros.identification.regression import Equations, drive_terms
from featherstone_ros.model import Model

SYMBOLS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
STATES_PER_PARAMETER = 3  # random states that determine the rank
NEGLIGIBLE = 1e-8  # relative to the greatest diagonal entry of R
KNOWN_BEFORE = 0.3  # prior standard deviation of theta, which the data must improve on
LINK_WIDTHS = np.geomspace(0.001, 1.0, 31)  # equally probable before the data: figures are rounded
IMPROBABLE = 1e-3  # relative probability of widths that do not count
UNDETERMINED = 1e-9  # relative singular value of unknowns that the torque does not determine


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Which of p parameters are independent, and how the others combine with them."""

    # p names, of bodies' ("link3.mx") and drives' parameters ("armature.joint3")
    names: tuple[str, ...]
    independent: Indices  # (r,) indices, ascending
    dependent: Indices  # (p - r,) indices, ascending
    K: Floats  # (r, p - r), base = x[independent] + K x[dependent]

    @cached_property
    def mapping(self) -> Floats:
        """(r, p): base parameters = mapping @ x."""
        mapping = np.zeros((len(self.independent), len(self.names)))
        mapping[np.arange(len(self.independent)), self.independent] = 1.0
        mapping[:, self.dependent] = self.K
        return mapping

    def texts(self, terms: int = 3) -> list[str]:
        """Return each base parameter as a sum in words, cut off after ``terms`` terms."""
        return [self._text(row, terms) for row in range(len(self.independent))]

    def _text(self, row: int, terms: int) -> str:
        added = [(self.K[row, k], self.names[d]) for k, d in enumerate(self.dependent)]
        added = [(factor, name) for factor, name in added if abs(factor) > NEGLIGIBLE]
        text = self.names[self.independent[row]]
        for factor, name in added[: terms - 1]:
            size = "" if abs(abs(factor) - 1) < NEGLIGIBLE else f"{abs(factor):.3g} "
            text += f" {'-' if factor < 0 else '+'} {size}{name}"
        return text + (" ..." if len(added) >= terms else "")


def base_parameters(
    model: Model, armature: bool = True, *, offset: bool = False, negligible: float = NEGLIGIBLE
) -> BaseParameters:
    """Find the base parameters of a model's bodies, see ``Bodies``.

    ``armature``: count the drives' inertia among the parameters. (That of the first joint, for
    example, is never separable from its link's moment about the axis.) ``offset``: count the
    drives' constant torque, after their inertia. (That of a vertical lift is never separable from
    mass and inertia.) ``negligible``: share of a column that others need not replace.
    """
    bodies = Bodies.of(model)
    names = [f"{body}.{symbol}" for body in bodies.names for symbol in SYMBOLS]
    terms = ["armature"] * armature + ["offset"] * offset
    W = _regressor_in_random_states(model, bodies, terms)
    names += [f"{term}.{joint}" for term in terms for joint in model.joint_names]
    scale = np.linalg.norm(W, axis=0)
    scale[scale < NEGLIGIBLE * scale.max(initial=0.0)] = np.inf  # only rounding errors
    _, R, order = needed("scipy.linalg").qr(W / scale, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > negligible * diagonal[:1].max(initial=0.0)).sum())
    K = np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
    moved = np.where(np.isfinite(scale), scale, 0.0)
    K = K / moved[order[:rank], None] * moved[order[rank:]]
    K[np.abs(K) < NEGLIGIBLE * max(np.abs(K).max(initial=0.0), 1.0)] = 0.0
    rows, columns = np.argsort(order[:rank]), np.argsort(order[rank:])
    return BaseParameters(
        tuple(names), order[:rank][rows], order[rank:][columns], K[rows][:, columns]
    )


def _regressor_in_random_states(model: Model, bodies: Bodies, terms: Sequence[str]) -> Floats:
    random, p = np.random.default_rng(0), 10 * len(bodies.names) + model.n
    lower, upper = np.sort(model.position_range, axis=0)
    B = STATES_PER_PARAMETER * p // max(model.n, 1) + 10
    q = random.uniform(lower, upper, (B, model.n))
    qd, qdd = random.normal(size=(2, B, model.n)) * [[[1.0]], [[3.0]]]
    Y = Dynamics(model).regressor(q, qd, qdd)[:, :, bodies.columns()]
    own = {"armature": qdd, "offset": np.ones_like(qdd)}
    drives = [own[term][:, :, None] * np.eye(model.n) for term in terms]
    return np.concatenate([Y, *drives], axis=2).reshape(B * model.n, -1)


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
    """Estimate base parameters and friction."""
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
    """Solve A x = y of unit noise; return x and its standard deviations, inf if undetermined."""
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
