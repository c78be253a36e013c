"""Default gains of the position loop of simulated drives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats

BANDWIDTH = 100.0  # [rad/s], of common servo drives
DEFLECTION = 0.05  # [rad or m] deflection at which a drive gives its full effort
POSTURES = 64
REACH = np.pi  # [rad or m] range considered for a joint without limits


def drive_gains(model: Model, armature: Floats) -> tuple[Floats, Floats]:
    """Return P and D (n,) of stiff, critically damped drives.

    P gives the bandwidth at the joint's largest inertia within its limits, or the full effort at a
    small deflection, whichever is larger. The base is taken as fixed; on a floating base the
    inertia is smaller.

    Args:
        model: The arm.
        armature: (n,) reflected inertia of the drives [kg m^2 or kg].
    """
    lower, upper = np.maximum(model.lower, -REACH), np.minimum(model.upper, REACH)
    q = lower + (upper - lower) * np.random.default_rng(0).uniform(size=(POSTURES, model.n))
    model = replace(model, base="fixed")
    inertia = np.diagonal(Dynamics(model).crba(q), axis1=1, axis2=2).max(axis=0) + armature
    by_effort = np.where(np.isfinite(model.effort_limit), model.effort_limit, 0.0) / DEFLECTION
    p = np.maximum(inertia * BANDWIDTH**2, by_effort)
    return p, 2.0 * np.sqrt(p * inertia)
