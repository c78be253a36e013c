"""Where an arm is that nobody sees: where its model comes under the effort of its drives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherstone_ros._core import Simulator
from featherstone_ros.control.motion import Knot
from featherstone_ros.control.settings import Settings
from featherstone_ros.errors import SingularInertiaError
from featherstone_ros.model import Model

Floats = NDArray[np.float64]

TIME_STEP = 0.001  # [s] of the integration: some 50 us of computing for 0.1 s of a 7-joint arm


def dead_reckoning(
    model: Model, settings: Settings, q: Floats, qd: Floats, effort: Floats, duration: float
) -> Knot:
    """Return the state of an arm that has been under a constant effort.

    The acceleration is the one that it has under this effort in the end: an effort worked out for
    a motion that begins with this knot begins with this effort, too.

    Args:
        model: Links and joints.
        settings: Friction and armature.
        q: Position at the beginning (n,) [rad] or [m].
        qd: Velocity at the beginning (n,) [rad/s] or [m/s].
        effort: Of the drives (n,) [N m] or [N].
        duration: [s].
    """
    simulator = Simulator(
        model,
        TIME_STEP,
        "implicit",  # stable whatever the friction that was set
        damping=settings.viscous,
        friction=settings.coulomb,
        armature=settings.armature,
    )
    simulator.reset(q, qd)
    try:
        simulator.step(effort, max(round(duration / TIME_STEP), 1))
    except SingularInertiaError:  # neither links nor armature: nothing is known but the velocity
        zero = np.zeros_like(q)
        return Knot(q + duration * qd, qd.copy(), zero, zero)
    return Knot(simulator.q, simulator.qd, simulator.qdd, np.zeros_like(q))
