"""The joints of an arm with their limits."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros._control import DRIVE_ACCELERATION, EFFORT_SHARE, FALLBACK_SPEED
from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model
from featherstone_ros.model.arguments import require

TURN = 2.0 * np.pi  # [rad]
HALF_TURN_SLACK = 1e-9  # turns: this close to half a turn, a position is taken as given


def _unlimited() -> Floats:
    return np.array(np.inf)


@dataclass(frozen=True, eq=False)
class JointSpace:
    """Joints and limits; arrays are (n,) in joint order, infinite where there is no limit."""

    names: tuple[str, ...]
    types: tuple[str, ...]  # joint types, as ``Model.joint_types``
    lower: Floats  # lower position limits [rad] or [m]
    upper: Floats  # upper position limits [rad] or [m]
    velocity: Floats  # [rad/s] or [m/s]
    effort: Floats  # [N m] or [N]
    # of a speed that grows [rad/s^2] or [m/s^2]
    acceleration: Floats = field(default_factory=_unlimited)
    # of a speed that falls, positive [rad/s^2] or [m/s^2]
    deceleration: Floats = field(default_factory=_unlimited)
    jerk: Floats = field(default_factory=_unlimited)  # [rad/s^3] or [m/s^3]
    # (2, n) acceleration and jerk that the drives have for what the controller makes of its own:
    # see ``rates``
    reach: Floats = field(default_factory=_unlimited)

    def __post_init__(self) -> None:
        """Check the limits."""
        for limit in fields(self)[2:-1]:
            values = np.broadcast_to(getattr(self, limit.name), len(self.names))
            signed = limit.name in ("lower", "upper")
            good = ~np.isnan(values) if signed else values >= 0.0
            expected = "a limit" if signed else "a limit, at least 0"
            require(good, values, self.names, limit.name, expected)

    @classmethod
    def of(cls, model: Model, effort: Floats | None = None) -> JointSpace:
        """Return a model's, or those with another usable ``effort`` (n,), taken as it is."""
        quantities = ("velocity", "effort", "acceleration", "deceleration", "jerk")
        limits = {one: getattr(model, f"{one}_limit") for one in quantities}
        limits = {one: np.where(limit > 0.0, limit, np.inf) for one, limit in limits.items()}
        if effort is not None:
            limits["effort"] = effort
        return cls(model.joint_names, model.joint_types, model.lower, model.upper, **limits)

    @property
    def continuous(self) -> NDArray[np.bool_]:
        """Which joints turn without end (n,)."""
        return np.array([kind == "continuous" for kind in self.types])

    @property
    def rates(self) -> Floats:
        """What stops, blends and streams keep to: acceleration, deceleration and jerk (3, n).

        The limits, and no more than what the drives have, nor than ``DRIVE_ACCELERATION``.
        """
        reach, _ = np.broadcast_arrays(self.reach, np.zeros((2, len(self.names))))
        usual = np.minimum(self.velocity, FALLBACK_SPEED) * DRIVE_ACCELERATION
        own = np.minimum(reach[0], usual)
        bounds = ((self.acceleration, own), (self.deceleration, own), (self.jerk, reach[1]))
        return np.array([np.minimum(limit, bound) for limit, bound in bounds])

    def turns(self, distance: Floats) -> Floats:
        """Return the whole turns (n,) [rad] in a distance (n,): half a turn at most is left."""
        count = np.ceil(np.abs(distance) / TURN - 0.5 - HALF_TURN_SLACK)
        return np.where(self.continuous, TURN * np.sign(distance) * np.maximum(count, 0.0), 0.0)

    def if_degrees(self, q: Floats) -> str:
        """Return a hint for positions (K, n) outside the limits that would be within as degrees."""
        angles = np.array([kind != "prismatic" for kind in self.types])
        taken = np.where(angles, np.radians(q), q)
        if not ((taken > self.lower) & (taken < self.upper)).all():
            return ""
        largest = np.abs(np.where(angles, q, 0.0)).max()
        return f"; are these degrees? {largest:g} degrees are {np.radians(largest):.4g} rad"

    def shortest(self, distance: Floats) -> Floats:
        """Return a distance (n,) without whole turns of joints that turn without end."""
        return distance - self.turns(distance)

    def unit(self, joint: int, quantity: str) -> str:
        """Return the unit of a joint's position, velocity, acceleration, jerk or torque."""
        angle, effort = ("m", "N") if self.types[joint] == "prismatic" else ("rad", "N m")
        return {
            "position": angle,
            "velocity": f"{angle}/s",
            "acceleration": f"{angle}/s^2",
            "deceleration": f"{angle}/s^2",
            "jerk": f"{angle}/s^3",
            "torque": effort,
        }[quantity]


POSTURES = 64  # that are looked at; more change the bounds by a few percent
LEAST_SHARE = (
    0.2  # of the effort limits, where gravity leaves less: it helps as often as it hinders
)


def reach(model: Model, effort: Floats, armature: Floats, torque_rate: Floats) -> Floats:
    """Return acceleration and jerk (2, n) that each joint can have in every posture.

    The acceleration is the effort that gravity leaves, over the inertia that the joint moves; the
    jerk is the rate of the effort over the same. inf where there is no limit, or no inertia.
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
