"""Faults of a recording, each a few unknowns beside links and drives.

What was measured is g (Y pi + drives) - d tau/dq o - delay d tau/dt: each joint's effort has a gain
g (its sign included), its encoder an offset o, and all efforts may be late. The links pi are
possible bodies near the URDF's, as in ``fit``; the derivatives d tau/dq are those of ``Dynamics``.
Gauss-Newton finds all at once, with standard deviations. Gains that all joints share cannot be told
from masses: gains that agree with each other form groups, and the largest is right. (M. Gautier
and S. Briot, "Global identification of joint drive gains and dynamic parameters of robots", J. Dyn.
Sys., Meas., Control 2014.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.bodies import SIZE
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.fit import FREE_SPREAD, noise
from featherstone_ros.identification.friction import Law
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.regression import Equations, link_columns

ROUNDS = 5  # of Gauss-Newton
LARGEST_STEP = 0.5  # of theta
# Prior standard deviations: of theta, of gains relative to those by least squares, of offsets
# [rad or m], of the delay [s].
THETA, GAIN, OFFSET, DELAY = 0.3, 1.0, 0.3, 0.1
CERTAIN = 3.0  # standard deviations
COMPARABLE = 0.1  # greatest deviation of two gains' ratio (relative), for a comparison
PLAUSIBLE = 0.3, 3.0  # gains by least squares that errors of the links may explain
LEAST_GAIN, LEAST_OFFSET, LEAST_DELAY = 1.2, 0.03, 0.025  # ratio, [rad or m], [s] that are named
LIKELIER = 0.25  # of what a joint's own model leaves, that another joint's leaves of its effort


@dataclass(frozen=True, eq=False)
class Faults:
    """What is wrong with a recording.

    Attributes:
        texts: Each fault in words, with the joint.
        offsets: (n,) of the encoders, 0 where none is certain [rad or m].
    """

    texts: tuple[str, ...]
    offsets: Floats


def find_faults(fitting: Fitting) -> Faults:
    """Find effort gains, signs, swapped joints, encoder offsets and late efforts."""
    model, bodies = fitting.dynamics.model, fitting.bodies
    n, j, b = model.n, len(fitting.judged), SIZE * len(bodies.names)
    names = [model.joint_names[k] for k in fitting.judged]
    facts = fitting.equations(Law(), fitting.dynamics)
    links, drives = facts.A[:, :, :b], facts.A[:, :, b:]
    swapped = swapped_joints(fitting)
    if swapped:
        return Faults(tuple(swapped), np.zeros(n))

    late = fitting.filtered(_rate)
    gain = _first_gains(facts.tau, links @ bodies.parameters, drives)
    plausible = (gain > PLAUSIBLE[0]) & (gain < PLAUSIBLE[1])
    first = np.where(plausible, 1.0, gain)
    spread = np.concatenate(
        [
            np.full(b, THETA),
            np.full(drives.shape[2], FREE_SPREAD),
            np.full(n, OFFSET),
            GAIN * np.abs(first),
            [DELAY],
        ]
    )
    spread[b : b + j] = fitting.armature_spread
    of_offset = slice(b + drives.shape[2], b + drives.shape[2] + n)
    of_gain = slice(of_offset.stop, of_offset.stop + j)
    theta, offsets, sigma = np.zeros(b), np.zeros(n), None
    for _ in range(ROUNDS):
        dynamics = fitting.with_links(theta)

        def by_links(motion: SmoothMotion, offsets: Floats = offsets) -> Floats:
            moved = replace(motion, position=motion.position - offsets)
            return link_columns(moved, fitting.dynamics, bodies)

        def by_offset(
            motion: SmoothMotion, dynamics: Dynamics = dynamics, offsets: Floats = offsets
        ) -> Floats:
            state = motion.position - offsets, motion.velocity, motion.acceleration
            return -dynamics.rnea_derivatives(*state)[0]

        links = fitting.filtered(by_links)
        torque = links @ bodies.deformed(theta)
        A = np.concatenate(
            [
                gain[:, None] * bodies.by_theta(links, theta),
                drives,
                gain[:, None] * fitting.filtered(by_offset),
                torque[:, :, None] * np.eye(j),
                late,
            ],
            axis=2,
        )
        if sigma is None:
            sigma = noise(Equations(A, facts.tau))
        expected = np.zeros(len(spread))
        expected[:b], expected[of_gain], expected[of_offset] = -theta, first - gain, -offsets
        rows = (A / sigma[:, None]).reshape(-1, len(spread))
        left = ((facts.tau - gain * torque) / sigma).ravel()
        covariance = np.linalg.inv(rows.T @ rows + np.diag(1.0 / spread**2))
        step = covariance @ (rows.T @ left + expected / spread**2)
        theta = theta + np.clip(step[:b], -LARGEST_STEP, LARGEST_STEP)
        gain, offsets = gain + step[of_gain], offsets + step[of_offset]
    deviation = np.sqrt(np.diag(covariance))
    certain = np.abs(offsets) > np.maximum(LEAST_OFFSET, CERTAIN * deviation[of_offset])
    texts = wrong_gains(names, gain, np.asarray(covariance[of_gain, of_gain], float))
    texts += [
        f"{model.joint_names[k]}: its encoder is off by {offsets[k]:+.3f} ± "
        f"{deviation[of_offset][k]:.3f} rad or m (--fix offsets corrects it)."
        for k in np.flatnonzero(certain)
    ]
    if abs(step[-1]) > max(LEAST_DELAY, CERTAIN * deviation[-1]):
        order = "after" if step[-1] > 0 else "before"
        texts.append(
            f"{', '.join(names)}: effort comes {1e3 * abs(step[-1]):.0f} ± "
            f"{1e3 * deviation[-1]:.0f} ms {order} the motion that it belongs to."
        )
    return Faults(tuple(texts), np.where(certain, offsets, 0.0))


def swapped_joints(fitting: Fitting) -> list[str]:
    """Name pairs of joints whose efforts the other's model explains far better."""
    motion, model, judged = fitting.motion(), fitting.dynamics.model, fitting.judged
    links = fitting.dynamics.rnea(motion.position, motion.velocity, motion.acceleration)
    models = np.stack([links, *Law().columns(motion, links)], axis=2)
    left = np.empty((model.n, model.n))  # of the row's effort by the column's model
    for k in range(model.n):
        x = np.linalg.lstsq(models[:, k], motion.effort, rcond=None)[0]
        left[:, k] = ((motion.effort - models[:, k] @ x) ** 2).sum(axis=0)
    likelier = left < LIKELIER * np.diag(left)[:, None]
    return [
        f"{model.joint_names[i]} and {model.joint_names[k]}: their efforts seem to be swapped."
        for i in judged
        for k in judged
        if k < i and likelier[i, k] and likelier[k, i]
    ]


