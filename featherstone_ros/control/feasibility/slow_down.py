"""The factor by which a motion must be slowed down to fit."""

from __future__ import annotations

from math import inf

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.feasibility.limits import (
    JERK_ROUNDING,
    ROUNDING,
    jerk,
    jumping,
    rates,
)
from featherstone_ros.control.joint_space import JointSpace


def slow_down(demand: Demand, limits: JointSpace) -> float:
    """Return the smallest s >= 1 such that the motion fits in s times the time; inf if none does.

    With x = 1 / s the torque is a parabola f(x) = standing + viscous x + inertial x^2 for every
    sample and joint, see ``Demand``. Where |f| is beyond its limit L at some x, the fastest slower
    motion that may fit has the largest root of |f| = L below x, which is taken in closed form. The
    largest x that all of them allow cannot be above the least of those roots: starting from the
    limits of velocity, acceleration and jerk, which go with x, x^2 and x^3, and going from one to
    the next finds it, whatever the shape of the parabolas.
    Position limits are not considered: no speed helps there.

    Args:
        demand: The motion at its own speed.
        limits: Of the same joints.
    """
    speeding, slowing = rates(demand)
    changes, jumps = jerk(demand), jumping(demand)  # those take SUDDEN at any speed
    x = min(
        _within(demand.velocity, limits.velocity, ROUNDING),
        _within(speeding, limits.acceleration, ROUNDING) ** (1 / 2),
        _within(slowing, limits.deceleration, ROUNDING) ** (1 / 2),
        _within(changes[jumps], limits.jerk, JERK_ROUNDING) ** (1 / 2),
        _within(changes[~jumps], limits.jerk, JERK_ROUNDING) ** (1 / 3),
    )
    most = np.broadcast_to(limits.effort, demand.standing.shape)
    while x > 0.0:
        torque = demand.standing + x * (demand.viscous + x * demand.inertial)
        over = ~(np.abs(torque) <= most * (1.0 + ROUNDING))
        if not over.any():
            return 1.0 / x
        sign = np.sign(torque[over])
        c, b, a = (sign * part[over] for part in (demand.standing, demand.viscous, demand.inertial))
        x = float(largest_root_below(x, a, b, c - most[over]).min())
    return inf


def _within(values: Floats, limit: Floats, slack: float) -> float:
    """Return the greatest factor up to 1 that brings values (N, n) within a limit (n,)."""
    greatest = np.abs(values).max(axis=0, initial=0.0)
    limit = np.broadcast_to(limit, greatest.shape)
    beyond = greatest > limit * (1.0 + slack)
    return float((limit[beyond] / greatest[beyond]).min()) if beyond.any() else 1.0


def largest_root_below(x: float, a: Floats, b: Floats, c: Floats) -> Floats:
    """Return the largest root of a x^2 + b x + c in [0, x), 0 if there is none; elementwise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
        roots = np.stack([half / a, c / half])
    within = (roots >= 0.0) & (roots < x)  # not so for what is no number
    return np.where(within, roots, 0.0).max(axis=0)
