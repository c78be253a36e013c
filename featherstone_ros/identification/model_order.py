"""Chooses the law of friction by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.arm import Arm, Errors
from featherstone_ros.identification.base_parameters import least_squares
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.filtering import SmoothMotion, clean, joined, smooth_all
from featherstone_ros.identification.fit import (
    FOLDS,
    WIDTHS,
    Fit,
    choose_width,
    correlation_length,
    covariance_factor,
    cross_validate,
    noise,
    solve,
)
from featherstone_ros.identification.recording import Recording
from featherstone_ros.identification.regression import (
    Equations,
    Law,
    drive_terms,
    filtered,
    fitted_cut_off,
    link_columns,
    own_columns,
    placed,
    prepared,
)
from featherstone_ros.model.drives import PRESLIDING_DISPLACEMENT
from featherstone_ros.progress import Progress

STIFFNESS = drive_terms(6).index("stiffness")

DISPLACEMENTS = (1e-6, 1e-5)  # [rad or m] over which Coulomb friction may turn round instead
SPRUNG = 4.0  # deviations of a stiffness that may be one
THINNINGS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # [s/rad or s/m] candidates
JUSTIFIED = 0.97  # greatest error of a richer law relative to the simpler one's, to prefer it
OUTSIDE = 1.15  # times the weighted squares that bodies in their volumes may leave of free ones'
UNEXPLAINED = 1e-6  # share of the variance that no law need explain


@dataclass(frozen=True, eq=False)
class Candidate:
    """A law of friction, and how well it explains what is not fitted."""

    law: Law
    facts: Equations  # equations of the judged joints
    sigma: Floats  # (j,) their noise [N m or N]
    width: Floats  # (10,) of the prior about the URDF, of each component of a body's theta
    errors: Floats  # (j,) share of the variance left unexplained in the cross-validation

    def justified_by(self, other: Candidate) -> bool:
        """Whether another law leaves clearly less unexplained, in the geometric mean."""
        ratio = (other.errors + UNEXPLAINED) / (self.errors + UNEXPLAINED)
        return bool(np.exp(np.log(ratio).mean()) < JUSTIFIED)


class Fitting:
    """Fits bodies and drives to recordings, under any law of friction."""

    def __init__(
        self,
        model: Model,
        parts: Sequence[Recording],
        judged: Sequence[int],
        cut_off: float,
        boxes: Mapping[str, tuple[Floats, Floats]] | None = None,
    ) -> None:
        """Prepare the equations of the links."""
        self.dynamics, self.bodies = Dynamics(model), Bodies.of(model)
        self._bounded = Bodies.of(model, boxes)
        self.judged = list(judged)
        self._stretches = [stretch for part in parts for stretch in clean(part).stretches]
        self._cut_off = fitted_cut_off(cut_off, max(s.period for s in self._stretches))
        self.armature_spread = armature_spread(self.dynamics, parts, judged)
        self._motions = cache(partial(prepared, self._stretches, self._cut_off))
        self._links = self._filtered(
            partial(link_columns, dynamics=self.dynamics, bodies=self.bodies)
        )

    def equations(self, law: Law, dynamics: Dynamics) -> Equations:
        """Return the equations of the judged joints."""

        def own(motion: SmoothMotion) -> Floats:
            return own_columns(motion, law, dynamics.rnea(*motion.state))

        drives = placed(self._filtered(own, law.displacement).A)
        return self._links.beside(Equations(drives, self._links.tau))

    def _filtered(
        self,
        columns: Callable[[SmoothMotion], Floats],
        displacement: float = PRESLIDING_DISPLACEMENT,
    ) -> Equations:
        facts = filtered(self._motions(displacement), columns, self._cut_off)
        return facts.of(self.judged)

    def within_volumes(self) -> Fitting | None:
        """Return the same whose bodies stay within their links' volumes; None if none is known."""
        if not self._bounded.volume.size:
            return None
        other = copy(self)
        other.bodies = self._bounded
        return other

    def motion(self) -> SmoothMotion:
        """Return the whole motion, filtered."""
        return joined(smooth_all(self._stretches, self._cut_off))

    def filtered(self, columns: Callable[[SmoothMotion], Floats]) -> Floats:
        """Return further columns (N, j, p) of the judged joints, see ``regression.filtered``."""
        return self._filtered(columns).A

    def with_links(self, theta: Floats) -> Dynamics:
        """Return the dynamics of the arm with its bodies deformed."""
        vector = self.bodies.link_parameters(theta)
        return Dynamics(self.bodies.model.with_inertial_parameters(vector))

    def candidate(
        self,
        law: Law,
        dynamics: Dynamics,
        step: Callable[[], None],
        width: Floats | None = None,
    ) -> Candidate:
        """Cross-validate a law, see ``equations``; with the widths of most evidence, or others."""
        facts = self.equations(law, dynamics)
        sigma = noise(facts)
        if width is None:
            reduced = facts.reduced(1 / sigma)
            width = choose_width(*reduced, self.bodies, self.armature_spread, step)
        errors = cross_validate(facts, sigma, self.bodies, self.armature_spread, width, step)
        return Candidate(law, facts, sigma, width, errors)

    def solve(self, found: Candidate) -> tuple[Fit, Dynamics]:
        """Return the fit of a law, and the dynamics of the links that it finds."""
        reduced = found.facts.reduced(1 / found.sigma)
        fit = solve(*reduced, self.bodies, self.armature_spread, found.width)
        return fit, self.with_links(fit.theta)

    def squares(self, found: Candidate, fit: Fit) -> float:
        """Return the weighted squares that a fit leaves."""
        R, y = found.facts.reduced(1 / found.sigma)
        return float(((R @ fit.unknowns(self.bodies) - y) ** 2).sum())

    def arm(self, found: Candidate, fit: Fit) -> Arm:
        """Return the arm of a fit, with the errors that it may have."""
        law, model = found.law, self.with_links(fit.theta).model
        drives = replace(fit.by_name(law).among(self.judged, model.n), thinning=law.thinning)
        R, _ = found.facts.reduced(1 / found.sigma)
        factor = covariance_factor(R, self.bodies, self.armature_spread, found.width, fit)
        return Arm(model, drives, Errors(law, tuple(self.judged), factor))

    def sprung(self, found: Candidate, fit: Fit, dynamics: Dynamics) -> NDArray[np.bool_]:
        """Return whether each joint (n,) seems to have a stiffness, beside the links of a fit."""
        seems = np.zeros(dynamics.model.n, bool)
        facts = self.equations(replace(found.law, sprung=True), dynamics)
        for joint, (own, left) in zip(self.judged, self._own(facts, fit), strict=True):
            x, deviation = least_squares(own, left)
            rest = left - own @ x
            noise = np.sqrt((rest @ rest) / len(rest) * correlation_length(rest[:, None])[0])
            seems[joint] = x[STIFFNESS] > SPRUNG * noise * deviation[STIFFNESS]
        return seems

    def _own(self, facts: Equations, fit: Fit) -> Iterator[tuple[Floats, Floats]]:
        """Yield each judged joint's own columns (N, t), and what the links of a fit leave (N,)."""
        b, j = len(fit.theta), len(self.judged)
        left = facts.tau - facts.A[:, :, :b] @ self.bodies.deformed(fit.theta)
        yield from ((facts.A[:, k, b + k :: j], left[:, k]) for k in range(j))

    def thinning(self, found: Candidate, fit: Fit, dynamics: Dynamics) -> Floats:
        """Return each joint's best thinning (n,) beside the links of a fit; 0 if hardly better."""
        costs = np.empty((len(THINNINGS), len(self.judged)))
        for row, thinning in zip(costs, THINNINGS, strict=True):
            facts = self.equations(replace(found.law, thinning=thinning), dynamics)
            for k, (own, left) in enumerate(self._own(facts, fit)):
                x = np.linalg.lstsq(own, left, rcond=None)[0]
                row[k] = ((left - own @ x) ** 2).sum()
        costs[0] *= JUSTIFIED  # without
        thinnings = np.zeros(dynamics.model.n)
        thinnings[self.judged] = np.array(THINNINGS)[costs.argmin(axis=0)]
        return thinnings


