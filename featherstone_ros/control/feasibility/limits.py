"""The limits of an arm, and where a motion exceeds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.trajectory import LIMIT_SLACK
from featherstone_ros.model import Model

ROUNDING = 1e-6  # share of a limit of velocity or torque that a plan may touch it by


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of n joints; arrays (n,), infinite where there is none.

    Attributes:
        names: Joint names.
        types: Joint types, as ``Model.joint_types``.
        lower: Lower position limits [rad] or [m].
        upper: Upper position limits [rad] or [m].
        velocity: [rad/s] or [m/s].
        effort: [N m] or [N].
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    lower: Floats
    upper: Floats
    velocity: Floats
    effort: Floats

    @classmethod
    def of(cls, model: Model, effort: Floats) -> Limits:
        """Return a model's limits.

        Args:
            model: The arm. A velocity limit of 0 is taken for none, as the controller does.
            effort: (n,) The usable effort [N m] or [N].
        """
        return cls(
            model.joint_names,
            model.joint_types,
            model.lower,
            model.upper,
            np.where(model.velocity_limit > 0.0, model.velocity_limit, np.inf),
            effort,
        )

    def unit(self, joint: int, quantity: str) -> str:
        """Return the unit of a quantity of a joint."""
        angle, effort = ("m", "N") if self.types[joint] == "prismatic" else ("rad", "N m")
        return {"position": angle, "velocity": f"{angle}/s", "torque": effort}[quantity]


@dataclass(frozen=True)
class Excess:
    """The largest excess of a motion over a limit of one joint.

    Attributes:
        joint: Name.
        quantity: ``"position"``, ``"velocity"`` or ``"torque"``.
        value: The value reached.
        limit: The limit that it exceeds.
        unit: Of both.
        time: When, since the trajectory's start [s].
    """

    joint: str
    quantity: str
    value: float
    limit: float
    unit: str
    time: float

    def share(self) -> float:
        """Return the value as a multiple of the limit."""
        return abs(self.value / self.limit) if self.limit else inf

    def __str__(self) -> str:
        """Return one line for a person."""
        return (
            f"{self.quantity} of joint {self.joint!r} {self.value:.4g} {self.unit} at "
            f"{self.time:.3f} s, limit {self.limit:.4g}"
        )


def excesses(demand: Demand, limits: Limits) -> list[Excess]:
    """Return the worst excess of each quantity and joint, the positions first."""
    q, below, above = demand.position, limits.lower - LIMIT_SLACK, limits.upper + LIMIT_SLACK
    outside = np.maximum(below - q, q - above)
    velocity, torque = np.abs(demand.velocity), np.abs(demand.torque)

    def nearest(i: int, j: int) -> float:
        return float(limits.lower[j] if q[i, j] < limits.lower[j] else limits.upper[j])

    def signed(limit: Floats, values: Floats) -> Callable[[int, int], float]:
        return lambda i, j: float(np.copysign(limit[j], values[i, j]))

    return [
        *_worst("position", q, outside, nearest, demand, limits),
        *_worst(
            "velocity",
            demand.velocity,
            velocity - limits.velocity * (1.0 + ROUNDING),
            signed(limits.velocity, demand.velocity),
            demand,
            limits,
        ),
        *_worst(
            "torque",
            demand.torque,
            torque - limits.effort * (1.0 + ROUNDING),
            signed(limits.effort, demand.torque),
            demand,
            limits,
        ),
    ]


def _worst(
    quantity: str,
    values: Floats,
    beyond: Floats,
    limit: Callable[[int, int], float],
    demand: Demand,
    limits: Limits,
) -> list[Excess]:
    """Return the largest excess of each joint that has one."""
    worst = np.argmax(beyond, axis=0)
    return [
        Excess(
            limits.names[j],
            quantity,
            float(values[i, j]),
            limit(i, j),
            limits.unit(j, quantity),
            float(demand.time[i] - demand.time[0]),
        )
        for j, i in enumerate(worst)
        if not beyond[i, j] <= 0.0  # so, too, if it is no number
    ]
