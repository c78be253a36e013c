"""Exciting motions for identification: finite Fourier series, rest to rest, within all limits.

Joint i moves by

    q_i(t) = s_i + sum_k  a_ik sin(w_ik t) / w_ik  +  b_ik (1 - cos(w_ik t)) / w_ik

with w_ik = 2 pi m_ik / T and integers m_ik, so that it returns to s_i after T; with sum_k a_ik = 0
and sum_k b_ik w_ik = 0, velocity and acceleration are zero there as well. The integers differ
between joints and have no common factor, so that the last third differs from the first. A search
from many random series keeps changes that lower the condition number of the regressor of base
parameters and friction, each column scaled to length 1 (criterion of J. Swevers et al., "Optimal
robot excitation and identification", IEEE T-RA 1997).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.errors import IdentificationError
from featherstone_ros.identification.base_parameters import base_parameters
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.regression import Law, drive_columns, link_columns
from featherstone_ros.progress import Progress
from featherstone_ros.tools.clearance import Clearance, chain
from featherstone_ros.tools.multi_sine import UNLIMITED_VELOCITY

HIGHEST = 0.5  # [Hz]
SAMPLES = 240  # of a motion, for its checks
COARSE = 16  # of so many samples one is checked before all are
RANGE_USED, EFFORT_USED = 0.9, 0.8  # shares of the position range and of the effort limit
WIDEST = 2.0  # [rad or m] to either side of the start
REDUCTION, MIN_SCALE = 0.85, 0.02  # factor while a motion does not fit, and their product
POSES, ROUNDS = 64, 32  # drawn for each start, at once and one after the other
STARTS, STEPS, CHILDREN = 24, 60, 6  # of the search
LARGE = 16  # joints above which it is shorter: each motion takes time by their square and more
WEAK = 1e4  # condition number from which something is hardly told
STEP_SIZE = 0.3  # of a coefficient's change, relative to their size


@dataclass(frozen=True, eq=False)
class Series:
    """A finite Fourier series per joint."""

    start: Floats  # (n,) position at both ends [rad or m]
    number: Floats  # (H, n) of periods in the duration
    a: Floats  # (H, n) velocity amplitudes of the cosines [rad/s or m/s]
    b: Floats  # (H, n) velocity amplitudes of the sines
    duration: float  # [s]

    def at(self, time: Floats) -> tuple[Floats, Floats, Floats]:
        """Return position, velocity and acceleration (N, n) at times (N,) from 0 to duration."""
        w = 2 * np.pi * self.number / self.duration
        angle = np.asarray(time)[:, None, None] * w
        sine, cosine = np.sin(angle), np.cos(angle)
        position = self.start + (self.a / w * sine + self.b / w * (1 - cosine)).sum(axis=1)
        velocity = (self.a * cosine + self.b * sine).sum(axis=1)
        acceleration = (w * (self.b * cosine - self.a * sine)).sum(axis=1)
        return position, velocity, acceleration

    def samples(self, count: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Return evenly spaced times, both ends included, and ``at`` of them."""
        time = np.linspace(0.0, self.duration, count)
        return time, *self.at(time)

    def scaled(self, factor: Floats | float) -> Series:
        """Return the motion with its displacements scaled, by one factor or one per joint."""
        return replace(self, a=self.a * factor, b=self.b * factor)


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A planned motion and its figures."""

    series: Series  # the motion
    before: float  # condition number of the first motion within the limits
    after: float  # condition number of this one
    clearance: float  # least distance along it [m], inf without geometry
    unknowns: int  # number of base parameters and drive terms
    untold: tuple[str, ...] = ()  # names of those of which the motion tells hardly anything


class Excitation:
    """Searches for exciting motions of one arm."""

    def __init__(
        self,
        arm: ControlledArm,
        clearance: Clearance,
        duration: float = 30.0,
        harmonics: int = 5,
        speed: float = 0.8,
    ) -> None:
        """Prepare for ``duration`` [s], with at least 2 sines (``harmonics``) per joint.

        ``speed``: share of the velocity limits.
        """
        highest = int(HIGHEST * duration)
        if not 2 <= harmonics <= highest:
            raise IdentificationError(
                f"{harmonics} harmonics in {duration:g} s, expected 2 to {max(highest, 2)}: none "
                f"is faster than {HIGHEST:g} Hz"
            )
        if not 0 < speed <= 1:
            raise IdentificationError(f"speed is {speed:g}, expected more than 0 and at most 1")
        self.arm, self.clearance, self._duration = arm, clearance, duration
        self._harmonics, self._highest = harmonics, highest
        model = arm.model
        self._velocity = speed * np.minimum(model.velocity_limit, UNLIMITED_VELOCITY / 0.8)
        limits = arm.limits
        self._acceleration = speed * np.minimum(limits.acceleration, limits.deceleration)
        self._jerk = speed * limits.jerk
        half = RANGE_USED * (model.upper - model.lower) / 2
        bounded = np.isfinite(half)
        middle = np.where(bounded, model.lower, 0.0) + half / RANGE_USED
        self._lower = np.where(bounded, np.where(bounded, middle, 0) - half, -np.inf)
        self._upper = np.where(bounded, np.where(bounded, middle, 0) + half, np.inf)
        self._effort = EFFORT_USED * arm.limits.effort
        self._dynamics, self._bodies = Dynamics(model), Bodies.of(model)
        n = model.n
        base = base_parameters(model, offset=True, negligible=1 / WEAK)  # no motion tells more
        kept = 10 * len(self._bodies.names) + n
        friction = np.arange(kept, kept + 2 * n)  # between the rotors and the offsets
        combined = base.independent + 2 * n * (base.independent >= kept)
        self._columns = np.concatenate([combined, friction])
        terms = ("viscous friction", "Coulomb friction")
        drives = [f"{term} of {name}" for term in terms for name in model.joint_names]
        self._names = [*base.texts(), *drives]

    def search(
        self, start: Floats | None = None, seed: int = 0, progress: Progress | None = None
    ) -> PlannedMotion:
        """Search for a motion.

        ``start`` (n,) initial and final position [rad or m]; None: the search chooses one.
        """
        if start is not None:
            self.clearance = self.clearance.standing(np.asarray(start, dtype=float))
        random = np.random.default_rng(seed)
        share = min(1.0, (LARGE / self.arm.model.n) ** 2)
        enough, steps = ceil(share * STARTS), ceil(share * STEPS)
        total, done, found = STARTS + steps * CHILDREN, 0, 0
        best: Series | None = None
        self._refused: list[Series] = []
        best_cost = first = np.inf
        for _ in range(STARTS):
            tried = self._random(random, start)
            series = self._fitted(tried)
            if series is None:
                self._refused.append(tried)
            cost = self._condition(series) if series else np.inf
            first = first if np.isfinite(first) else cost
            if cost < best_cost:
                best, best_cost = series, cost
            done, found = done + 1, found + (series is not None)
            if progress:
                progress(done, total)
            if found == enough:
                break
        if best is None:
            raise IdentificationError(self._why(start))
        done = STARTS
        for step in range(steps):
            size = STEP_SIZE * (1 - step / steps)
            parent = best
            for _ in range(CHILDREN):
                series = self._fitted(self._changed(parent, size, random))
                cost = self._condition(series) if series else np.inf
                if series and cost < best_cost:
                    best, best_cost = series, cost
                done += 1
                if progress:
                    progress(done, total)
        distance = self.clearance.min_distance(best.samples(4 * SAMPLES)[1])
        untold = self._untold(best)
        return PlannedMotion(best, first, best_cost, distance, len(self._columns), untold)

    def _random(self, random: np.random.Generator, start: Floats | None) -> Series:
        n, H = self.arm.model.n, self._harmonics
        start = self._start(random) if start is None else start
        number = [random.permutation(self._highest)[:H] + 1 for _ in range(n)]
        a, b = random.normal(size=(2, H, n))
        return self._at_rest(Series(np.array(start), np.transpose(number), a, b, self._duration))

    def _start(self, random: np.random.Generator) -> Floats:
        """Return a pose (n,) that is held and clear, if one is found.

        What is in each other's way is drawn anew, and nothing else: of many links, each clear of
        the other in most poses, hardly a pose is clear of all (R. Moser, G. Tardos, "A constructive
        proof of the general Lovász local lemma", J. ACM 2010).
        """
        n = self.arm.model.n
        lower = np.maximum(self._lower, np.minimum(-WIDEST, self._upper - WIDEST))
        upper = np.minimum(self._upper, np.maximum(WIDEST, self._lower + WIDEST))
        pose, anew = np.zeros(n), np.ones(n, dtype=bool)
        for _ in range(ROUNDS):
            drawn = lower + (upper - lower) * random.uniform(0.25, 0.75, (POSES, n))
            drawn = np.where(anew, drawn, pose)
            rest = np.zeros_like(drawn)
            missing = self._missing(drawn, rest, rest)
            best = int((missing > 0.0).sum(axis=1).argmin())
            pose, worst = drawn[best], int(missing[best].argmax())
            if missing[best, worst] <= 0.0:
                break
            anew = self._moving(worst)
        return np.asarray(pose, float)

    def _changed(self, series: Series, size: float, random: np.random.Generator) -> Series:
        a, b = (
            x + size * np.abs(x).mean() * random.normal(size=x.shape) for x in (series.a, series.b)
        )
        number = series.number.copy()
        if random.random() < 0.3:  # another frequency for one sine of one joint
            j, k = random.integers(number.shape[1]), random.integers(number.shape[0])
            free = np.setdiff1d(np.arange(1, self._highest + 1), number[:, j])
            if len(free):
                number[k, j] = random.choice(free)
        return self._at_rest(replace(series, number=number, a=a, b=b))

    @staticmethod
    def _at_rest(series: Series) -> Series:
        """Remove velocity and acceleration at the ends."""
        m = series.number
        a = series.a - series.a.mean(axis=0)
        b = series.b - m * (series.b * m).sum(axis=0) / (m * m).sum(axis=0)
        return replace(series, a=a, b=b)

    def _fitted(self, series: Series) -> Series | None:
        """Return the motion as large as limits, torque and space allow; None if none is."""
        time, q, qd, qdd = series.samples(2 * SAMPLES)
        moved = q - series.start
        up = np.minimum(self._upper - series.start, WIDEST) / np.maximum(moved.max(axis=0), 1e-9)
        down = np.minimum(series.start - self._lower, WIDEST) / np.maximum(-moved.min(axis=0), 1e-9)
        jerk = np.diff(qdd, axis=0) / np.diff(time)[:, None]
        rates = (qd, self._velocity), (qdd, self._acceleration), (jerk, self._jerk)
        fast = [limit / np.maximum(np.abs(rate).max(axis=0), 1e-9) for rate, limit in rates]
        factor = np.min([up, down, *fast], axis=0)
        if (factor <= 0).any():
            return None
        smallest = MIN_SCALE * factor
        while True:
            moving = self._in_the_way(series.start + factor * moved, factor * qd, factor * qdd)
            if not moving.any():
                return series.scaled(factor)
            factor = np.where(moving, REDUCTION, 1.0) * factor
            if (factor < smallest).any():
                return None

    def _in_the_way(self, q: Floats, qd: Floats, qdd: Floats) -> NDArray[np.bool_]:
        """Return the joints (n,) that move what torque and space do not allow; none: they do.

        Most motions that are not allowed show it in few samples.
        """
        for some in (slice(None, None, COARSE), slice(None)):
            missing = self._missing(q[some], qd[some], qdd[some]).max(axis=0)
            wrong = np.flatnonzero(missing > 0.0).tolist()
            if wrong:
                return np.any([self._moving(k) for k in wrong], axis=0)
        return np.zeros(self.arm.model.n, dtype=bool)

    def _missing(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """Return by how much (B, n + k) torques [their limit], then distances [m], are missed."""
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.abs(self._torque(q, qd, qdd)) / self._effort - 1.0
        return np.hstack([np.nan_to_num(excess), self.clearance.missing(q)])

    def _moving(self, k: int) -> NDArray[np.bool_]:
        """Return the joints (n,) on which a figure of ``_missing`` depends."""
        model = self.arm.model
        if k >= model.n:
            return self.clearance.moving(k - model.n)
        bodies = model.tree.joint_body.tolist()
        carrying = [chain(model, body) for body in bodies]
        tied = [body in carrying[k] or bodies[k] in carrying[j] for j, body in enumerate(bodies)]
        return np.array(tied)

    def _torque(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        return self.arm.drives.torque(self._dynamics, q, qd, qdd)

    def _condition(self, series: Series) -> float:
        W, length = self._scaled(series)
        return float(np.linalg.cond(W)) if length.all() else np.inf

    def _untold(self, series: Series) -> tuple[str, ...]:
        """Return the names of unknowns that others replace, but for a thousandth."""
        W, _ = self._scaled(series)
        _, s, V = np.linalg.svd(W, full_matrices=False)
        weak = V[s < s[0] / WEAK]
        strongest = np.abs(V).argmax(axis=1)[s < s[0] / WEAK] if len(weak) else []
        return tuple(dict.fromkeys(self._names[k] for k in strongest))

    def _scaled(self, series: Series) -> tuple[Floats, Floats]:
        """Return the regressor's columns, scaled to length 1, and their lengths."""
        time, q, qd, qdd = series.samples(SAMPLES)
        sign = np.sign(qd)
        motion = SmoothMotion(time, q, qd, qdd, sign, q, sign, sign)
        links = link_columns(motion, self._dynamics, self._bodies)
        W = np.concatenate([links, drive_columns(motion, Law(), q)], axis=2)[:, :, self._columns]
        weight = np.where(np.isfinite(self._effort), self._effort, 1.0)
        W = (W / np.maximum(weight, 1e-9)[:, None]).reshape(-1, len(self._columns))
        length = np.linalg.norm(W, axis=0)
        return W / np.where(length > 0, length, 1.0), length

    def _why(self, start: Floats | None) -> str:
        """Say what most of what was tried ran into, at rest or as small as it becomes."""
        culprits: Counter[str] = Counter()
        still = np.zeros((1, self.arm.model.n))
        at_rest = [self._missing(series.start[None], still, still)[0] for series in self._refused]
        moves = not all((missing > 0.0).any() for missing in at_rest)
        for series, missing in zip(self._refused, at_rest, strict=True):
            if moves:
                _, q, qd, qdd = self._smallest(series).samples(SAMPLES)
                missing = self._missing(q, qd, qdd).max(axis=0)
            torque, distance = np.split(missing, [self.arm.model.n])
            if distance.max(initial=0.0) > 0.0:
                pair = self.clearance.named(int(distance.argmax()))
                culprits[f"{pair} come too near to each other (--may-touch waives them)"] += 1
            elif torque.max() > 0.0:
                joint = self.arm.model.joint_names[int(torque.argmax())]
                culprits[f"{joint} needs more than {EFFORT_USED:.0%} of its effort limit"] += 1
        found = "; ".join(f"{text}, in {k} of {STARTS}" for text, k in culprits.most_common(2))
        if start is None:
            what = f"no {'motion' if moves else 'pose'} was found that keeps"
        else:
            what = "no motion from the start keeps" if moves else "the start does not keep"
        return f"{what} to the limits and clear of the arm and the floor: {found}"

    def _smallest(self, series: Series) -> Series:
        """Return a motion as small as is tried."""
        _, q, qd, _ = series.samples(SAMPLES)
        room = np.minimum(self._upper - series.start, series.start - self._lower)
        reach = np.abs(q - series.start).max(axis=0)
        factor = np.minimum(
            np.minimum(room, WIDEST) / reach, self._velocity / np.abs(qd).max(axis=0)
        )
        return series.scaled(MIN_SCALE * factor)
