"""The acceleration that an arm's drives have, wherever it stands.

What the controller makes of its own keeps to it: stops, blends, what leads a stream in.
"""

from __future__ import annotations

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros._control import EFFORT_SHARE
from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model

POSTURES = 64  # that are looked at; more change the bounds by a few percent
LEAST_SHARE = (
    0.2  # of the effort limits, where gravity leaves less: it helps as often as it hinders
)


def reach(model: Model, effort: Floats, armature: Floats, torque_rate: Floats) -> Floats:
    """Return acceleration and jerk (2, n) that each joint can have in every posture.

    The acceleration is the effort that gravity leaves, over the inertia that the joint moves; the
    jerk is the rate of the effort over the same. inf where there is no limit, or no inertia.

    ``torque_rate``: (n,) of the effort [N m/s or N/s].
    """
    rng = np.random.default_rng(0)
    lower, upper = (np.clip(limit, -np.pi, np.pi) for limit in (model.lower, model.upper))
    q = rng.uniform(np.minimum(lower, upper), upper, (POSTURES, model.n))
    dynamics = Dynamics(model)
    inertia = np.diagonal(dynamics.crba(q), axis1=1, axis2=2) + armature
    weight = np.abs(dynamics.gravity(q))
    with np.errstate(divide="ignore", invalid="ignore"):
        usable = np.maximum(EFFORT_SHARE * effort - weight, LEAST_SHARE * effort)
        bounds = np.min([usable / inertia, torque_rate / inertia], axis=1)
    return np.where(np.isfinite(bounds) & (bounds > 0.0), bounds, np.inf)
