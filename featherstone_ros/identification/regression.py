"""Recorded motion as linear equations: A x = tau, with one block of columns per body and drive.

x = [ten parameters of each body, then each of ``Law.terms`` of each joint]. Position and
velocity pass a zero-phase low-pass filter at a few times the cut-off frequency, and velocity is
differentiated. Then every column of A and the measured torque pass the same filter at the cut-off
(M. Gautier's "parallel filter"), which keeps the linear equations valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import needed
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.filtering import (
    SETTLING,
    SmoothMotion,
    ZeroPhase,
    long_enough,
    smooth,
    weight,
)
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.drives import (
    PRESLIDING_DISPLACEMENT,
    Drives,
    smooth_sign,
    viscous_speed,
)

FASTEST, RATE = 2.5, 20.0  # times the cut-off is fitted, given so many samples per period
WIDER = 2.5  # times the cut-off, before differentiation
DENSE = 8.0  # samples per period of that filter's frequency at which columns are computed
SPARSE = 4.0  # samples per period of the cut-off that are kept: more are redundant

Prepared: TypeAlias = tuple[SmoothMotion, float]  # a motion, and its period [s]


@dataclass(frozen=True, eq=False)
class Equations:
    """N samples of n equations in p unknowns."""

    A: Floats  # (N, n, p) filtered regressor [N m or N per unit of x]
    tau: Floats  # (N, n) filtered torque [N m or N]

    def of(self, joints: Sequence[int]) -> Equations:
        """Return the equations of these joints only."""
        return Equations(self.A[:, joints], self.tau[:, joints])

    def beside(self, other: Equations) -> Equations:
        """Return the same equations with further unknowns, those of another system."""
        return Equations(np.concatenate([self.A, other.A], axis=2), self.tau)

    def between(self, begin: float, end: float) -> Equations:
        """Return the samples between two shares of all, 0 to 1."""
        N = len(self.tau)
        part = slice(round(begin * N), round(end * N))
        return Equations(self.A[part], self.tau[part])

    def reduced(self, weight: Floats) -> tuple[Floats, Floats]:
        """Return R (at most p + 1, p) and y: |R x - y| = |weight (A x - tau)| for every x."""
        p = self.A.shape[2]
        rows = (self.A * weight[:, None]).reshape(-1, p)
        both = np.column_stack([rows, (self.tau * weight).ravel()])
        R = np.asarray(np.linalg.qr(both, "r"))
        return R[:, :p], R[:, p]


def fitted_cut_off(cut_off: float, period: float) -> float:
    """Return the filter's frequency for the fit [Hz]: at high sampling rates, above the scores'."""
    return float(np.clip(1 / (RATE * period), cut_off, FASTEST * cut_off))


def wide_cut_off(cut_off: float, period: float) -> float:
    """Return the frequency of the filter before differentiation [Hz]."""
    return max(cut_off, min(WIDER * cut_off, 0.2 / period))


def prepared(
    stretches: Sequence[Recording], cut_off: float, displacement: float = PRESLIDING_DISPLACEMENT
) -> list[Prepared]:
    """Return the motion of stretches, smooth enough for equations that are filtered."""
    motions = []
    for samples in long_enough(stretches, cut_off):
        wide = wide_cut_off(cut_off, samples.period)
        motion = smooth(samples, wide, displacement)
        every = max(1, int(1 / (DENSE * wide * samples.period)))
        motions.append((motion.thinned(every), every * samples.period))
    return motions


def filtered(
    motions: Sequence[Prepared],
    columns: Callable[[SmoothMotion], Floats],
    cut_off: float,
    torque: Callable[[SmoothMotion], Floats] = lambda motion: motion.effort,
) -> Equations:
    """Return the equations of motions."""
    parts = [_of_one(*motion, columns, torque, cut_off) for motion in motions]
    A, tau = (np.concatenate(values) for values in zip(*parts, strict=True))
    return Equations(A, tau)


def _of_one(
    motion: SmoothMotion,
    period: float,
    columns: Callable[[SmoothMotion], Floats],
    torque: Callable[[SmoothMotion], Floats],
    cut_off: float,
) -> tuple[Floats, Floats]:
    low_pass = ZeroPhase(cut_off, period)
    A = columns(motion)
    N, moved = len(A), A.any(axis=0)
    A[:, moved] = low_pass(A[:, moved])  # half are of links that a joint does not carry
    edge = round(SETTLING / cut_off / period)
    kept = slice(edge, N - edge, max(1, int(1 / (SPARSE * cut_off * period))))
    trust = weight(low_pass(np.abs(smooth_sign(motion.velocity))))
    return (A * trust[:, :, None])[kept], (low_pass(torque(motion)) * trust)[kept]


def link_columns(motion: SmoothMotion, dynamics: Dynamics, bodies: Bodies) -> Floats:
    """Return (N, n, 10 b): the factors of the bodies' parameters."""
    Y = dynamics.regressor(*motion.state)
    return Y[:, :, bodies.columns()]


def own_columns(motion: SmoothMotion, law: Law, links: Floats) -> Floats:
    """Return (N, n, terms): the factors of each joint's own terms, see ``Law.columns``."""
    return np.stack(law.columns(motion, links), axis=2)


