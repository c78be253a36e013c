"""What is measured of the true state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .settings import Noise

Floats = NDArray[np.float64]


class Sensors:
    """Adds seeded white noise. The same calls with the same seed give the same measurements."""

    def __init__(self, n: int, noise: Noise) -> None:
        """Start the generator.

        Args:
            n: Number of joints.
            noise: Standard deviations and seed.
        """
        self._noise = noise
        self._deviations = np.repeat([[noise.position], [noise.velocity], [noise.effort]], n, 1)
        self._silent = not self._deviations.any()
        self.restart()

    def restart(self) -> None:
        """Repeat the noise from its beginning."""
        self._generator = np.random.default_rng(self._noise.seed)

    def measure(self, q: Floats, qd: Floats, effort: Floats) -> tuple[Floats, Floats, Floats]:
        """Return measured position, velocity and effort, each (n,)."""
        if self._silent:
            return q, qd, effort
        noise = self._deviations * self._generator.standard_normal(self._deviations.shape)
        return q + noise[0], qd + noise[1], effort + noise[2]
