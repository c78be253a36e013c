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
from typing import TypeAlias

import numpy as np

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
from featherstone_ros.identification.friction import Law
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT, smooth_sign

FASTEST, RATE = 2.5, 20.0  # times the cut-off is fitted, given so many samples per period
WIDER = 2.5  # times the cut-off: frequency of the filter before differentiation
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
        """Return R (at most p + 1, p) and y: |R x - y| = |weight (A x - tau)| for every x.

        ``weight`` (n,) of each joint.
        """
        p = self.A.shape[2]
        rows = (self.A * weight[:, None]).reshape(-1, p)
        both = np.column_stack([rows, (self.tau * weight).ravel()])
        R = np.asarray(np.linalg.qr(both, "r"))
        return R[:, :p], R[:, p]


def stacked(parts: Sequence[Equations]) -> Equations:
    """Join the samples of several systems of equations."""
    return Equations(
        np.concatenate([part.A for part in parts]), np.concatenate([part.tau for part in parts])
    )


def fitted_cut_off(cut_off: float, period: float) -> float:
    """Return the filter's frequency for the fit [Hz]: at high sampling rates, above the scores'.

    Reversals of a joint are fast, and separate friction from inertia.

    ``cut_off``: that of the scores [Hz]. ``period``: of the samples [s].
    """
    return float(np.clip(1 / (RATE * period), cut_off, FASTEST * cut_off))


def prepared(
    stretches: Sequence[Recording], cut_off: float, displacement: float = PRESLIDING_DISPLACEMENT
) -> list[Prepared]:
    """Return the motion of stretches, smooth enough for equations that are filtered.

    ``cut_off``: of the filter that follows [Hz]. ``displacement``: over which Coulomb friction
    turns round [rad or m].
    """
    motions = []
    for samples in long_enough(stretches, cut_off):
        wide = max(cut_off, min(WIDER * cut_off, 0.2 / samples.period))
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
    """Return the equations of motions.

    ``columns``: returns A (N, n, p) of a motion. ``cut_off``: of the filter [Hz]. ``torque``:
    returns the torque to explain (N, n) [N m or N].
    """
    return stacked([_of_one(*motion, columns, torque, cut_off) for motion in motions])


def _of_one(
    motion: SmoothMotion,
    period: float,
    columns: Callable[[SmoothMotion], Floats],
    torque: Callable[[SmoothMotion], Floats],
    cut_off: float,
) -> Equations:
    low_pass = ZeroPhase(cut_off, period)
    A = columns(motion)
    N, moved = len(A), A.any(axis=0)
    A[:, moved] = low_pass(A[:, moved])  # half are of links that a joint does not carry
    edge = round(SETTLING / cut_off / period)
    kept = slice(edge, N - edge, max(1, int(1 / (SPARSE * cut_off * period))))
    trust = weight(low_pass(np.abs(smooth_sign(motion.velocity))))
    return Equations((A * trust[:, :, None])[kept], (low_pass(torque(motion)) * trust)[kept])


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
