"""Contact: external torque above a threshold, with hysteresis, joint by joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class ContactDetector:
    """Tells which joints feel a contact.

    Attributes:
        joints: (n,) bool, those that do.
    """

    def __init__(self, threshold: Floats, hysteresis: Floats) -> None:
        """Take the limits.

        Args:
            threshold: (n,) torque above which contact begins [N m or N].
            hysteresis: (n,) 0 to 1; contact ends below (1 - hysteresis) threshold.
        """
        self._begin = threshold
        self._end = (1.0 - hysteresis) * threshold
        self.reset()

    def reset(self) -> None:
        """Forget all contacts."""
        self.joints = np.zeros(len(self._begin), dtype=bool)

    def update(self, external_torque: Floats) -> bool:
        """Judge (n,) external torques [N m or N]; return whether there is contact anywhere."""
        size = np.abs(external_torque)
        self.joints = (size > self._begin) | (self.joints & (size >= self._end))
        return bool(self.joints.any())
