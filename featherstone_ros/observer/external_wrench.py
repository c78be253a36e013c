"""The wrench on one link that would explain the external joint torques."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics

Floats = NDArray[np.float64]


class WrenchEstimator:
    """Solves J^T w = r by a damped pseudo-inverse: w = (J J^T + damping^2)^-1 J r.

    A direction in which the link cannot move now shows in no joint, and is estimated as zero:
    with fewer than six joints some always are, near a singularity one more. Of a wrench that the
    joints feel by a singular value s of J the share s^2 / (s^2 + damping^2) is found.
    """

    def __init__(self, dynamics: Dynamics, link: str, damping: float) -> None:
        """Choose the link.

        Args:
            dynamics: Kinematics.
            link: Name of the link on which the wrench is assumed.
            damping: In the units of the Jacobian, positive.
        """
        self.link = link
        self._dynamics = dynamics
        self._regularization = damping**2 * np.eye(6)

    def estimate(self, q: Floats, external_torque: Floats) -> Floats:
        """Return (6,) force [N] and torque [N m] on the link, at its origin, in its axes.

        Args:
            q: (n,) position [rad or m].
            external_torque: (n,) [N m or N].
        """
        J = self._dynamics.jacobian(q, self.link)
        wrench = np.linalg.solve(J @ J.T + self._regularization, J @ external_torque)
        R = self._dynamics.link_pose(q, self.link)[:3, :3]
        return (wrench.reshape(2, 3) @ R).ravel()
