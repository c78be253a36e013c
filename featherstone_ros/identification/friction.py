"""Fits friction and drive terms, joint by joint, to the torque that rigid links leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.filtering import SmoothMotion, needed_from_scipy

AT_REST = 0.01  # [rad/s or m/s] a joint that is never faster does not reveal its friction
ILL_CONDITIONED = 50.0  # condition number of the terms, each scaled to length 1


@dataclass(frozen=True, eq=False)
class Friction:
    """Each joint's torque besides that of its links; arrays (n,).

    Attributes:
        viscous: [N m s/rad or N s/m].
        coulomb: [N m or N].
        armature: Inertia of the drive, reflected to the joint [kg m^2 or kg]; 0 if not fitted.
        offset: Constant torque, e.g. of a sensor's zero [N m or N].
        doubtful: Joint index to the reason why its separate terms are unreliable.
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
        """Return the torque (N, n) of a motion, filtered like the motion [N m or N]."""
        moving = self.viscous * motion.velocity + self.armature * motion.acceleration
        return moving + self.coulomb * motion.sliding + self.offset

    @property
    def negative(self) -> NDArray[np.bool_]:
        """(n,) whether a joint's friction or armature came out negative, which is impossible."""
        return (self.viscous < 0) | (self.coulomb < 0) | (self.armature < 0)


def fit(
    motion: SmoothMotion, residual: Floats, armature: bool = False, physical: bool = False
) -> Friction:
    """Fit viscous, Coulomb and constant torque of each joint by least squares.

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
        columns = np.column_stack([every[k] for k in used])
        length = np.linalg.norm(columns, axis=0)
        solution = lsq_linear(columns / length, target, (least, np.inf), method="bvls")
        terms[joint, used] = solution.x / length
        condition = np.linalg.cond(columns / length)
        if condition > ILL_CONDITIONED:
            doubtful[joint] = (
                f"terms hardly separable (condition number {condition:.0f}): "
                "record more speeds, both directions"
            )
    viscous, coulomb, inertia, offset = terms.T
    return Friction(viscous, coulomb, inertia, offset, doubtful)
