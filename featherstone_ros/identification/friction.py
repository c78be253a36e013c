"""Friction and drives, fitted joint by joint to the torque that the rigid links do not explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.filtering import SmoothMotion, needed_from_scipy

AT_REST = 0.01  # [rad/s or m/s] a joint that is never faster tells nothing of its friction
ILL_CONDITIONED = 50.0  # of the terms, each scaled to length 1


@dataclass(frozen=True, eq=False)
class Friction:
    """What each joint takes besides moving its links; arrays (n,).

    Attributes:
        viscous: [N m s/rad or N s/m].
        coulomb: [N m or N].
        armature: Inertia of the drive as the joint feels it [kg m^2 or kg]; 0 if not fitted.
        offset: Constant torque, e.g. of a sensor's zero [N m or N].
        doubtful: Joint index to why its terms are not to be trusted one by one.
    """

    viscous: Floats
    coulomb: Floats
    armature: Floats
    offset: Floats
    doubtful: dict[int, str]

    @classmethod
    def none(cls, n: int) -> Friction:
        """Return zeros for n joints."""
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), {})

    def torque(self, motion: SmoothMotion) -> Floats:
        """Return the (N, n) torque that the motion takes, filtered as the motion is [N m or N]."""
        moving = self.viscous * motion.velocity + self.armature * motion.acceleration
        return moving + self.coulomb * motion.sliding + self.offset

    @property
    def negative(self) -> NDArray[np.bool_]:
        """(n,) whether a joint's friction or armature is negative, which none can be."""
        return (self.viscous < 0) | (self.coulomb < 0) | (self.armature < 0)


def fit(
    motion: SmoothMotion, residual: Floats, armature: bool = False, physical: bool = False
) -> Friction:
    """Fit viscous, Coulomb and constant torque to each joint by least squares.

    Args:
        motion: What the arm did.
        residual: (N, n) measured torque less that of the rigid links [N m or N].
        armature: Fit the drives' inertia too.
        physical: Keep friction and armature from being negative, which they become where they make
            up for what is wrong with the links.

    Returns:
        Terms by joint; for a joint at rest the constant alone, 0 for the others.

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
        columns = np.column_stack([every[k] for k in used])
        length = np.linalg.norm(columns, axis=0)
        solution = lsq_linear(columns / length, target, (least, np.inf), method="bvls")
        terms[joint, used] = solution.x / length
        condition = np.linalg.cond(columns / length)
        if condition > ILL_CONDITIONED:
            doubtful[joint] = (
                f"terms hardly told apart (condition {condition:.0f}): "
                "record more speeds, both directions"
            )
    viscous, coulomb, inertia, offset = terms.T
    return Friction(viscous, coulomb, inertia, offset, doubtful)
