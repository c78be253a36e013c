"""Hypotheses on how a recording is to be read, and the posterior of each.

What was measured is

    tau = g (Y(q - o) pi + drives) + delay d tau/dt + noise

where each joint's effort has a gain g (its sign included), its encoder an offset o and a sign, all
efforts may be late, and gravity may be tilted. The links pi are possible bodies near the URDF's, as
in ``fit``, with a load of unknown mass on the last; the drives of each joint are unknown, but their
friction takes power: where it would give some, the hypothesis is improbable by as much. A
hypothesis says which g, o and signs are not as they should be; the delay and gravity's direction
are always estimated. Its evidence is the probability of the torque with all unknowns integrated
out, by Laplace's method (D. MacKay, "Bayesian interpolation", Neural Computation 1992): it pays for
every unknown that the data do not need. The noise of each joint is the residual of its own
posterior mode; errors of a model are correlated in time, so a sample counts as much less than one
where they are.

The posterior mode is found by the method of Levenberg and Marquardt: several bodies explain a
torque nearly as well, along curved valleys in which full steps of Gauss and Newton swing from side
to side. It begins at the URDF's bodies, or at those that the same hypothesis had but for the
offsets of encoders: another hypothesis's are bent to a fault that this one may be free of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TypeAlias

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import needed
from featherstone_ros.identification.bodies import SIZE, Bodies
from featherstone_ros.identification.explanation import OF_LINKS, least_noise
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.fit import correlation_length
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.recording import interpolated
from featherstone_ros.identification.regression import Law, link_columns, own_columns
from featherstone_ros.model import Model
from featherstone_ros.model.drives import smooth_sign

Width: TypeAlias = float | tuple[float, ...]  # of theta: of all components, or of each of a body
ROUNDS, TRIES = 40, 8  # of steps at most, and of dampings for a step
DAMPING = 1e-2  # of the first step, relative
CONVERGED = 0.02  # least growth of a probability's logarithm by a step
RELINEARISED = 3  # times, in encoders' offsets
SLIGHT = 1.0  # evidence that a step of it may cost: a posterior is the best where it is linear
# Candidates for the prior deviation of theta, and how much less probable (the logarithm) they are.
THETAS = {0.15: 0.0, 0.3: 2.0, 0.6: 5.0}
# Prior deviations of a load's mass [kg], first moment [kg m] and inertia [kg m^2], of an offset
# [rad or m], a delay [s], and the logarithm of a gain.
LOAD = np.array([3.0, *[0.5] * 3, *[0.1] * 6])
OFFSET, DELAY, GAIN = 0.15, 0.1, 2.0
TILT = 0.1  # [rad] of gravity, about each horizontal axis
NO_LOAD = 1e-3  # times ``LOAD``
GIVING = 12.0  # deviations of power that friction gives beyond which nothing is less probable
ENOUGH = 1500  # samples: those of an hour tell nothing more of faults
LONGEST = 40.0  # samples that errors of a model are correlated over at most
VISCOUS = Law().terms.index("viscous")
# Beside Coulomb friction that turns round over a displacement, one that does so at once, and the
# rate of the first: how friction turns round tells nothing of a delay.
FRICTION, TERMS = [VISCOUS, Law().terms.index("coulomb"), 3], len(Law().terms) + 2


@dataclass(frozen=True)
class Hypothesis:
    """What is not as it should be; joints by index, efforts by that among the judged joints."""

    mirrored: tuple[int, ...] = ()  # joints whose positions and velocities have the other sign
    weightless: tuple[int, ...] = ()  # efforts without gravity
    order: tuple[int, ...] = ()  # which effort belongs to each judged joint; empty: its own
    negative: tuple[int, ...] = ()  # efforts with the other sign
    gains: tuple[tuple[int, ...], ...] = ()  # groups of efforts; those of a group have one gain
    offsets: tuple[int, ...] = ()  # joints whose encoder is off
    # (n,) or none, about which they are [rad or m]: torque is not linear in positions
    shifts: tuple[float, ...] = ()
    late: float = 0.0  # by what efforts are late [s]; the delay is estimated about it
    # in the base link's frame, about which its direction is estimated [m/s^2]; empty: the model's
    gravity: tuple[float, ...] = ()
    loaded: bool = True  # whether the last link may carry a load


@dataclass(frozen=True, eq=False)
class Rows:
    """Each judged joint's equations."""

    products: Floats  # (j, m, m) of the columns with each other
    # (j, N, m) the columns [links | offsets | tilt | delay | all efforts], of which is left what
    # the joint's drive does not explain
    samples: Sequence[Floats] | Floats
    efforts: Floats  # (N, j)
    own: Floats  # (j, t, t) products of the drive's columns with each other
    drive: Floats  # (j, t, m) what the drive explains of the columns, by its terms

    @cached_property
    def inner(self) -> Floats:
        """(j, m - j - 1, m - j - 1) products of the links, offsets and tilt with each other."""
        m = self.products.shape[1] - self.efforts.shape[1] - 1
        return self.products[:, :m, :m].copy()  # contiguous, for BLAS

    @cached_property
    def covariance(self) -> Floats:
        """(j, t, t) of the drives' terms, for noise of deviation 1."""
        return np.asarray(np.linalg.pinv(self.own, rcond=1e-10, hermitian=True), float)

    def but_for(self, joints: Sequence[int], other: Rows) -> Rows:
        """Return the same equations, but others for these judged joints."""
        each = [other if k in joints else self for k in range(len(self.samples))]
        products, own, drive = (
            np.array([getattr(rows, name)[k] for k, rows in enumerate(each)])
            for name in ("products", "own", "drive")
        )
        samples = [rows.samples[k] for k, rows in enumerate(each)]
        return Rows(products, samples, self.efforts, own, drive)