def fit_parts(fitting: Fitting, progress: Progress | None = None) -> tuple[Fit, Candidate]:
    """Fit bodies and drives; choose the law of friction and the prior's widths.

    To viscous and Coulomb friction each term is added that leaves clearly less unexplained in a
    cross-validation: viscous friction that is thinned by shear, Coulomb friction that grows with
    the load, torque that grows with the position, another presliding displacement. Bodies stay
    within their links' volumes unless that leaves clearly more of the fitted torque unexplained: an
    unknown tool is outside.
    """
    total, done = 2 * len(WIDTHS) ** 2 + (len(DISPLACEMENTS) + 5) * FOLDS, 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done, total)

    best = fitting.candidate(Law(), fitting.dynamics, step)
    fit, links = fitting.solve(best)

    def improve(law: Law) -> None:
        nonlocal best, fit, links
        other = fitting.candidate(law, links, step, best.width)
        if best.justified_by(other):
            best = other
            fit, links = fitting.solve(best)

    improve(replace(best.law, thinning=fitting.thinning(best, fit, links)))
    improve(replace(best.law, loaded=True))
    sprung = fitting.sprung(best, fit, links)
    if sprung.any():
        improve(replace(best.law, sprung=sprung))
    for displacement in DISPLACEMENTS:
        improve(replace(best.law, displacement=displacement))
    # Once more, with the torque of the links as it is known now.
    best = fitting.candidate(best.law, links, step)
    fit, _ = fitting.solve(best)
    drawn = fitting.within_volumes()
    if drawn:
        inside, _ = drawn.solve(best)
        if fitting.squares(best, inside) < OUTSIDE * fitting.squares(best, fit):
            fit = inside
    return fit, best


def armature_spread(
    dynamics: Dynamics, parts: Sequence[Recording], judged: Sequence[int]
) -> Floats:
    """Return the prior spread of drive inertia (j,): the mean inertia of links at the joints."""
    q = np.concatenate([part.position[:: max(1, len(part.time) // 100)] for part in parts])
    M = dynamics.crba(np.ascontiguousarray(q))
    return np.full(len(judged), np.diagonal(M, axis1=1, axis2=2).mean())
