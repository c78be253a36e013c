"""Recorded motion as linear equations: A x = tau, with one block of columns per body and drive.

x = [ten parameters of each body, armature of each joint, viscous, Coulomb, offset]. Position and
velocity pass a zero-phase low-pass filter at a few times the cut-off frequency, and velocity is
differentiated. Then every column of A and the measured torque pass the same filter at the cut-off
(M. Gautier's "parallel filter"), which keeps the linear equations valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.cleaning import Samples
from featherstone_ros.identification.errors import EvaluationError
from featherstone_ros.identification.filtering import (
    SETTLING,
    SHORTEST,
    SmoothMotion,
    ZeroPhase,
    smooth,
)
from featherstone_ros.model.friction import SLIDING_SPEED, smooth_sign

FASTEST, RATE = (
    2.5,
    20.0,
)  # times the cut-off is fitted, given so many samples per period
WIDER = 2.5  # times the cut-off: frequency of the filter before differentiation
DENSE = 8.0  # samples per period of that filter's frequency at which columns are computed
SPARSE = 4.0  # samples per period of the cut-off that are kept: more are redundant
STICKING_WEIGHT, STICKING_POWER = 0.1, 4  # a sticking joint's weight: least, power
DRIVE_TERMS = ("armature", "viscous", "coulomb", "offset")


@dataclass(frozen=True, eq=False)
class Equations:
    """N samples of n equations in p unknowns.

    Attributes:
        A: (N, n, p) filtered regressor [N m or N per unit of x].
        tau: (N, n) filtered torque [N m or N].
    """

    A: Floats
    tau: Floats

    def of(self, joints: Sequence[int]) -> Equations:
        """Return the equations of these joints only."""
        return Equations(self.A[:, joints], self.tau[:, joints])

    def between(self, begin: float, end: float) -> Equations:
        """Return the samples between two shares of all, 0 to 1."""
        N = len(self.tau)
        part = slice(round(begin * N), round(end * N))
        return Equations(self.A[part], self.tau[part])

    def reduced(self, weight: Floats) -> tuple[Floats, Floats]:
        """Return R (at most p + 1, p) and y: |R x - y| = |weight (A x - tau)| for every x.

        Args:
            weight: (n,) of each joint.
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

    Args:
        cut_off: That of the scores [Hz].
        period: Of the samples [s].
    """
    return float(np.clip(1 / (RATE * period), cut_off, FASTEST * cut_off))


def equations(
    stretches: Sequence[Samples],
    dynamics: Dynamics,
    bodies: Bodies,
    cut_off: float,
    sliding_speed: float = SLIDING_SPEED,
) -> Equations:
    """Return the equations of evenly sampled stretches, see ``filtered``."""

    def columns(motion: SmoothMotion) -> Floats:
        return regressor(motion, dynamics, bodies)

    return filtered(stretches, columns, lambda motion: motion.effort, cut_off, sliding_speed)


def filtered(
    stretches: Sequence[Samples],
    columns: Callable[[SmoothMotion], Floats],
    torque: Callable[[SmoothMotion], Floats],
    cut_off: float,
    sliding_speed: float = SLIDING_SPEED,
) -> Equations:
    """Return the equations of evenly sampled stretches.

    Args:
        stretches: Samples of all joints of the model.
        columns: Returns A (N, n, p) of a motion.
        torque: Returns the torque to explain (N, n) [N m or N].
        cut_off: Of the filter [Hz].
        sliding_speed: Speed at which 76 % of Coulomb friction acts [rad/s or m/s].

    Raises:
        EvaluationError: No stretch is long enough, or the rate is too low for the filter.
    """
    long_enough = [s for s in stretches if s.duration >= SHORTEST / cut_off]
    if not long_enough:
        longest = max((s.duration for s in stretches), default=0.0)
        raise EvaluationError(
            f"the recording is too short: {longest:.3g} s without a pause, expected "
            f"{SHORTEST / cut_off:.3g} s at least for a filter of {cut_off:g} Hz"
        )
    return stacked([_of_one(s, columns, torque, cut_off, sliding_speed) for s in long_enough])


def _of_one(
    samples: Samples,
    columns: Callable[[SmoothMotion], Floats],
    torque: Callable[[SmoothMotion], Floats],
    cut_off: float,
    sliding_speed: float,
) -> Equations:
    wide = max(cut_off, min(WIDER * cut_off, 0.2 / samples.period))
    motion = smooth(samples, wide, sliding_speed)
    every = max(1, int(1 / (DENSE * wide * samples.period)))
    motion = motion.thinned(every)
    period = every * samples.period
    low_pass = ZeroPhase(cut_off, period)
    A = columns(motion)
    N = len(A)
    A = low_pass(A.reshape(N, -1)).reshape(A.shape)
    edge = round(SETTLING / cut_off / period)
    kept = slice(edge, N - edge, max(1, int(1 / (SPARSE * cut_off * period))))
    trust = (
        np.clip(low_pass(np.abs(smooth_sign(motion.velocity))), STICKING_WEIGHT, 1.0)
        ** STICKING_POWER
    )
    return Equations((A * trust[:, :, None])[kept], (low_pass(torque(motion)) * trust)[kept])


def regressor(motion: SmoothMotion, dynamics: Dynamics, bodies: Bodies) -> Floats:
    """Return A (N, n, 10 b + 4 n) of a motion, before the second filter."""
    Y = dynamics.regressor(motion.position, motion.velocity, motion.acceleration)
    return np.concatenate([Y[:, :, bodies.columns()], drive_columns(motion)], axis=2)


def drive_columns(motion: SmoothMotion) -> Floats:
    """Return (N, n, 4 n): the factors of each joint's ``DRIVE_TERMS``."""
    N, n = motion.position.shape
    terms = np.zeros((N, n, len(DRIVE_TERMS), n))
    joints = np.arange(n)
    for k, term in enumerate((motion.acceleration, motion.velocity, motion.sliding)):
        terms[:, joints, k, joints] = term
    terms[:, joints, -1, joints] = 1.0
    return terms.reshape(N, n, -1)
