"""Friction of the joints at measured speeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.model.friction import friction_torque

Floats = NDArray[np.float64]


class JointFriction:
    """Viscous and Coulomb friction, smooth through zero.

    The sign of a measured velocity is noise when the arm stands still, and dry friction can then
    be anything up to Coulomb's anyway: it grows with speed up to about ``sliding_speed``.
    """

    def __init__(
        self,
        viscous: Floats,
        coulomb: Floats,
        sliding_speed: float,
        offset: Floats | float = 0.0,
    ) -> None:
        """Take the coefficients.

        Args:
            viscous: (n,) [N m s/rad or N s/m].
            coulomb: (n,) [N m or N].
            sliding_speed: [rad/s or m/s], positive.
            offset: (n,) constant part [N m or N].
        """
        self.viscous = viscous
        self.coulomb = coulomb
        self.sliding_speed = sliding_speed
        self.offset = offset

    def __call__(self, qd: Floats) -> Floats:
        """Return the torque (n,) that moving at ``qd`` (n,) takes [N m or N]."""
        return friction_torque(qd, self.viscous, self.coulomb, self.sliding_speed) + self.offset

    @property
    def sliding(self) -> Floats:
        """Friction (n,) above which a joint slides for certain [N m or N]."""
        return self.viscous * self.sliding_speed + 0.5 * self.coulomb
