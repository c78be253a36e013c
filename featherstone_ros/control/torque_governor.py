"""Settings and interventions of the torque governor (cython_core/control/torque_governor.pxd)."""

from __future__ import annotations

import numpy as np

from featherstone_ros.arrays import Floats

DEFAULT_RATE = 50.0  # [1/s] effort limits per second, see default_torque_rate
UNLIMITED_RATE = 5000.0  # [N m/s] or [N/s] where there is no effort limit
SLOWEST_RATE = 2.0  # [1/s] effort limits per second with which a push is still braked
MIN_RATE = 1e-3  # [N m/s] or [N/s] where there is no effort limit


def default_torque_rate(effort_limit: Floats) -> Floats:
    """Return torque rates (n,) that soften steps without impairing the feedback.

    A rate limit is a delay for large errors: feedback with a bandwidth of w rad/s that reaches the
    effort limits needs w limits per second. With much less, an arm that is pushed hard oscillates
    for ever between the limits (at 10 per second, a Panda whose wrist is hit at 2 rad/s).

    ``effort_limit``: (n,) inf or 0 where there is none.
    """
    return _rate(effort_limit, DEFAULT_RATE, UNLIMITED_RATE)


def min_torque_rate(effort_limit: Floats) -> Floats:
    """Return the torque rates (n,) below which a push is not braked in time."""
    return _rate(effort_limit, SLOWEST_RATE, MIN_RATE)


def _rate(effort_limit: Floats, share: float, unlimited: float) -> Floats:
    limited = np.isfinite(effort_limit) & (effort_limit > 0.0)
    return np.where(limited, share * np.where(limited, effort_limit, 0.0), unlimited)


def cut(
    gravity: Floats, feedforward: Floats, feedback: Floats, limit: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the three parts of an effort after the limits, each (n,).

    Feedback is cut first, as far as that helps; then feedforward; gravity last.
    """
    parts = [gravity, feedforward, feedback]
    for i in (2, 1, 0):
        total = parts[0] + parts[1] + parts[2]
        excess = total - np.clip(total, -limit, limit)
        smaller = np.clip(parts[i] - excess, np.minimum(parts[i], 0.0), np.maximum(parts[i], 0.0))
        # A part that points inwards already helps: cutting it would only add to the excess.
        parts[i] = np.where(excess * parts[i] > 0.0, smaller, parts[i])
    return parts[0], parts[1], parts[2]
