"""Settings of a shadow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model
from featherstone_ros.model.friction import SLIDING_SPEED
from featherstone_ros.observer.effort_contract import FULL

MEASURED, COMMANDED = EFFORT_SOURCES = ("measured", "commanded")
SENSITIVITY = 0.1  # of the effort limit: default contact threshold
FALLBACK_THRESHOLD = 10.0  # [N m or N] where the robot description gives no effort limit


@dataclass(frozen=True)
class ShadowSettings:
    """Settings of a shadow. Arrays follow ``model.joint_names``; a scalar holds for every joint.

    Attributes:
        prediction_horizon: How far ahead the state is predicted [s].
        prediction_effort: One of ``EFFORT_SOURCES``: the torque assumed until then.
        time_step: Longest integration step of predictions [s].
        integrator: As for ``featherstone_ros.Simulator``.
        viscous: (n,) viscous friction [N m s/rad or N s/m]; None takes the model's.
        coulomb: (n,) Coulomb friction [N m or N]; None takes the model's.
        offset: (n,) constant additional effort of the drives [N m or N].
        armature: (n,) reflected inertia of the drives [kg m^2 or kg].
        sliding_speed: Above it Coulomb friction acts in full for the observer [rad/s or m/s].
        observer_gain: (n,) of the momentum observer [1/s]: the inverse of its time constant.
        effort_contract: One of ``effort_contract.CONTRACTS``.
        effort_gain: (n,) torque per unit of effort under the contract ``motor_current``.
        wrench_link: Link on which the external wrench is estimated; empty for ``default_link``.
        wrench_damping: Of the pseudo-inverse: directions with a singular value well below it are
            estimated as zero.
        contact_threshold: (n,) external torque above which contact begins [N m or N]; None for
            ``default_threshold``.
        contact_hysteresis: (n,) share of the threshold by which the torque must fall below it to
            end the contact.
        max_gap: Longest time between consecutive states [s]; after a longer gap the observer
            restarts.
    """

    prediction_horizon: float = 0.05
    prediction_effort: str = MEASURED
    time_step: float = 0.001
    integrator: str = "implicit"
    viscous: ArrayLike | None = None
    coulomb: ArrayLike | None = None
    offset: ArrayLike = 0.0
    armature: ArrayLike = 0.0
    sliding_speed: float = SLIDING_SPEED
    observer_gain: ArrayLike = 25.0
    effort_contract: str = FULL
    effort_gain: ArrayLike = 1.0
    wrench_link: str = ""
    wrench_damping: float = 0.01
    contact_threshold: ArrayLike | None = None
    contact_hysteresis: ArrayLike = 0.5
    max_gap: float = 0.25


def default_threshold(model: Model) -> Floats:
    """Return (n,) contact thresholds: a tenth of the effort limits [N m or N]."""
    limit = model.effort_limit
    return np.where(np.isfinite(limit) & (limit > 0.0), SENSITIVITY * limit, FALLBACK_THRESHOLD)


def default_link(model: Model) -> str:
    """Return the link that the last joint moves."""
    return model.tree.body_names[model.tree.joint_body[-1] + 1]
