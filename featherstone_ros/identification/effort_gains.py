"""Finds what torque a unit of a drive's effort is: a torque constant, or a stiffness.

Effort may be a current, a per cent, or the deflection of a drive's position loop (its command minus
the position). Torque per effort is sought, its sign included, where the torque is known: by a load
of known mass, from a motion driven twice, without and with it, so that errors of the arm's model
cancel out (M. Gautier, S. Briot, "Global identification of joint drive gains and dynamic parameters
of robots", J. Dyn. Sys. 2014, whose total least squares is replaced by errors of the effort alone,
by far the largest); else by the links, no better than these are known. The effort, not the torque,
is explained, so that its noise makes no gain smaller:

    effort_j = response_j (Y_j(q) pi)  +  constant + viscous qd + Coulomb sign + load |effort| sign

Of the load's ten parameters pi only the mass is known. Deviations are those of a jackknife over
blocks of the recording, so that errors of the model count, which are correlated in time. They grow
with that of the mass, and with the difference that it makes to leave out the friction that goes
with the load. By the links, gains are found so first, then as in ``inference`` with every pair of
prior widths of ``fit``, of which each counts as much as it is probable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import IdentificationError, UnknownNameError
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.bodies import SIZE
from featherstone_ros.identification.explanation import CERTAIN, KNOWN, MIN_GAIN, VAGUE
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.fit import WIDTHS
from featherstone_ros.identification.inference import Hypothesis, Inference
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.recording import Recording, interpolated, is_constant
from featherstone_ros.identification.regression import one_thread

LINKS = [(mass, *[shape] * (SIZE - 1)) for mass, shape in product(WIDTHS, WIDTHS)]  # as ``fit``
BLOCKS = 20  # of the jackknife
ROUNDS = 8  # of Gauss-Newton, with the weights found so far
LOAD = 3  # the column of friction that goes with the load, among those of the drives
BY_LOAD = "give a known load: identify --loaded"


@dataclass(frozen=True, eq=False)
class EffortGains:
    """Torque per unit of the effort of each joint."""

    joints: tuple[str, ...]  # n names
    gain: Floats  # (n,) its sign is the drive's direction; NaN where the effort never changes
    deviation: Floats  # (n,) standard deviation

    @property
    def share_of_others(self) -> float:
        """The share of the gains that the data tell at all that are certainly not near 1."""
        told = [self.joints.index(name) for name in self.told]
        gain, off = self.gain[told], CERTAIN * self._relative[told]
        others = (gain < 0) | (np.abs(np.log(np.abs(gain))) > np.maximum(np.log(MIN_GAIN), off))
        return float(others.mean()) if told else 0.0

    def in_words(self) -> str:
        """Return what to give to commands, and what is not known."""
        gains = dict(zip(self.joints, self.gain, strict=True))
        known = " ".join(f"{name}={gains[name]:.4g}" for name in self.found)
        unknown = ", ".join(name for name in self.joints if name not in self.found)
        texts = [f"--current-gain {known}"] * bool(known)
        texts += [f"unknown: {unknown} ({BY_LOAD})"] * bool(unknown)
        return "; ".join(texts)

    @property
    def found(self) -> tuple[str, ...]:
        """The joints whose gains the data determine."""
        return self._better_than(KNOWN)

    @property
    def told(self) -> tuple[str, ...]:
        """Those of whose gains the data tell something."""
        return self._better_than(VAGUE)

    @property
    def _relative(self) -> Floats:
        return self.deviation / np.abs(self.gain)

    def _better_than(self, bound: float) -> tuple[str, ...]:
        good = self._relative < bound
        return tuple(name for name, one in zip(self.joints, good, strict=True) if one)


def gains_by_load(
    model: Model,
    loaded: Recording,
    bare: Recording,
    link: str,
    mass: float,
    mass_deviation: float = 0.0,
    cut_off: float = 2.0,
) -> EffortGains:
    """Find gains from the same motion without and with a load.

    Efforts are in the drives' unit, ``mass`` of the load on ``link`` and its deviation in kg,
    ``cut_off`` of the filter in Hz.

    Raises:
        UnknownNameError: There is no such link.
        IdentificationError: The recordings are too short for the filter, or of two motions, or no
            effort changes.
    """
    if link not in model.link_names:
        raise UnknownNameError("link", link, model.link_names)
    pair = loaded.beside(bare)
    if pair is None:
        raise IdentificationError(
            f"{loaded.topic} and {bare.topic} are different motions, expected the same one twice"
        )
    arm = Arm.without_drives(model)
    motion, other = (arm.motion(recording, cut_off) for recording in pair)
    effort, torque, velocity, sliding = (
        interpolated(motion.time, other.time, values)
        for values in (other.effort, arm.torque(other), other.velocity, other.sliding)
    )
    more = np.abs(motion.effort) - np.abs(effort)
    at = SIZE * model.link_names.index(link)
    Y = Dynamics(model).regressor(*motion.state)[:, :, at : at + SIZE]
    # What is known: the load's mass, and what the arm bears more where its drives yield to it.
    Y[:, :, 0] = mass * Y[:, :, 0] + arm.torque(motion) - torque
    # Rotors are the same in both, and friction is of each one's own motion.
    drive = _drive(motion, more, motion.velocity - velocity, motion.sliding - sliding)
    motion = replace(motion, effort=motion.effort - effort)
    return _found(model, motion, Y, drive, mass_deviation / mass)


def gains_by_links(model: Model, recording: Recording, cut_off: float = 2.0) -> EffortGains:
    """Find gains from one motion, by the links as they are described.

    ``model``: the arm, with what it carries; efforts are in the drives' unit; ``cut_off`` in Hz.

    Raises:
        IdentificationError: The recording is too short for the filter, or no effort changes.
    """
    motion = Arm.without_drives(model).motion(recording, cut_off)
    torque = Dynamics(model).rnea(*motion.state)
    drive = _drive(motion, np.abs(motion.effort), motion.acceleration)
    first = _found(model, motion, torque[:, :, None], drive)
    measured = np.flatnonzero(np.isfinite(first.gain))
    likely = replace(recording, effort=recording.effort * np.nan_to_num(first.gain))
    inference = Inference(Fitting(model, [likely], measured.tolist(), cut_off))
    each = tuple((k,) for k in range(len(measured)))
    told = inference.tuned(Hypothesis(gains=each, loaded=False), LINKS)
    evidence = np.array([found.evidence for found in told])
    share = np.exp(evidence - evidence.max())
    share /= share.sum()
    size = np.log([found.gains for found in told])
    mean = share @ size
    variance = share @ (np.array([found.deviation for found in told]) ** 2 + (size - mean) ** 2)
    gain, deviation = first.gain.copy(), first.deviation.copy()
    gain[measured] /= np.exp(mean)
    deviation[measured] = np.abs(gain[measured]) * np.sqrt(variance)
    return EffortGains(model.joint_names, gain, deviation)


def _drive(motion: SmoothMotion, carried: Floats, *more: Floats) -> Floats:
    """Return the columns (N, n, m) of what drives bear besides the torque."""
    one = np.ones_like(motion.velocity)
    terms = one, motion.velocity, motion.sliding, carried * motion.sliding, *more
    return np.stack(terms, axis=2)


def _found(
    model: Model, motion: SmoothMotion, Y: Floats, drive: Floats, relative: float = 0.0
) -> EffortGains:
    """Return gains where the torque is Y (N, n, p) times parameters, the first of which is 1."""
    measured = [k for k, effort in enumerate(motion.effort.T) if not is_constant(effort)]
    if not measured:
        raise IdentificationError("no effort changes: it tells of no torque")
    columns = np.concatenate([Y, motion.effort[:, :, None], drive], axis=2)[:, measured]
    size = Y.shape[2] + 1
    plainer = np.delete(np.arange(columns.shape[2]), size + LOAD)
    with one_thread():
        blocks = np.array(
            [np.einsum("ija,ijb->jab", b, b) for b in np.array_split(columns, BLOCKS)]
        )
        total = blocks.sum(axis=0)
        response, parameters = _first_solved(total, size)
        without = [_solved(_roots(total - b, size), response, parameters)[0] for b in blocks]
        plain, _ = _first_solved(total[:, plainer[:, None], plainer], size)
    spread = np.sqrt(BLOCKS - 1) * np.std(without, axis=0) / np.abs(response)
    unknown_law = np.abs(response / plain - 1.0)
    gain, deviation = np.full((2, model.n), np.nan)
    gain[measured] = 1.0 / response
    share = np.sqrt(spread**2 + unknown_law**2 + relative**2)
    deviation[measured] = share * np.abs(gain[measured])
    return EffortGains(model.joint_names, gain, deviation)


def _first_solved(products: Floats, size: int) -> tuple[Floats, Floats]:
    """Return efforts per torque (n,), and the torque's parameters, from a first guess of both."""
    roots = _roots(products, size)
    return _solved(roots, *_first(roots))


