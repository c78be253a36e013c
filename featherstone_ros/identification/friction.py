"""Friction and drives: which terms they have, and a fit to the torque that rigid links leave.

The law is that of ``featherstone_ros.model.friction``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import needed
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT, viscous_speed

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
        """Return the factors (N, n) of each joint's ``DRIVE_TERMS``.

        Args:
            motion: Filtered.
            links: (N, n) torque of the links [N m or N].
        """
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
        """Names of the terms in which torque is linear; all but the last are not negative.

        A term that is named and that the law lacks has a column of zeros.
        """
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
    """Return the torque (N, n) nearest to a measured one; a joint that sticks has an interval.

    ``measured`` (N, n) what the links leave, filtered [N m or N]. ``links`` (N, n) torque of the
    links [N m or N].
    """
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