def wrong_gains(names: Sequence[str], gain: Floats, covariance: Floats) -> list[str]:
    """Name the joints whose effort has another gain than most comparable joints, or another sign.

    Args:
        names: j names.
        gain: (j,) factors from torque to effort.
        covariance: (j, j) of them.
    """
    relative = covariance / np.outer(gain, gain)
    own = np.diag(relative)
    deviation = np.sqrt(np.maximum(own[:, None] + own - 2.0 * relative, 0.0))  # of log ratios
    ratio = np.abs(gain[:, None] / gain)
    comparable = (deviation < COMPARABLE) & ~np.eye(len(gain), dtype=bool)
    differ = (np.abs(np.log(ratio)) > np.log(LEAST_GAIN)) & (
        np.abs(ratio - 1.0) > CERTAIN * ratio * deviation
    )
    right = _largest_group(comparable & ~differ, gain)
    texts = []
    for k, name in enumerate(names):
        if gain[k] < 0 < max(gain[comparable[k]], default=0.0):
            texts.append(f"{name}: its effort has the opposite sign of torque.")
        others = [m for m in right if comparable[k, m]]
        if k in right or not others:
            continue
        near = min(others, key=lambda m: abs(np.log(ratio[k, m])))
        if differ[k, near]:
            texts.append(
                f"{name}: its effort is {ratio[k, near]:.3g} ± "
                f"{ratio[k, near] * deviation[k, near]:.1g} times torque, compared with "
                f"{names[near]}'s: another unit, or a current (--current-gain)?"
            )
    return texts


def _largest_group(linked: NDArray[np.bool_], gain: Floats) -> set[int]:
    """Return the joints of the largest group of links; of two, that with the gains nearer to 1."""
    groups: list[set[int]] = []
    for k in range(len(gain)):
        joined = [group for group in groups if linked[k, list(group)].any()]
        groups = [group for group in groups if group not in joined] + [{k}.union(*joined)]
    return max(groups, key=lambda g: (len(g), -np.abs(np.log(np.abs(gain[list(g)]))).mean()))


def _rate(motion: SmoothMotion) -> Floats:
    """Return (N, n, 1): by how much effort that is late by a second is wrong, to first order."""
    return -np.gradient(motion.effort, motion.time, axis=0)[:, :, None]


def _first_gains(measured: Floats, links: Floats, drives: Floats) -> Floats:
    """Return each joint's gain (j,) by least squares beside its drive."""
    j = measured.shape[1]
    gains = np.ones(j)
    for k in range(j):
        columns = np.column_stack([links[:, k], drives[:, k, k::j]])
        gains[k] = np.linalg.lstsq(columns, measured[:, k], rcond=None)[0][0]
    return np.where(gains == 0.0, 1.0, gains)
