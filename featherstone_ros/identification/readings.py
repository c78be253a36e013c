"""How a recording may have to be read, and how well its torque is explained by each reading.

What was measured is

    tau = g (Y(q - o) pi + drives) + delay d tau/dt + noise

where each joint's effort has a gain g (its sign included), its encoder an offset o and a sign, and
all efforts may be late. The links pi are possible bodies near the URDF's, as in ``fit``, with a
load of unknown mass on the last; the drives of each joint are unknown. A reading says which g, o
and signs are not as they should be. Its evidence is the probability of the torque with all unknowns
integrated out, by Laplace's method (D. MacKay, "Bayesian interpolation", Neural Computation 1992):
it pays for every unknown that the data do not need. The noise of each joint is what its own best
explanation leaves; errors of a model are correlated in time, so a sample counts as much less than
one where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.bodies import SIZE, Bodies
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.fit import correlation_length
from featherstone_ros.identification.friction import Law
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.regression import drive_columns, link_columns

ROUNDS = 12  # of Gauss-Newton
RELINEARISED = 3  # times, in encoders' offsets
LARGEST_STEP = 0.5  # of theta and of the logarithm of a gain
# Candidates for the prior deviation of theta, and how much less probable (the logarithm) they are.
THETAS = {0.15: 0.0, 0.3: 2.0, 0.6: 5.0}
# Prior deviations of a load's mass [kg], first moment [kg m] and inertia [kg m^2], of an offset
# [rad or m], a delay [s], and the logarithm of a gain.
LOAD = np.array([3.0, *[0.5] * 3, *[0.1] * 6])
OFFSET, DELAY, GAIN = 0.15, 0.1, 2.0
NO_LOAD = 1e-3  # times ``LOAD``
FIRST_NOISE = 0.05  # share of the torque's squares, for the first step
LEAST_NOISE = 0.005  # of the torque's RMS: no model is better
ENOUGH = 1500  # samples: those of an hour tell nothing more of faults
LONGEST = 40.0  # samples that errors of a model are correlated over at most


@dataclass(frozen=True)
class Reading:
    """What is not as it should be; joints by index, efforts by that among the judged joints.

    Attributes:
        mirrored: Joints whose positions and velocities have the other sign.
        weightless: Efforts without gravity.
        order: Which effort belongs to each judged joint; empty: its own.
        negative: Efforts with the other sign.
        gains: Groups of efforts; those of a group have one gain.
        offsets: Joints whose encoder is off.
        shifts: (n,) or none, about which they are [rad or m]: torque is not linear in positions.
        loaded: Whether the last link may carry a load.
    """

    mirrored: tuple[int, ...] = ()
    weightless: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    negative: tuple[int, ...] = ()
    gains: tuple[tuple[int, ...], ...] = ()
    offsets: tuple[int, ...] = ()
    shifts: tuple[float, ...] = ()
    loaded: bool = True


@dataclass(frozen=True, eq=False)
class Rows:
    """Each judged joint's equations.

    Attributes:
        products: (j, m, m) of the columns [links | offsets | delay | all efforts] with each other,
            beside the joint's drive.
        samples: (N, j, drive + m) the columns, and the drive's before them.
        efforts: (N, j).
    """

    products: Floats
    samples: Floats
    efforts: Floats


class Readings:
    """A recording's torque under all readings."""

    def __init__(self, fitting: Fitting) -> None:
        """Prepare nothing yet.

        Args:
            fitting: Of the recording.
        """
        self.fitting, self.bodies = fitting, fitting.bodies
        self.model = fitting.dynamics.model
        self.judged = fitting.judged
        self.width, self.length = max(THETAS), np.ones(len(self.judged))
        self._rows: dict[object, Rows] = {}
        self._explained: dict[object, Explained] = {}  # with the settled correlation

    def rows(self, reading: Reading, weightless: bool = False) -> Rows:
        """Return the equations of a reading's motion, with or without gravity."""
        key = reading.mirrored, reading.shifts, weightless
        if key not in self._rows:
            self._rows[key] = self._computed(reading, weightless)
        return self._rows[key]

    def _computed(self, reading: Reading, weightless: bool) -> Rows:
        sign = np.ones(self.model.n)
        sign[list(reading.mirrored)] = -1.0
        shift = np.array(reading.shifts or 0.0)
        model = self.model.with_gravity((0.0, 0.0, 0.0)) if weightless else self.model
        dynamics, judged = Dynamics(model), self.judged

        def columns(motion: SmoothMotion) -> Floats:
            fields = ("position", "velocity", "acceleration", "sliding")
            seen = replace(motion, **{f: sign * getattr(motion, f) for f in fields})
            seen = replace(seen, position=seen.position - shift)
            return _columns(seen, dynamics, self.bodies, judged)

        samples = self.fitting.filtered(columns)
        samples = samples[:: max(1, len(samples) // ENOUGH)].copy()
        drives = len(Law().terms)
        R = [
            np.asarray(np.linalg.qr(samples[:, k], "r"))[drives:, drives:]
            for k in range(len(judged))
        ]
        efforts = samples[:, 0, -len(judged) :]
        return Rows(np.array([r.T @ r for r in R]), samples, efforts)

    def explained(self, reading: Reading, width: float | None = None) -> Explained:
        """Return the best explanation of the torque by a reading, with the settled width or one."""
        key = reading, width or self.width
        if key not in self._explained:
            self._explained[key] = Solver(self, *key).solve()
        return self._explained[key]

    def freely(self, reading: Reading) -> Explained:
        """Return the best explanation with any width of the prior."""
        return max((self.explained(reading, w) for w in THETAS), key=lambda e: e.evidence)

    def about(self, reading: Reading) -> Explained:
        """Explain by a reading whose encoders' offsets are large, about where they are found."""
        found = self.explained(reading)
        for _ in range(RELINEARISED if reading.offsets else 0):
            found = self.explained(replace(reading, shifts=tuple(found.offsets.round(4))))
        return found

    def settle(self, reading: Reading) -> Explained:
        """Choose the prior's width and the noise's correlation by a reading, and explain by it."""
        for _ in range(2):
            self.width = max(THETAS, key=lambda w: self.explained(reading, w).evidence)
            found = self.explained(reading)
            self.length = np.minimum(correlation_length(found.left), LONGEST)
            self._explained.clear()
        return self.explained(reading)


def _columns(
    motion: SmoothMotion, dynamics: Dynamics, bodies: Bodies, judged: Sequence[int]
) -> Floats:
    """Return [drive of the joint itself | links | offsets | delay | all efforts] of each joint."""
    links = link_columns(motion, dynamics, bodies)
    torque = links @ bodies.parameters
    N, n = torque.shape
    terms = drive_columns(motion, Law(), torque).reshape(N, n, -1, n)
    own = terms[:, range(n), :, range(n)].swapaxes(0, 1)
    state = motion.position, motion.velocity, motion.acceleration
    offsets = -dynamics.rnea_derivatives(*state)[0]
    rate = -np.gradient(motion.effort, motion.time, axis=0)[:, :, None]
    efforts = np.repeat(motion.effort[:, None, judged], n, axis=1)
    return np.concatenate([own, links, offsets, rate, efforts], axis=2)


@dataclass(frozen=True, eq=False)
class Explained:
    """A reading's best explanation.

    Attributes:
        reading: The reading.
        evidence: Logarithm of the torque's probability, but for a constant.
        gains: (j,) of the efforts, the sign included.
        deviation: (j,) of their logarithms, 0 where they were not free.
        offsets: (n,) of the encoders [rad or m], and their deviations.
        offset_deviation: (n,) likewise.
        delay: Of all efforts [s], and its deviation.
        load: Mass on the last link [kg], and its deviation.
        left: (N, j) torque that stays unexplained.
    """

    reading: Reading
    evidence: float
    gains: Floats
    deviation: Floats
    offsets: Floats
    offset_deviation: Floats
    delay: tuple[float, float]
    load: tuple[float, float]
    left: Floats = field(repr=False)


class Solver:
    """Explains the torque by one reading, by Gauss and Newton."""

    def __init__(self, readings: Readings, reading: Reading, width: float) -> None:
        """Lay out the unknowns: theta, load, delay, offsets, logarithms of gains."""
        self.all, self.reading, self.bodies = readings, reading, readings.bodies
        self.width = width
        plain = readings.rows(reading)
        light = readings.rows(reading, True) if reading.weightless else plain
        j, n = len(readings.judged), readings.model.n
        order = reading.order or tuple(range(j))
        links = SIZE * len(self.bodies.names)
        rows = [light if k in reading.weightless else plain for k in range(j)]
        self.products = np.array([row.products[k] for k, row in enumerate(rows)])
        self.inner = self.products[:, : links + n, : links + n].copy()  # contiguous, for BLAS
        self.samples = [row.samples[:, k] for k, row in enumerate(rows)]
        self.N, self.j, self.n, self.links = len(plain.samples), j, n, links
        self.effort = [links + n + 1 + order[k] for k in range(j)]
        self.offsets = links + np.array(reading.offsets, dtype=np.intp)
        self.sign = np.ones(j)
        self.sign[list(reading.negative)] = -1.0
        load = LOAD * (1.0 if reading.loaded else NO_LOAD)
        parts: list[Floats] = [
            np.full(links, width),
            load,
            np.array([DELAY]),
            np.full(len(reading.offsets), OFFSET),
            np.full(len(reading.gains), GAIN),
        ]
        self.spread = np.concatenate(parts)
        self.at = np.cumsum([len(part) for part in parts])

    @cached_property
    def member(self) -> Floats:
        """(j, gains) which efforts have which gain."""
        member = np.zeros((self.j, len(self.reading.gains)))
        for column, group in enumerate(self.reading.gains):
            member[list(group), column] = 1.0
        return member

    def gain(self, x: Floats) -> Floats:
        """Return the efforts' gains (j,)."""
        return self.sign * np.exp(self.member @ x[self.at[3] :])

    def value(self, x: Floats) -> Floats:
        """Return the factors (m,) of a joint's torque."""
        links, (a, b, c, d, _) = self.links, self.at
        value = np.zeros(links + self.n)
        value[:links] = self.bodies.deformed(x[:a])
        value[links - SIZE : links] += x[a:b]
        value[self.offsets] = x[c:d]
        return value

    def slope(self, x: Floats) -> Floats:
        """Return the derivatives (m, p) of the factors by x."""
        links, (a, b, c, d, p) = self.links, self.at
        slope = np.zeros((links + self.n, p))
        for body, block in enumerate(self.bodies.jacobian(x[:a])):
            rows = slice(SIZE * body, SIZE * (body + 1))
            slope[rows, rows] = block
        slope[links - SIZE : links, a:b] = np.eye(SIZE)
        slope[self.offsets, np.arange(c, d)] = 1.0
        return slope

    def missed(self, x: Floats, value: Floats) -> tuple[Floats, Floats]:
        """Return what each joint misses: the columns with what is left (j, m), its squares (j,)."""
        left = np.zeros(self.products.shape[:2])
        left[range(self.j), self.effort] = 1.0
        left[:, : len(value)] -= self.gain(x)[:, None] * value
        left[:, len(value)] -= x[self.at[1]]
        rest = (self.products @ left[:, :, None])[:, :, 0]
        return rest, np.maximum((left * rest).sum(axis=1), 0.0)

    def normal(
        self, x: Floats, value: Floats, rest: Floats, weight: Floats
    ) -> tuple[Floats, Floats]:
        """Return the second derivatives (p, p) and the gradient (p,) of the likelihood."""
        m, gain, late, member = len(value), self.gain(x), self.at[1], self.member
        G, scaled, slope = self.products, weight * gain, self.slope(x)
        own = self.inner @ value
        by_gain = gain[:, None] * member
        H = slope.T @ np.tensordot(scaled * gain, self.inner, 1) @ slope
        H[late] += slope.T @ (scaled @ G[:, :m, m])
        H[late, late] += weight @ G[:, m, m]
        H[late, self.at[3] :] += (weight * (G[:, m, :m] @ value)) @ by_gain
        H[:, late] = H[late]
        of_gains = slope.T @ ((scaled[:, None] * own).T @ by_gain)
        H[:, self.at[3] :] += of_gains
        H[self.at[3] :, :] = H[:, self.at[3] :].T
        H[self.at[3] :, self.at[3] :] = by_gain.T @ ((weight * (own @ value))[:, None] * by_gain)
        gradient = slope.T @ (scaled @ rest[:, :m])
        gradient[late] += weight @ rest[:, m]
        gradient[self.at[3] :] += (weight * (rest[:, :m] @ value)) @ by_gain
        return H, gradient

    def solve(self) -> Explained:
        """Return the explanation."""
        x, precision, length = np.zeros(len(self.spread)), self.spread**-2, self.all.length
        scale = self.products[range(self.j), self.effort, self.effort] / self.N
        least = LEAST_NOISE**2 * scale + 1e-300
        variance = np.maximum(FIRST_NOISE * scale, least)
        value = self.value(x)
        rest, _ = self.missed(x, value)
        for _ in range(ROUNDS):
            H, gradient = self.normal(x, value, rest, 1.0 / (variance * length))
            H += np.diag(precision)
            step = np.linalg.solve(H, gradient - precision * x)
            x = x + np.clip(step, -LARGEST_STEP, LARGEST_STEP)
            value = self.value(x)
            rest, squares = self.missed(x, value)
            variance = np.maximum(squares / self.N, least)
        cost = (squares / (variance * length) + self.N / length * np.log(variance)).sum()
        volume = np.linalg.slogdet(H)[1] - np.log(precision).sum()
        evidence = -0.5 * (cost + precision @ x**2 + volume) - THETAS[self.width]
        return self._explained(x, float(evidence), np.asarray(np.linalg.inv(H), float))

    def _explained(self, x: Floats, evidence: float, covariance: Floats) -> Explained:
        deviation = np.sqrt(np.diag(covariance))
        a, b, c, d, _ = self.at
        offsets, spread = np.zeros((2, self.n))
        offsets[list(self.reading.offsets)] = x[c:d]
        offsets += np.array(self.reading.shifts or 0.0)
        spread[list(self.reading.offsets)] = deviation[c:d]
        return Explained(
            self.reading,
            evidence,
            self.gain(x),
            self.member @ deviation[d:],
            offsets,
            spread,
            (float(x[b]), float(deviation[b])),
            (float(x[a]), float(deviation[a])),
            self._left(x),
        )

    def _left(self, x: Floats) -> Floats:
        """Return the torque (N, j) that stays unexplained, beside the best drives."""
        value = self.value(x)
        drives, gain = len(Law().terms), self.gain(x)
        left = []
        for k, samples in enumerate(self.samples):
            own, rest = samples[:, :drives], samples[:, drives:]
            y = rest[:, self.effort[k]] - rest[:, self.links + self.n] * x[self.at[1]]
            y = y - gain[k] * (rest[:, : len(value)] @ value)
            left.append(y - own @ np.linalg.lstsq(own, y, rcond=None)[0])
        return np.column_stack(left)
