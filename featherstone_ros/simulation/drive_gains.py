"""Position loops of simulated drives: their default gains, and within what they move a joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats

BANDWIDTH = 100.0  # [rad/s], of common servo drives
DEFLECTION = 0.05  # [rad or m] deflection at which a drive gives its full effort
FULL_SPEED = 0.05  # [s] in which a drive reaches its speed limit; arms state .12 to .3
FASTEST = 20.0  # [rad/s or m/s] of a joint without limit, for that
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


def drive_bounds(model: Model) -> tuple[Floats, Floats]:
    """Return within which speed and acceleration (n,) drives move their joints.

    Whatever they are told: a light joint that reports no rotor follows no step at hundreds of
    rad/s. A speed limit of 0 counts as none.
    """
    speed = np.where(model.velocity_limit > 0.0, model.velocity_limit, np.inf)
    return speed, np.minimum(speed, FASTEST) / FULL_SPEED