def _roots(products: Floats, size: int) -> Floats:
    """Return (n, size, size) roots of the first products, without what the drives explain."""
    own, both = products[:, size:, size:], products[:, :size, size:]
    scale = np.sqrt(np.maximum(np.einsum("jaa->ja", own), 1e-300))
    scaled = own / (scale[:, :, None] * scale[:, None, :])
    inverse = np.linalg.pinv(scaled, rcond=1e-10, hermitian=True)
    both = both / scale[:, None, :]
    left = products[:, :size, :size] - both @ inverse @ both.swapaxes(1, 2)
    values, vectors = np.linalg.eigh(left)
    return np.sqrt(np.maximum(values, 0.0))[:, :, None] * vectors.swapaxes(1, 2)


def _first(roots: Floats) -> tuple[Floats, Floats]:
    """Return responses and parameters by linear least squares: gains times efforts are torque."""
    n, size, _ = roots.shape
    A = np.zeros((n, size, n + size - 2))
    A[range(n), :, range(n)] = roots[:, :, -1]
    A[:, :, n:] = -roots[:, :, 1:-1]
    x = np.linalg.lstsq(A.reshape(n * size, -1), roots[:, :, 0].ravel(), rcond=1e-12)[0]
    gain = np.where(np.abs(x[:n]) > 1e-300, x[:n], np.inf)
    return 1.0 / gain, np.append(1.0, x[n:])


def _solved(roots: Floats, response: Floats, parameters: Floats) -> tuple[Floats, Floats]:
    """Return response (n,) and parameters (p,), by Gauss-Newton."""
    n, size, _ = roots.shape
    for _ in range(ROUNDS):
        seen = roots[:, :, :-1] @ parameters
        left = roots[:, :, -1] - response[:, None] * seen
        sigma = np.maximum(np.linalg.norm(left, axis=1), 1e-12)[:, None]
        A = np.zeros((n, size, n + size - 2))
        A[range(n), :, range(n)] = seen / sigma
        A[:, :, n:] = response[:, None, None] * roots[:, :, 1:-1] / sigma[:, :, None]
        step = np.linalg.lstsq(A.reshape(n * size, -1), (left / sigma).ravel(), rcond=1e-12)[0]
        response = response + step[:n]
        parameters = np.append(parameters[0], parameters[1:] + step[n:])
    return response, parameters
