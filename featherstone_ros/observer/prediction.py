"""Where the arm will be a little later if its torques stay what they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Simulator

Floats = NDArray[np.float64]


class Predictor:
    """Integrates forward dynamics (ABA with friction and armature) over any time."""

    def __init__(self, simulator: Simulator, offset: Floats | float = 0.0) -> None:
        """Take what integrates.

        Args:
            simulator: Its state does not matter.
            offset: (n,) constant friction, which the simulator does not know [N m or N].
        """
        self._simulator = simulator
        self._offset = offset

    def after(
        self, duration: float, q: Floats, qd: Floats, torque: Floats
    ) -> tuple[Floats, Floats]:
        """Return position and velocity (n,) after ``duration`` [s] under a constant torque.

        The simulator's steps are all of one length: what the nearest number of them leaves over,
        or goes beyond the duration, is made up for under the last acceleration.

        Args:
            duration: [s], positive.
            q: (n,) [rad or m].
            qd: (n,) [rad/s or m/s].
            torque: (n,) [N m or N].

        Raises:
            SingularInertiaError: A joint moves no inertia.
            DivergenceError: The state does not stay finite.
        """
        simulator = self._simulator
        steps = max(1, round(duration / simulator.time_step))
        simulator.set_state(q, qd)
        simulator.step(torque - self._offset, steps)
        rest = duration - steps * simulator.time_step
        qdd = simulator.qdd
        later = simulator.qd + rest * qdd
        return simulator.q + rest * (later - 0.5 * rest * qdd), later