class Inference:
    """A recording's torque under all hypotheses."""

    def __init__(self, fitting: Fitting) -> None:
        """Prepare nothing yet."""
        self.fitting, self.bodies = fitting, fitting.bodies
        self.model = fitting.dynamics.model
        self.judged = fitting.judged
        self.width: Width = max(THETAS)
        self.length = np.ones(len(self.judged))
        self.least = np.zeros(len(self.judged))  # noise of any model
        self._rows: dict[object, Rows] = {}
        self._posteriors: dict[object, Posterior] = {}  # with the chosen correlation
        self._similar: dict[object, Posterior] = {}  # but for offsets
        self._under = cache(partial(_under, self.model))

    def rows(self, hypothesis: Hypothesis, weightless: bool = False) -> Rows:
        """Return the equations of a hypothesis's motion, with or without gravity."""
        key = (
            hypothesis.mirrored,
            hypothesis.shifts,
            hypothesis.late,
            hypothesis.gravity,
            weightless,
        )
        if key not in self._rows:
            self._rows[key] = self._computed(hypothesis, weightless)
        return self._rows[key]

    def _computed(self, hypothesis: Hypothesis, weightless: bool) -> Rows:
        sign = np.ones(self.model.n)
        sign[list(hypothesis.mirrored)] = -1.0
        shift = np.array(hypothesis.shifts or 0.0)
        gravity = (0.0, 0.0, 0.0) if weightless else hypothesis.gravity or self.model.gravity
        under = self._under(tuple(gravity))

        def columns(motion: SmoothMotion) -> Floats:
            fields = ("position", "velocity", "acceleration", "sliding")
            seen = replace(motion, **{f: sign * getattr(motion, f) for f in fields})
            seen = replace(seen, position=seen.position - shift)
            if hypothesis.late:
                seen = replace(
                    seen, effort=interpolated(seen.time + hypothesis.late, seen.time, seen.effort)
                )
            return _columns(seen, *under, self.bodies, self.judged)

        samples = self.fitting.filtered(columns)
        by_joint = samples[:: max(1, len(samples) // ENOUGH)].swapaxes(0, 1)
        own, rest = np.split(by_joint, [TERMS], axis=2)
        drive = np.linalg.pinv(own) @ rest
        left = rest - own @ drive
        efforts = rest[0, :, -len(self.judged) :]
        own = np.swapaxes(own, 1, 2) @ own
        return Rows(np.swapaxes(left, 1, 2) @ left, left, efforts, own, drive)

    def posterior(self, hypothesis: Hypothesis, width: Width | None = None) -> Posterior:
        """Return a hypothesis's posterior, with the chosen width of the prior or another."""
        key = hypothesis, width or self.width
        if key not in self._posteriors:
            alike = replace(hypothesis, offsets=(), shifts=())
            found = Posterior(self, *key, self._similar.get(alike))
            self._posteriors[key] = self._similar[alike] = found
        return self._posteriors[key]

    def with_any_prior(self, hypothesis: Hypothesis) -> Posterior:
        """Return the posterior with the width of the prior that has most evidence."""
        return max((self.posterior(hypothesis, w) for w in THETAS), key=lambda e: e.evidence)

    def about(self, hypothesis: Hypothesis) -> Posterior:
        """Explain by a hypothesis about the offsets, the delay and the gravity that are found."""
        found = self.posterior(hypothesis)
        for _ in range(RELINEARISED):
            hypothesis = replace(
                hypothesis,
                shifts=tuple(found.offsets.round(4)) if hypothesis.offsets else (),
                late=round(found.delay[0], 4),
                gravity=tuple(found.gravity.round(4).tolist()),
            )
            there = self.posterior(hypothesis)
            if there.evidence < found.evidence - SLIGHT:
                break
            found = there
        return found

    def turned(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis with the gravity that explains most of the links' torque as it is."""
        at = slice(0, SIZE * len(self.bodies.names))
        light = self.rows(hypothesis, weightless=True).samples
        rows = [
            self.rows(replace(hypothesis, gravity=tuple(axis.tolist()))).samples
            for axis in np.eye(3)
        ]
        parameters, A, y = self.bodies.parameters, [], []
        for k in range(len(self.judged)):
            inertial = light[k][:, at] @ parameters
            left = light[k][:, k - len(self.judged)] - inertial
            size = np.linalg.norm(left) + 1e-300
            A.append(np.column_stack([r[k][:, at] @ parameters - inertial for r in rows]) / size)
            y.append(left / size)
        down = np.linalg.lstsq(np.concatenate(A), np.concatenate(y), rcond=1e-6)[0]
        down *= np.linalg.norm(self.model.gravity) / (np.linalg.norm(down) + 1e-300)
        return replace(hypothesis, gravity=tuple(down.round(4).tolist()))

    def tune(self, hypothesis: Hypothesis) -> Posterior:
        """Choose the prior's width and the noise's correlation by a hypothesis; fit it."""
        self.tuned(hypothesis, tuple(THETAS))
        return self.posterior(hypothesis)

    def tuned(self, hypothesis: Hypothesis, widths: Sequence[Width]) -> list[Posterior]:
        """Choose them likewise, among these widths; return the posteriors with each."""
        for _ in range(2):
            self.width = max(widths, key=lambda w: self.posterior(hypothesis, w).evidence)
            found = self.posterior(hypothesis)
            self.length = np.minimum(correlation_length(found.left), LONGEST)
            self.least = least_noise(*found.shares)
            self._posteriors.clear()
        return [self.posterior(hypothesis, width) for width in widths]


def _under(model: Model, gravity: tuple[float, ...]) -> tuple[Dynamics, list[Dynamics]]:
    """Return dynamics under a gravity, and under what a tilt about each horizontal axis adds."""
    turns = np.cross(horizontal(gravity), gravity)
    dynamics, *tilted = (Dynamics(model.with_gravity(g)) for g in (gravity, *turns))
    return dynamics, tilted


def _columns(
    motion: SmoothMotion,
    dynamics: Dynamics,
    tilted: Sequence[Dynamics],
    bodies: Bodies,
    judged: Sequence[int],
) -> Floats:
    """Return [the joint's drive | links | offsets | tilt | delay | all efforts] of each joint."""
    links = link_columns(motion, dynamics, bodies)
    torque = links @ bodies.parameters
    own = own_columns(motion, Law(), torque)
    turning = np.gradient(motion.sliding, motion.time, axis=0)
    more = np.stack([smooth_sign(motion.velocity), turning], axis=2)
    own = np.concatenate([own[:, :, :-1], more, own[:, :, -1:]], axis=2)
    offsets = -dynamics.rnea_derivatives(*motion.state)[0]
    tilts = np.stack([tilt.gravity(motion.position) for tilt in tilted], axis=2)
    rate = -np.gradient(motion.effort, motion.time, axis=0)[:, :, None]
    efforts = np.repeat(motion.effort[:, None, judged], torque.shape[1], axis=1)
    return np.concatenate([own, links, offsets, tilts, rate, efforts], axis=2)


def horizontal(gravity: Sequence[float] | Floats) -> Floats:
    """Return two axes (2, 3) of length 1 at right angles to gravity and to each other."""
    down = np.asarray(gravity, float)
    return np.asarray(np.linalg.svd(down[None])[2][1:], float)


@dataclass(frozen=True, eq=False)
class Iterate:
    """What some unknowns explain."""

    x: Floats  # (p,) the unknowns
    value: Floats  # (m,) factors of a joint's torque
    rest: Floats  # (j, m) products of the columns with what is left
    weight: Floats  # (j,) of the squares: the reciprocal of the noise, correlation counted
    cost: float  # minus the logarithm of the probability, but for a constant


class Posterior:
    """A hypothesis's posterior: its mode, deviations about that, and its evidence."""

    def __init__(
        self,
        inference: Inference,
        hypothesis: Hypothesis,
        width: Width,
        similar: Posterior | None = None,
    ) -> None:
        """Find it. The unknowns: theta, load, delay, tilt, offsets, logarithms of gains.

        ``similar``: of a hypothesis with the same gains, where the search may begin.
        """
        self.all, self.hypothesis, self.bodies = inference, hypothesis, inference.bodies
        self.rows = inference.rows(hypothesis)
        if hypothesis.weightless:
            self.rows = self.rows.but_for(
                hypothesis.weightless, inference.rows(hypothesis, weightless=True)
            )
        j, n = len(inference.judged), inference.model.n
        order = hypothesis.order or tuple(range(j))
        self.N, self.j = len(self.rows.efforts), j
        self.links = SIZE * len(self.bodies.names)
        self.effort = [self.links + n + 3 + order[k] for k in range(j)]
        self.geometry = self.links + np.array([n, n + 1, *hypothesis.offsets], dtype=np.intp)
        self.sign = np.ones(j)
        self.sign[list(hypothesis.negative)] = -1.0
        self.member = np.zeros((j, len(hypothesis.gains)))  # which efforts have which gain
        for column, group in enumerate(hypothesis.gains):
            self.member[list(group), column] = 1.0
        parts: list[Floats] = [
            np.tile(width, self.links // np.size(width)),
            LOAD * (1.0 if hypothesis.loaded else NO_LOAD),
            np.array([DELAY]),
            np.full(2, TILT),
            np.full(len(hypothesis.offsets), OFFSET),
            np.full(len(hypothesis.gains), GAIN),
        ]
        self.precision = np.concatenate(parts) ** -2
        self.at = np.cumsum([len(part) for part in parts])
        self.beside = self.rows.products[range(j), self.effort, self.effort] / self.N
        self.least = np.maximum(inference.least**2, (OF_LINKS**2) * self.beside) + 1e-300
        a, b, late, c, d, p = self.at
        # (m, p) the derivatives of the factors by load, tilt and offsets
        self.slope = np.zeros((self.links + n + 2, p))
        self.slope[self.links - SIZE : self.links, a:b] = np.eye(SIZE)
        self.slope[self.geometry, np.arange(late, d)] = 1.0

        point, H = self._found(similar)
        self.x = point.x
        paid = np.r_[:b, c : len(H)]  # not what is estimated in any hypothesis
        volume = np.linalg.slogdet(H[np.ix_(paid, paid)])[1] - np.log(self.precision[paid]).sum()
        evidence = -point.cost - 0.5 * volume + self._dissipating(point)
        evidence -= THETAS.get(width, 0.0) if isinstance(width, float) else 0.0
        self.evidence = float(evidence)  # logarithm of the probability, but for a constant
        deviation = np.sqrt(np.diag(np.asarray(np.linalg.inv(H), float)))
        # Offsets of the encoders (n,) [rad or m], and their deviations, 0 where they were not free.
        self.offsets, self.offset_deviation = np.zeros((2, n))
        self.offsets[list(hypothesis.offsets)] = self.x[c:d]
        self.offsets += np.array(hypothesis.shifts or 0.0)
        self.offset_deviation[list(hypothesis.offsets)] = deviation[c:d]
        self.gains = self._gains(self.x)  # (j,) of the efforts, the sign included
        self.deviation = self.member @ deviation[d:]  # (j,) of their logarithms, 0 likewise
        # The delay of all efforts [s], the tilt of gravity [rad], the mass on the last link [kg].
        self.delay = float(self.x[b]) + hypothesis.late, float(deviation[b])
        self.tilt = float(np.linalg.norm(deviation[late:c]))  # its deviation
        self.load = float(self.x[a]), float(deviation[a])

    @cached_property
    def gravity(self) -> Floats:
        """(3,) in the base link's frame [m/s^2]."""
        down = np.asarray(self.hypothesis.gravity or self.all.model.gravity, float)
        tilt = self.x[self.at[2] : self.at[3]] @ horizontal(down)
        turned = down + np.cross(tilt, down)
        return turned * np.linalg.norm(down) / (np.linalg.norm(turned) or 1.0)

    @cached_property
    def left(self) -> Floats:
        """(N, j) torque that stays unexplained, beside the best drives."""
        factors = self._remaining(self.x, self._value(self.x))
        return np.column_stack([s @ f for s, f in zip(self.rows.samples, factors, strict=True)])

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """RMS of efforts beside their drives (j,), and of what drives take (j,)."""
        terms = self._drives(self.x)[:, :-1]  # the last is the constant
        own = self.rows.own[:, :-1, :-1]
        taken = np.maximum(np.einsum("ja,jab,jb->j", terms, own, terms), 0.0)
        return np.sqrt(self.beside), np.sqrt(taken / self.N)

    def _gains(self, x: Floats) -> Floats:
        return self.sign * np.exp(self.member @ x[self.at[4] :])

    def _value(self, x: Floats) -> Floats:
        """Return the factors (m,) of a joint's torque."""
        a, b, late, _, d, _ = self.at
        value = np.zeros(len(self.slope))
        value[: self.links] = self.bodies.deformed(x[:a])
        value[self.links - SIZE : self.links] += x[a:b]
        value[self.geometry] = x[late:d]
        return value

    def _remaining(self, x: Floats, value: Floats) -> Floats:
        """Return each joint's factors (j, m) of the columns in the torque that is left."""
        left = np.zeros(self.rows.products.shape[:2])
        left[range(self.j), self.effort] = 1.0
        left[:, : len(value)] -= self._gains(x)[:, None] * value
        left[:, len(value)] -= x[self.at[1]]
        return left

    def _at(self, x: Floats) -> Iterate:
        """Return what unknowns explain; the noise is what they leave."""
        value, length = self._value(x), self.all.length
        left = self._remaining(x, value)
        rest = (self.rows.products @ left[:, :, None])[:, :, 0]
        squares = np.maximum((left * rest).sum(axis=1), 0.0)
        variance = np.maximum(squares / self.N, self.least)
        noise = (squares / (variance * length) + self.N / length * np.log(variance)).sum()
        cost = 0.5 * float(noise + self.precision @ x**2)
        return Iterate(x, value, rest, 1.0 / (variance * length), cost)

    def _normal(self, point: Iterate) -> tuple[Floats, Floats]:
        """Return the second derivatives (p, p) of the cost, and what it falls by per unknown."""
        x, value, rest, weight = point.x, point.value, point.rest, point.weight
        m, gain, late, gains = len(value), self._gains(x), self.at[1], slice(self.at[4], None)
        G, scaled, slope = self.rows.products, weight * gain, self.slope.copy()
        for body, block in enumerate(self.bodies.jacobian(x[: self.at[0]])):
            rows = slice(SIZE * body, SIZE * (body + 1))
            slope[rows, rows] = block
        H = slope.T @ np.tensordot(scaled * gain, self.rows.inner, 1) @ slope
        H[late] += slope.T @ (scaled @ G[:, :m, m])
        H[late, late] += weight @ G[:, m, m]
        H[:, late] = H[late]
        gradient = slope.T @ (scaled @ rest[:, :m])
        gradient[late] += weight @ rest[:, m]
        if self.hypothesis.gains:
            own, by_gain = self.rows.inner @ value, gain[:, None] * self.member
            H[:, gains] = slope.T @ ((scaled[:, None] * own).T @ by_gain)
            H[late, gains] = (weight * (G[:, m, :m] @ value)) @ by_gain
            H[gains] = H[:, gains].T
            H[gains, gains] = by_gain.T @ ((weight * (own @ value))[:, None] * by_gain)
            gradient[gains] += (weight * (rest[:, :m] @ value)) @ by_gain
        return H + np.diag(self.precision), gradient - self.precision * x

    @np.errstate(over="ignore", invalid="ignore")  # a step too far is not taken
    def _found(self, similar: Posterior | None) -> tuple[Iterate, Floats]:
        """Return the mode, and the second derivatives of the cost a step before."""
        point, damping = self._at(np.zeros(len(self.precision))), DAMPING
        if similar:
            *_, c, d, _ = self.at
            x = point.x.copy()
            x[:c] = similar.x[:c]
            shifts = np.array(self.hypothesis.shifts or 0.0)
            x[c:d] = (similar.offsets - shifts)[list(self.hypothesis.offsets)]
            x[d:] = [np.log(np.abs(similar.gains[group[0]])) for group in self.hypothesis.gains]
            point = min(point, self._at(x), key=lambda p: p.cost)
        for _ in range(ROUNDS):
            H, fall = self._normal(point)
            before = point.cost
            for _ in range(TRIES):
                damped = H + damping * np.diag(np.diag(H))
                there = self._at(point.x + np.linalg.solve(damped, fall))
                if there.cost < point.cost:
                    point, damping = there, 0.1 * damping
                    break
                damping *= 10.0
            if before - point.cost < CONVERGED:
                break
        return point, H

    def _drives(self, x: Floats) -> Floats:
        """Return the terms (j, t) of the drives, in the unit and with the sign of the efforts."""
        factors = self._remaining(x, self._value(x))
        return (self.rows.drive @ factors[:, :, None])[:, :, 0]

    def _dissipating(self, point: Iterate) -> float:
        """Return the logarithm of the probability that all friction takes power.

        As much of the drives' terms as friction that gives power is impossible: they are integrated
        over the other half.
        """
        power = np.zeros(self.rows.own.shape[:2])
        power[:, FRICTION] = self.rows.own[:, VISCOUS, FRICTION]
        squares = np.einsum("ja,jab,jb->j", power, self.rows.covariance, power)
        spread = np.sqrt(squares / point.weight)
        taken = self.sign * (power * self._drives(point.x)).sum(axis=1)
        ratio = np.where(spread > 0, taken / np.maximum(spread, 1e-300), 0.0)
        return float(needed("scipy.special").log_ndtr(np.maximum(ratio, -GIVING)).sum())
