"""Friction and drives: their law, its parameters, and a fit to the torque that rigid links leave.

The law is that of ``featherstone_ros.model.friction``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.filtering import SmoothMotion, needed_from_scipy
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT, viscous_speed

AT_REST = 0.01  # [rad/s or m/s] a joint that is never faster does not reveal its friction
FITTED = ("viscous", "coulomb", "armature", "offset", "load", "stiffness")  # of ``Friction``
ILL_CONDITIONED = 50.0  # condition number of the terms, each scaled to length 1


@dataclass(frozen=True, eq=False)
class Law:
    """Which terms the friction of n joints has, and what enters it not linearly.

    Attributes:
        thinning: (n,) or for all joints [s/rad or s/m].
        loaded: Whether dry friction grows with the torque of the links.
        sprung: (n,) or for all joints, whether torque grows with the position, as of cables.
        displacement: Over which Coulomb friction turns round [rad or m].
    """

    thinning: Floats | float = 0.0
    loaded: bool = False
    sprung: NDArray[np.bool_] | bool = False
    displacement: float = PRESLIDING_DISPLACEMENT

    def columns(self, motion: SmoothMotion, links: Floats) -> list[Floats]:
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
class Friction:
    """Each joint's torque besides that of its links; arrays (n,).

    Attributes:
        viscous: [N m s/rad or N s/m].
        coulomb: [N m or N].
        armature: Inertia of the drive, reflected to the joint [kg m^2 or kg]; 0 if not fitted.
        offset: Constant torque, e.g. of a sensor's zero [N m or N].
        doubtful: Joint index to the reason why its separate terms are unreliable.
        load: Coulomb friction per torque of the links, see ``featherstone_ros.model.friction``.
        thinning: Of viscous friction with the speed [s/rad or s/m].
        stiffness: Torque per position [N m/rad or N/m].
    """

    viscous: Floats
    coulomb: Floats
    armature: Floats
    offset: Floats
    doubtful: dict[int, str] = field(default_factory=dict)
    load: Floats | float = 0.0
    thinning: Floats | float = 0.0
    stiffness: Floats | float = 0.0

    @classmethod
    def none(cls, n: int) -> Friction:
        """Return zeros for n joints."""
        return cls(*np.zeros((4, n)))

    def among(self, joints: Sequence[int], n: int) -> Friction:
        """Return the friction of n joints, of which these have it; zero for the others."""
        terms: dict[str, Any] = {name: np.zeros(n) for name in FITTED}
        for name, values in terms.items():
            values[list(joints)] = getattr(self, name)
        return Friction(**terms)

    def torque(self, motion: SmoothMotion, links: Floats | float = 0.0) -> Floats:
        """Return the torque (N, n) of a motion, filtered like the motion [N m or N].

        Args:
            motion: The motion.
            links: (N, n) torque of the links [N m or N].
        """
        dry = (self.coulomb + self.load * np.abs(links)) * motion.sliding
        standing = self.offset + self.stiffness * motion.position
        moving = self.armature * motion.acceleration + standing
        return moving + dry + self.viscous * viscous_speed(motion.velocity, self.thinning)

    def explained(
        self, motion: SmoothMotion, measured: Floats, links: Floats | float = 0.0
    ) -> Floats:
        """Return the torque (N, n) nearest to a measured one; a joint that sticks has an interval.

        Args:
            motion: As for ``torque``.
            measured: (N, n) what the links leave, filtered [N m or N].
            links: As for ``torque``.
        """
        dry = self.coulomb + self.load * np.abs(links)
        rest = self.torque(motion, links) - dry * motion.sliding
        low, high = np.sort([dry * motion.low, dry * motion.high], axis=0)
        return rest + np.clip(measured - rest, low, high)

    @property
    def negative(self) -> NDArray[np.bool_]:
        """(n,) whether a joint's friction or armature came out negative, which is impossible."""
        return (self.viscous < 0) | (self.coulomb < 0) | (self.armature < 0)


def fit(
    motion: SmoothMotion, residual: Floats, armature: bool = False, physical: bool = False
) -> Friction:
    """Fit viscous, Coulomb and constant torque of each joint by weighted least squares.

    Args:
        motion: The arm's motion.
        residual: (N, n) measured torque minus that of the rigid links [N m or N].
        armature: Fit the drives' inertia too.
        physical: Keep friction and armature from being negative (which happens where they
            compensate errors of the links).

    Returns:
        Terms by joint; for a joint at rest only the constant, the others 0.

    Raises:
        EvaluationError: scipy is missing.
    """
    lsq_linear = needed_from_scipy("optimize").lsq_linear
    terms = np.zeros((residual.shape[1], 4))
    doubtful = {}
    used = [0, 1, 2, 3] if armature else [0, 1, 3]
    least = np.array([0.0, 0.0, 0.0, -np.inf])[used] if physical else -np.inf
    for joint, target in enumerate(residual.T):
        velocity = motion.velocity[:, joint]
        if np.abs(velocity).max() < AT_REST:
            terms[joint, 3] = target.mean()
            doubtful[joint] = "at rest: friction unknown"
            continue
        every = [
            velocity,
            motion.sliding[:, joint],
            motion.acceleration[:, joint],
            1 + 0 * velocity,
        ]
        trust = motion.trust[:, joint]
        columns = trust[:, None] * np.column_stack([every[k] for k in used])
        length = np.linalg.norm(columns, axis=0)
        solution = lsq_linear(columns / length, trust * target, (least, np.inf), method="bvls")
        terms[joint, used] = solution.x / length
        condition = np.linalg.cond(columns / length)
        if condition > ILL_CONDITIONED:
            doubtful[joint] = (
                f"terms hardly separable (condition number {condition:.0f}): "
                "record more speeds, both directions"
            )
    viscous, coulomb, inertia, offset = terms.T
    return Friction(viscous, coulomb, inertia, offset, doubtful)
