"""Feedback gains chosen from the model, and the stability of gains in the sampled loop.

Small errors x about a posture at rest obey M(q) xdd + G(q) x = u, with the joint-space inertia M
(armature included) and gravity's stiffness G = dg/dq. The controller samples x and xd once per
period h; its u = -K_x x - K_v xd arrives after a delay and is held until the next. That is a linear
system in discrete time (Astrom, Wittenmark, *Computer-Controlled Systems*, section 2.3, delayed
input): the loop is stable if all its eigenvalues lie within the unit circle. Drive and link
friction, which only help, are left out. The laws differ in K_x and K_v only:

    feedforward           K_x = P          K_v = D
    computed_torque       K_x = M P - G    K_v = M D    gravity is that of the measured position
    gravity_compensation  K_x = -G         K_v = D      likewise; the gravity hold and a fault, too

Gains of torque are chosen by one number. Were P = gamma D and G = 0, the loop would fall apart into
one for each eigenvector of M^-1 D: the largest eigenvalue times the latency tells whether D is too
much (``NO_MARGIN``). Chosen gains nearly have that form; what is left is up to the loop's
eigenvalues, which alone judge gains that are set.

Damping without a spring, as in the gravity hold and in a fault, has a bound on either side. Too
much for the delay makes a light joint swing up. Too little lets gravity that comes late by a time T
pump the arm: M xdd = -(D + T G) xd, and G is negative where the arm is upright.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from math import factorial, pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featherstone_ros import Dynamics
from featherstone_ros._enumerations import Feedback
from featherstone_ros.arrays import Floats, remembered
from featherstone_ros.control.choices import BANDWIDTH as BANDWIDTH
from featherstone_ros.control.choices import DAMPING_RATIO as DAMPING_RATIO
from featherstone_ros.control.choices import Timing as Timing
from featherstone_ros.control.settings import WATCHDOG_PERIOD, ControllerSettings, Mode
from featherstone_ros.errors import ModelError, SingularInertiaError
from featherstone_ros.model import Model

FASTEST = 100.0  # [rad/s] to which friction may raise the bandwidth of a joint
UNCERTAIN = 0.3  # share of the Coulomb friction that may be wrong
ARRIVED = 0.005  # [rad or m] that wrong friction may cost, where the loop bears such gains
MIN_DAMPING_RATIO = 0.2  # of a joint at its largest inertia
GAIN_MARGIN = 2.0  # all gains may be this much higher before the loop is unstable
MAX_JOINTS = 120  # time and memory go by their cube and square; humanoids with hands have 70
CANDIDATES = 1000  # postures from which the most demanding are taken
EFFORT = 6000  # postures times joints squared: many joints get fewer postures
UNLIMITED = {"prismatic": 1.0}  # range on either side of 0 where there is no limit; else pi
STEP = 0.8  # factor on a gain in the search for one that is stable
SLIGHT = 1.0  # [1/s^2] stiffness over inertia of a joint that gravity itself does not move
NO_MARGIN = 0.8  # a damping over inertia times latency that leaves no GAIN_MARGIN
SLOWEST = 0.02  # share of the bandwidth below which the search is given up
GENTLER = 0.25  # of the bandwidth, with which it is begun anew
CONTRIBUTING = 0.3  # least share of the largest contribution for a joint to count
ROUNDING = 1e-6  # a free joint has eigenvalues of 1 within this tolerance
TERMS = 12  # of series in h^2 M^-1 G, which is of the size of 1 at most
GUIDING = 0.02  # share of the effort limit at the velocity limit: a person moves the arm by hand
BRAKING = 0.2  # the same in a fault
COASTING = 1.0  # [s] time constant of a joint without limits, at its largest inertia
REVERSED = 2.0  # a velocity times damping over inertia, held for its inverse, reverses the motion
MIN_SHARE = 1e-4  # of the damping that is wanted: below, the search is given up
INDEFINITE = 1e-9  # share of the largest eigenvalue of an inertia by which rounding makes one < 0
SINGULAR = -1e-13  # least eigenvalue of an inertia whose diagonal is 1: beyond rounding, it is none


class NoStableGainsError(ValueError):
    """No gains are stable with margin; ``index``: of the joint that would need the smallest."""

    def __init__(self, index: int, message: str) -> None:
        """Say why."""
        super().__init__(message)
        self.index = index


@dataclass(frozen=True)
class ChosenGains:
    """Gains from the model."""

    p: Floats  # (n,) of torque [N m/rad], or of acceleration [1/s^2]
    d: Floats  # (n,) of torque [N m s/rad], or of acceleration [1/s]
    # joint name to its bandwidth [rad/s], where period and delay do not allow the requested one
    reduced: dict[str, float]
    bandwidth: Floats | float = np.nan  # (n,) of every joint [rad/s]


@dataclass(frozen=True)
class UnstableMode:
    """An unstable mode of the joints."""

    value: complex  # eigenvalue: growth and turn per period
    posture: int  # number of the posture
    joint: int  # the joint whose feedback does most of its work
    # (n,) joints whose feedback does about as much, in it or in another mode of the same posture
    # with similar growth
    contributing: NDArray[np.bool_]
    timing: Timing  # of the loop

    @property
    def creeps(self) -> bool:
        """Whether it grows without swinging: gravity outdoes the gains."""
        return self.value.imag == 0.0 and self.value.real > 0.0

    def __str__(self) -> str:
        """Return what the arm does, in words."""
        if self.creeps:
            return f"with {self.timing} gravity tips the joint over"
        frequency = abs(np.angle(self.value)) / (2.0 * pi * self.timing.period)
        return f"with {self.timing} the joint swings up at {frequency:.2g} Hz"


@dataclass(frozen=True)
class Unstable:
    """Gains of a joint with which the loop is unstable or has no margin."""

    joint: int  # index
    given: Floats  # position and velocity gain (2,)
    advised: Floats  # those with which the loop is stable (2,)
    mode: UnstableMode  # what the arm does with the given ones


class SampledLoop:
    """The closed loop, linearised at B postures: ``inertia`` and ``stiffness`` (B, n, n)."""

    def __init__(
        self,
        model: Model,
        armature: ArrayLike = 0.0,
        timing: Timing | None = None,
        at: Floats | None = None,
        mode: Mode = Mode.FEEDFORWARD,
    ) -> None:
        """Linearise an arm with a fixed base.

        ``at``: (B, n) postures; None: the most demanding of ``postures(model)``. The law of
        gravity_compensation has velocity gains only, its damping.
        """
        if model.n > MAX_JOINTS:
            raise ModelError(
                f"robot {model.name!r} has {model.n} joints, expected at most {MAX_JOINTS} for "
                "gains and drives: name those that are to be controlled (joints)"
            )
        self.joint_names = model.joint_names
        self.timing = Timing() if timing is None else timing
        self.mode = mode
        q = postures(model) if at is None else np.atleast_2d(at)
        rest = np.zeros_like(q)
        stiffness, _, inertia = Dynamics(model).rnea_derivatives(q, rest, rest)
        drives = np.broadcast_to(np.asarray(armature, float), (model.n,))
        inertia = inertia + np.diag(drives)
        mobility = _mobility(inertia, model.joint_names)
        kept = _extreme_postures(inertia, mobility, stiffness) if at is None else slice(None)
        self.inertia, self.stiffness = inertia[kept], stiffness[kept]
        self._mobility = mobility[kept]
        self._plant = self._discretise()

    @remembered
    def under(self, mode: Mode) -> SampledLoop:
        """Return the same arm, postures and timing under a law; itself, if it is its own."""
        if mode is self.mode:
            return self
        other = copy(self)
        other.mode = mode
        return other

    def at(self, timing: Timing) -> SampledLoop:
        """Return the same arm, postures and law with another timing."""
        other = copy(self)
        other.timing = timing
        other._plant = other._discretise()
        return other

    def estimating(self, cutoff: float) -> SampledLoop:
        """Return the loop whose velocities are estimated from positions, by a cutoff [Hz].

        The filter's delay is that of the whole loop here, and the loop is sampled as slowly as it
        answers: both are close where D matters most, and quick to compute.
        """
        h = self.timing.period
        whole = max(self.timing.delay + 0.5 / (pi * cutoff), h)
        return self.at(Timing(whole, 0.5 * (whole + h)))

    @property
    def computed(self) -> bool:
        """Whether gains are of acceleration."""
        return self.mode.feedback is Feedback.ACCELERATIONS

    @property
    def lightest(self) -> Floats:
        """(n,) least inertia that each joint moves with all others free [kg m^2] or [kg]."""
        return 1.0 / np.diagonal(self._mobility, axis1=1, axis2=2).max(axis=0)

    @property
    def heaviest(self) -> Floats:
        """(n,) largest inertia that each joint moves with all others at rest [kg m^2] or [kg]."""
        return np.diagonal(self.inertia, axis1=1, axis2=2).max(axis=0)

    @property
    def gravity_gain(self) -> Floats:
        """(n,) least position gains k that keep gravity from tipping the arm over: k + G >= 0."""
        own = np.abs(np.diagonal(self.stiffness, axis1=1, axis2=2)).max(axis=0)
        own = own + SLIGHT * self.heaviest
        root = np.sqrt(own)
        scale = np.outer(root, root)  # not the root of a product: that vanishes of tiny masses
        return own * max(0.0, -np.linalg.eigvalsh(self.stiffness / scale).min())

    def fastest_decay(self, d: Floats) -> tuple[float, NDArray[np.bool_]]:
        """Return the largest eigenvalue of M^-1 D [1/s], and the joints (n,) in its motion."""
        root = np.sqrt(d)
        values, vectors = np.linalg.eigh(self._mobility * np.outer(root, root))
        worst = int(np.argmax(values[:, -1]))
        power = vectors[worst, :, -1] ** 2
        return float(values[worst, -1]), power >= CONTRIBUTING * power.max()

    @remembered
    def is_stable(self, p: Floats, d: Floats) -> bool:
        """Tell whether the loop is stable in all postures, with ``GAIN_MARGIN`` in hand."""
        return self.worst(p, d) is None

    def worst(
        self, p: Floats, d: Floats, margin: float = GAIN_MARGIN, only: int | None = None
    ) -> UnstableMode | None:
        """Return the worst unstable mode of these gains (n,), or ``margin`` times them; or None."""
        of = slice(None) if only is None else slice(only, only + 1)
        for factor in (margin, 1.0) if margin > 1.0 else (1.0,):
            transition = self.transition(factor * p, factor * d, of)
            radius = np.abs(np.linalg.eigvals(transition)).max(axis=1)
            found = int(np.argmax(radius))
            if radius[found] > 1.0 + ROUNDING:
                posture = found + (only or 0)
                return self._worst_mode(transition[found], factor * p, factor * d, posture)
        return None

    def _worst_mode(self, transition: Floats, p: Floats, d: Floats, posture: int) -> UnstableMode:
        """Return the mode with the largest eigenvalue of a transition (N, N), of one posture."""
        values, vectors = np.linalg.eig(transition)
        size, n = np.abs(values), len(p)
        growth = size - 1.0
        unstable = np.argsort(-size)[: int((growth >= CONTRIBUTING * growth.max()).sum())]
        x, velocity = vectors[:n, unstable].T, vectors[n : 2 * n, unstable].T
        if self.mode.feedback is Feedback.DAMPING:
            x = np.zeros_like(x)
        force = p * x + d * velocity
        if self.computed:
            force = force * np.diag(self.inertia[posture])
        work = np.abs(force * velocity)
        contributing = work >= CONTRIBUTING * work.max(axis=1, keepdims=True)
        joint, value = int(work[0].argmax()), complex(values[unstable[0]])
        return UnstableMode(value, posture, joint, contributing.any(axis=0), self.timing)

    def transition(self, p: Floats, d: Floats, of: slice = slice(None)) -> Floats:
        """Return the matrices (B, N, N) from one sample to the next: x, xd, waiting commands."""
        free, new, old = (part[of] for part in self._plant)
        batch, twice, _ = free.shape
        n, waiting = twice // 2, max(1, self._whole_periods + self._is_between)
        command = -np.concatenate(self._feedback(p, d, of), axis=2)
        A = np.zeros((batch, twice + n * waiting, twice + n * waiting))
        A[:, :twice, :twice] = free
        A[:, twice : twice + n, :twice] = command
        for k in range(1, waiting):
            row = twice + n * k
            A[:, row : row + n, row - n : row] = np.eye(n)
        if self._is_between:
            A[:, :twice, -n:] += old
        if not self._whole_periods:
            A[:, :twice, :twice] += new @ command
        else:
            acting = twice + n * (self._whole_periods - 1)
            A[:, :twice, acting : acting + n] += new
        return A

    def _feedback(self, p: Floats, d: Floats, of: slice) -> tuple[Floats, Floats]:
        """Return K_x and K_v, (B, n, n) each."""
        inertia, stiffness = self.inertia[of], self.stiffness[of]
        if self.computed:
            return inertia * p - stiffness, inertia * d
        one = np.ones((len(inertia), 1, 1))
        if self.mode.feedback is Feedback.DAMPING:
            return -stiffness, one * np.diag(d)
        return one * np.diag(p), one * np.diag(d)

    @property
    def _whole_periods(self) -> int:
        return int(self.timing.delay / self.timing.period + 1e-9)

    @property
    def _is_between(self) -> bool:
        """Whether commands take effect within a period, not at its beginning."""
        return self.timing.delay > (self._whole_periods + 1e-9) * self.timing.period

    def _discretise(self) -> tuple[Floats, Floats, Floats]:
        """Return the free motion over a period, and the effects of newer and older command."""
        h = self.timing.period
        late = max(self.timing.delay - self._whole_periods * h, 0.0)  # [0, h): the older one's time
        free, whole = self._motion(h)
        _, rest = self._motion(h - late)
        return free, rest, whole - rest

    def _motion(self, t: float) -> tuple[Floats, Floats]:
        """Return how state and a constant command move the arm for a time t, exactly."""
        W = self._mobility @ self.stiffness
        powers = [np.broadcast_to(np.eye(W.shape[-1]), W.shape)]
        for _ in range(TERMS - 1):
            powers.append(-powers[-1] @ W)

        def series(k: int) -> Floats:
            terms = [P * (t ** (2 * i + k) / factorial(2 * i + k)) for i, P in enumerate(powers)]
            return np.sum(terms, axis=0)

        C, S, fall = series(0), series(1), series(2)
        free = np.block([[C, S], [-W @ S, C]])
        return free, np.concatenate((fall @ self._mobility, S @ self._mobility), axis=1)


linearised = remembered(SampledLoop)  # of (model, armature, timing)


def postures(model: Model, count: int = CANDIDATES, seed: int = 1) -> Floats:
    """Return postures across the range of motion (B, n), its middle first.

    Half of them have every joint at 0 or a right angle, if it can be there: where axes are in line
    a joint may move next to no inertia.
    """
    half = np.array([UNLIMITED.get(kind, pi) for kind in model.joint_types])
    lower = np.where(np.isfinite(model.lower), model.lower, -half)
    upper = np.where(np.isfinite(model.upper), model.upper, half)
    random = np.random.default_rng(seed)
    q = lower + random.random((count, model.n)) * (upper - lower)
    q[0] = 0.5 * (lower + upper)
    square = 0.5 * pi * random.integers(-1, 2, (count // 2, model.n))
    square[0] = 0.0
    q[1 : 1 + count // 2] = np.clip(square, lower, upper)
    return q


def _mobility(inertia: Floats, joints: Sequence[str]) -> Floats:
    """Return the inverse of inertia matrices (..., n, n)."""
    with suppress(np.linalg.LinAlgError):  # which takes a tenth of the time of eigenvalues
        np.linalg.cholesky(inertia)
        return np.asarray(np.linalg.inv(inertia))
    least, largest = np.linalg.eigvalsh(inertia)[:, [0, -1]].T
    at = int(np.argmin(least / np.maximum(largest, np.finfo(float).tiny)))
    if not least[at] >= -INDEFINITE * largest[at]:
        raise ModelError(
            f"joint {joints[_weakest(inertia[at])]!r} moves links whose inertia is not positive "
            f"definite: {least[at]:.4g} about some axis, expected more than 0; featherstone-ros "
            "inspect names the link"
        )
    size = np.sqrt(np.maximum(np.diagonal(inertia, axis1=1, axis2=2), 0.0))
    scaled = inertia / np.maximum(size[:, :, None] * size[:, None, :], np.finfo(float).tiny)
    least = np.linalg.eigvalsh(scaled)[:, 0]
    at = int(np.argmin(least))
    if least[at] > SINGULAR:
        with suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.inv(inertia))
    raise SingularInertiaError(joints[_weakest(scaled[at])])


def _weakest(inertia: Floats) -> int:
    """Return the joint that moves most in the motion of least inertia (n, n)."""
    return int(np.argmax(np.abs(np.linalg.eigh(inertia)[1][:, 0])))


def _extreme_postures(inertia: Floats, mobility: Floats, stiffness: Floats) -> list[int]:
    """Return the postures in which something is extreme; for many joints only the first of them."""
    own = np.diagonal(inertia, axis1=1, axis2=2)
    scale = np.sqrt(own.max(axis=0))
    swiftest = np.linalg.eigvalsh(mobility * np.outer(scale, scale))[:, -1]
    extremes = (
        [0],
        np.argsort(swiftest)[:-4:-1],  # least inertia of any motion of all joints
        np.argsort(np.linalg.eigvalsh(stiffness)[:, 0])[:3],
        np.diagonal(mobility, axis1=1, axis2=2).argmax(axis=0),  # a joint, the others free
        np.diagonal(stiffness, axis1=1, axis2=2).argmin(axis=0),
        own.argmax(axis=0),
    )
    kept = list(dict.fromkeys(map(int, np.concatenate(extremes))))
    return kept[: max(4, EFFORT // own.shape[1] ** 2)]


@remembered
def choose(
    loop: SampledLoop,
    bandwidth: float,
    damping_ratio: float,
    coulomb: ArrayLike = 0.0,
    cutoff: float = ControllerSettings.velocity_cutoff,
) -> ChosenGains:
    """Choose P and D of every joint, as stiff as wanted and as period and delay allow.

    Wanted are P = m w^2 + k and D = 2 zeta sqrt(m P), with the largest inertia m of the joint over
    its range of motion and the stiffness k against which gravity cannot tip the arm over. Where
    they have no margin, D is reduced, P - k in proportion, and further where the damping ratio at m
    would fall below ``MIN_DAMPING_RATIO``. Computed torque takes P = w^2 [1/s^2] and D = 2 zeta w
    [1/s], w reduced likewise.

    ``bandwidth``: w, natural frequency of a joint in its heaviest posture [rad/s]; more, up to
    ``FASTEST``, where friction that is wrong by ``UNCERTAIN`` would cost more than ``ARRIVED``; in
    computed torque, at its lightest. ``damping_ratio``: zeta of the same. ``coulomb``: (n,) [N m or
    N]. ``cutoff``: of the estimate of velocities [Hz]: without measured ones it is stable, too.

    Raises:
        NoStableGainsError: No gains are stable with margin; names a joint and a remedy.
    """
    m, k = loop.heaviest, loop.gravity_gain
    light = loop.lightest if loop.computed else m
    by_friction = np.sqrt(UNCERTAIN * np.asarray(coulomb, float) / (ARRIVED * light))
    wanted = np.maximum(bandwidth, np.minimum(by_friction, FASTEST))
    if not loop.computed:
        wanted = np.minimum(wanted, 1.0 / loop.timing.latency)

    def at(share: Floats, part: float) -> tuple[Floats, Floats]:
        if loop.computed:
            w = part * share * wanted
            return w**2, 2.0 * damping_ratio * w
        most = m * (part * wanted) ** 2
        d = share**2 * 2.0 * damping_ratio * np.sqrt(m * (k + most))
        return k + np.minimum(share**2 * most, (0.5 * d / MIN_DAMPING_RATIO) ** 2 / m), d

    p, d = _reduce(loop, cutoff, bandwidth, at)
    reached = np.sqrt(p if loop.computed else np.maximum(p - k, 0.0) / m)
    slow = {
        joint: float(w)
        for joint, w, most in zip(loop.joint_names, reached, wanted, strict=True)
        if w < most * (1.0 - ROUNDING)
    }
    return ChosenGains(p, d, slow, reached)


def _reduce(
    loop: SampledLoop,
    cutoff: float,
    bandwidth: float,
    at: Callable[[Floats, float], tuple[Floats, Floats]],
) -> tuple[Floats, Floats]:
    """Reduce the gains of joints that feed unstable modes until none is left; return P and D.

    D must exceed P times the latency, or the loop would not be stable for drives with more inertia
    than is known. Where stability without measured velocities cannot be had, as for an arm of
    little inertia that gravity tips over, it is done without, and begun with less stiffness.
    """
    estimating = loop.estimating(cutoff)
    culprits: list[int] = []
    for part, is_estimated in (
        (1.0, True),
        (GENTLER, True),
        (GENTLER, False),
        (GENTLER**2, False),
    ):
        share = np.ones(len(loop.joint_names))
        while share.min() > SLOWEST:
            p, d = at(share, part)
            decay, joints = (0.0, None) if loop.computed else loop.fastest_decay(d)
            if decay * loop.timing.latency <= NO_MARGIN:
                if not loop.computed and (d < p * loop.timing.latency).any():
                    break
                mode = loop.worst(p, d)
                if mode is None and is_estimated:
                    mode = estimating.worst(p, d, margin=1.0)
                if mode is None:
                    return p, d
                joints = mode.contributing
            share[joints] *= STEP
        culprits.append(int(np.argmin(share)))
    joint = loop.joint_names[culprits[0]]
    raise NoStableGainsError(
        culprits[0],
        f"joint {joint!r}: no gains of a bandwidth up to {bandwidth:g} rad/s are stable with "
        f"{loop.timing}; a shorter delay would help, or inertia of the drives (`armature`)",
    )


def error_of_friction(loop: SampledLoop, p: Floats, coulomb: ArrayLike) -> Floats:
    """Return the error at rest (n,) that friction leaves which is wrong by ``UNCERTAIN``."""
    stiffness = p * loop.lightest if loop.computed else p
    return np.asarray(UNCERTAIN * np.broadcast_to(coulomb, p.shape) / stiffness)


def unstable(
    loop: SampledLoop, given: ArrayLike, chosen: ArrayLike, margin: float = GAIN_MARGIN
) -> list[Unstable]:
    """Return the joints whose gains (2, n) make the loop unstable; empty if it is stable.

    One after the other gets the chosen gains, until the loop is stable: of the joints that feed the
    worst mode, the one that is furthest from them.
    """
    given, chosen = np.array(given, float), np.asarray(chosen, float)
    gains, found = given.copy(), []
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.nan_to_num(np.abs(np.log(gains / chosen))).max(axis=0)  # 0 / 0: the same
    while off.any() and (mode := loop.worst(gains[0], gains[1], margin=margin)) is not None:
        guilty = off * mode.contributing
        i = int(np.argmax(guilty if guilty.any() else off))
        found.append(Unstable(i, given[:, i], chosen[:, i], mode))
        gains[:, i], off[i] = chosen[:, i], 0.0
    return sorted(found, key=lambda finding: finding.joint)


@dataclass(frozen=True)
class Damping:
    """Damping of a law, chosen from the model."""

    value: Floats  # (n,) [N m s/rad] or [N s/m]
    wanted: Floats  # (n,) the same if the loop had no delay
    timing: Timing  # period and delay for which it was chosen

    def reason(self, joint: int) -> str:
        """Return in a few words where the value of a joint comes from."""
        wanted = f"{self.wanted[joint]:.2g} for hand guiding"
        if self.value[joint] < self.wanted[joint]:
            return f"{wanted}, less for its smallest inertia"
        if self.value[joint] > self.wanted[joint]:
            return f"{wanted}, more against late gravity"
        return "for hand guiding"


def wanted_damping(model: Model, loop: SampledLoop, share: float = GUIDING) -> Floats:
    """Return the damping (n,) that takes a share of the effort limit at the velocity limit."""
    effort, speed = model.effort_limit, model.velocity_limit
    limited = np.isfinite(effort) & np.isfinite(speed) & (effort > 0.0) & (speed > 0.0)
    by_limits = np.where(limited, effort, 0.0) / np.where(limited, speed, 1.0)
    return np.where(limited, share * by_limits, share / GUIDING * loop.heaviest / COASTING)


@remembered
def choose_damping(loop: SampledLoop, wanted: Floats, silence: float = 0.0) -> Damping:
    """Choose the damping of every joint: what is wanted, less where a delay makes it unstable.

    More where gravity that comes late would pump the arm. Stable with margin in all postures. If
    the last command acts through a silence [s], the damping of a velocity that was may reverse the
    motion, but no more.
    """
    loop = loop.under(Mode.GRAVITY_COMPENSATION)
    d = np.maximum(wanted, GAIN_MARGIN * loop.timing.latency * loop.gravity_gain)
    given_up = MIN_SHARE * d
    tried: set[bytes] = set()  # from there on it would go in a circle
    max_decay = min(REVERSED / silence if silence else np.inf, NO_MARGIN / loop.timing.latency)
    while (fastest := loop.fastest_decay(d))[0] > max_decay:
        d = np.where(fastest[1], STEP * d, d)
    zero, worst = np.zeros_like(d), loop.worst(np.zeros_like(d), d)
    while worst is not None:
        here = d.astype(np.float32).tobytes()  # but for rounding
        if (d < given_up).any() or here in tried:
            joint = loop.joint_names[worst.joint]
            raise NoStableGainsError(
                worst.joint,
                f"joint {joint!r}: no damping is stable with {loop.timing}; a shorter delay would "
                "help, or inertia of the drives (`armature`)",
            )
        tried.add(here)
        d = np.where(worst.contributing, d / STEP if worst.creeps else d * STEP, d)
        # All postures take long, so first the one that was not stable.
        worst = loop.worst(zero, d, only=worst.posture) or loop.worst(zero, d)
    return Damping(d, wanted, loop.timing)


@remembered
def choose_fault_damping(model: Model, loop: SampledLoop, damping: Floats, cutoff: float) -> Floats:
    """Choose the damping (n,) that soon ends a motion in a fault, no less than ``damping``.

    It must bear what the gains need not: velocities estimated from positions, which the filter
    (``cutoff`` in Hz) delays, and an open-loop stop, whose commands are those of the watchdog.
    """
    period, late = max(loop.timing.period, WATCHDOG_PERIOD), 0.5 / (pi * cutoff)
    slow = loop.at(Timing(period, loop.timing.delay + late))
    try:
        chosen = choose_damping(slow, wanted_damping(model, loop, BRAKING))
    except ValueError:  # the loop that is meant has one
        return damping
    return np.maximum(chosen.value, damping)
