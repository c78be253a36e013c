"""Finds drives that are coupled: a joint's torque that goes with another joint's velocity.

In many a wrist one motor turns with the sum of two joints' angles: its friction and its rotor load
both joints. What is left of a joint's effort beside the best links and its own drive is therefore
explained once more with viscous and Coulomb friction of each other joint, and with Coulomb friction
of the sum and of the difference of both. No error of the links can
be mistaken for that: they are fitted freely, for this joint alone, and dissipate nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.explanation import OF_KIND, least_noise
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.fit import correlation_length
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.regression import link_columns
from featherstone_ros.model.friction import smooth_sign

LEFT = 0.25  # greatest share of the squares that the other joint's friction leaves of a coupling
KINDS = 6  # of columns for each joint
DEPENDENT = 1e-6  # relative singular value of unknowns that the torque does not determine


@dataclass(frozen=True)
class Coupling:
    """A joint whose effort goes with another's velocity."""

    joint: int  # its index
    other: int  # the other's
    left: float  # share of the squares unexplained so far that the other's friction leaves


def couplings(fitting: Fitting) -> list[Coupling]:
    """Return what couples each joint that is coupled, the likeliest of the other joints.

    A motor that both joints turn loads both: of a coupling each joint's effort tells.
    """
    joints = fitting.dynamics.model.n

    def columns(motion: SmoothMotion) -> Floats:
        links = link_columns(motion, fitting.dynamics, fitting.bodies)
        v = motion.velocity
        every = v, motion.sliding, motion.acceleration, motion.effort
        of_all = [np.repeat(values[:, None], joints, axis=1) for values in every]
        both = [smooth_sign(v[:, :, None] + sign * v[:, None]) for sign in (1.0, -1.0)]
        return np.concatenate([links, np.ones((*links.shape[:2], 1)), *of_all, *both], axis=2)

    samples = fitting.filtered(columns)
    of_joints = [_of_joint(samples[:, row], k, joints) for row, k in enumerate(fitting.judged)]
    pairs = {(each.joint, each.other): each for each in of_joints if each}
    return [each for (joint, other), each in pairs.items() if (other, joint) in pairs]


def in_words(joints: tuple[str, ...], found: list[Coupling]) -> list[str]:
    """Say which joints (n names) are coupled, by what evidence, and what to do."""
    return [
        f"{joints[each.joint]}: its effort goes with the velocity of {joints[each.other]}, too: "
        f"the other's friction leaves {100 * each.left:.2g} % of the squares that the best links "
        "and its own drive leave. Their drives are coupled, which the law of friction does not "
        "know: leave its effort out (--joints lists the others)."
        for each in found
    ]


def _of_joint(samples: Floats, joint: int, joints: int) -> Coupling | None:
    """Return the coupling of a joint, by its equations (N, p) from ``couplings``."""
    of_all = samples[:, -KINDS * joints :].reshape(len(samples), KINDS, joints)
    v, s, a, efforts, *both_ways = of_all.swapaxes(0, 1)
    effort, frictions = efforts[:, joint], np.stack([v, s, *both_ways], axis=2)
    rest = np.column_stack([samples[:, : -KINDS * joints], a[:, joint]])
    own = np.column_stack([rest, frictions[:, joint, :2]])
    left = _left(own, effort)
    independent = len(left) / float(correlation_length(left[:, None])[0])
    others = [other for other in range(joints) if other != joint]
    if not others or not left.any():
        return None
    # What no model explains of links and of friction is left by the other's friction, too.
    beside = _left(np.column_stack([np.ones(len(effort)), frictions[:, joint, :2]]), effort)
    taken = effort - effort.mean() - beside
    least = len(left) * float(least_noise(beside.std(), taken.std())) ** 2
    both = {k: _squares(_left(np.hstack([own, frictions[:, k]]), effort)) + least for k in others}
    other = min(others, key=lambda k: both[k])
    share = both[other] / (_squares(left) + least)
    # Efforts that are swapped go with the other's friction alone.
    alone = _squares(_left(np.hstack([rest, frictions[:, other]]), effort))
    if share < LEFT and both[other] < LEFT * alone and _evidence(independent, share) > OF_KIND:
        return Coupling(joint, other, share)
    return None


def _evidence(independent: float, share: float) -> float:
    """Return by how much the logarithm of the torque's probability grows, for unknown noise."""
    return -0.5 * independent * float(np.log(max(share, 1e-300)))


def _left(A: Floats, y: Floats) -> Floats:
    scale = np.linalg.norm(A, axis=0)
    A = A[:, scale > 0] / scale[scale > 0]
    return np.asarray(y - A @ np.linalg.lstsq(A, y, rcond=DEPENDENT)[0], float)


def _squares(values: Floats) -> float:
    return float(values @ values)