def placed(own: Floats) -> Floats:
    """Return (N, n, terms n): the factors of all joints' terms, from (N, n, terms)."""
    N, n, terms = own.shape
    columns = np.zeros((N, n, terms, n))
    columns[:, range(n), :, range(n)] = own.swapaxes(0, 1)
    return columns.reshape(N, n, -1)


def drive_columns(motion: SmoothMotion, law: Law, links: Floats) -> Floats:
    """Return (N, n, terms n): the factors of each joint's terms, see ``Law.columns``."""
    return placed(own_columns(motion, law, links))


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which linear algebra keeps to one thread, where that can be set.

    Of small matrices on busy cores: more threads cost far more than they save.
    """
    needed("scipy.optimize")  # its libraries, scipy.linalg's as well, are loaded before the limit
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)


AT_REST = 0.01  # [rad/s or m/s] a joint that is never faster does not reveal its friction
ILL_CONDITIONED = 50.0  # condition number of the terms, each scaled to length 1


@dataclass(frozen=True, eq=False)
class Law:
    """Which terms the friction of n joints has, and what enters it not linearly."""

    thinning: Floats | float = 0.0  # (n,) or for all joints [s/rad or s/m]
    loaded: bool = False  # whether dry friction grows with the torque of the links
    # (n,) or for all joints, whether torque grows with the position, as of cables
    sprung: NDArray[np.bool_] | bool = False
    # over which Coulomb friction turns round [rad or m]
    displacement: float = PRESLIDING_DISPLACEMENT

    def columns(self, motion: SmoothMotion, links: Floats | float = 0.0) -> list[Floats]:
        """Return the factors (N, n) of each joint's ``DRIVE_TERMS``."""
        columns = {
            "armature": motion.acceleration,
            "viscous": viscous_speed(motion.velocity, self.thinning),
            "coulomb": motion.sliding,
            "load": self.loaded * np.abs(links) * motion.sliding,
            "stiffness": self.sprung * motion.position,
            "offset": np.ones_like(motion.velocity),
        }
        return [columns[term] for term in self.terms]

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms in which torque is linear; all but the last are not negative."""
        return drive_terms(6 if np.any(self.sprung) else 5 if self.loaded else 4)


def drive_terms(count: int) -> tuple[str, ...]:
    """Return the names of a joint's 4 terms, of 5, with the load's, or of 6, with stiffness."""
    return ("armature", "viscous", "coulomb", *("load", "stiffness")[: count - 4], "offset")


@dataclass(frozen=True, eq=False)
class FittedDrives:
    """What torque says of drives."""

    drives: Drives  # of n joints; what was not fitted is 0
    doubtful: dict[int, str]  # joint index to the reason why its separate terms are unreliable

    def torque(self, motion: SmoothMotion) -> Floats:
        """Return the torque (N, n) that they add to that of the links [N m or N]."""
        return self.drives.own_torque(*motion.state, motion.sliding)

    @property
    def negative(self) -> NDArray[np.bool_]:
        """(n,) whether a joint's friction or armature came out negative, which is impossible."""
        drives = self.drives
        return (drives.viscous < 0) | (drives.coulomb < 0) | (drives.armature < 0)


def explained(
    drives: Drives, motion: SmoothMotion, measured: Floats, links: Floats | float = 0.0
) -> Floats:
    """Return the torque (N, n) nearest to a measured one; a joint that sticks has an interval."""
    bounds = [drives.own_torque(*motion.state, z, links) for z in (motion.low, motion.high)]
    return np.clip(measured, *np.sort(bounds, axis=0))


def fit(
    motion: SmoothMotion, residual: Floats, armature: bool = False, physical: bool = False
) -> FittedDrives:
    """Fit viscous, Coulomb and constant torque of each joint by weighted least squares.

    ``residual`` (N, n) measured torque minus that of the rigid links [N m or N]. ``physical``: keep
    friction and armature from being negative (which happens where they compensate errors of the
    links). Returns terms by joint; for a joint at rest only the constant, the others 0.
    """
    lsq_linear = needed("scipy.optimize").lsq_linear
    law = Law()
    used = range(0 if armature else 1, len(law.terms))
    every = np.stack(law.columns(motion))[used]
    terms = np.zeros((len(law.terms), residual.shape[1]))
    doubtful = {}
    least = np.append(np.zeros(len(used) - 1), -np.inf) if physical else -np.inf
    for joint, target in enumerate(residual.T):
        if np.abs(motion.velocity[:, joint]).max() < AT_REST:
            terms[-1, joint] = target.mean()
            doubtful[joint] = "at rest: friction unknown"
            continue
        trust = motion.trust[:, joint]
        columns = trust[:, None] * every[:, :, joint].T
        length = np.linalg.norm(columns, axis=0)
        solution = lsq_linear(columns / length, trust * target, (least, np.inf), method="bvls")
        terms[used, joint] = solution.x / length
        condition = np.linalg.cond(columns / length)
        if condition > ILL_CONDITIONED:
            doubtful[joint] = (
                f"terms hardly separable (condition number {condition:.0f}): "
                "record more speeds, both directions"
            )
    by_name: dict[str, Any] = dict(zip(law.terms, terms, strict=True))
    return FittedDrives(Drives(**by_name), doubtful)
