"""Settings of a shadow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import (
    TORQUE,
    DriveUnits,
)
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer.effort_contract import FULL, contract_of
from featherstone_ros.parameter import (
    Parameter,
    Value,
    check_finite,
    declared,
    joint_parameters_of,
    values_of,
)

MEASURED, COMMANDED = EFFORT_SOURCES = ("measured", "commanded")
SENSITIVITY = 0.1  # of the effort limit: default contact threshold
FALLBACK_THRESHOLD = 10.0  # [N m or N] where the robot description gives no effort limit


@dataclass(frozen=True)
class ShadowSettings:
    """Settings of a shadow. Arrays follow ``model.joint_names``; a scalar holds for every joint.

    What a field is that is ``declared`` stands there.

    Attributes:
        time_step: Longest integration step of predictions [s].
        integrator: As for ``featherstone_ros.Simulator``.
        drives: None takes the model's, ``Drives.of_model``.
        effort_contract: What the efforts of joint states mean, see ``effort_contract.contract_of``.
        effort_gain: (n,) joint torque per unit of effort, where that is a current.
        contact_threshold: (n,); None for ``default_threshold``.
    """

    prediction_horizon: float = declared(
        0.05, "time from the measured state to ~/predicted_joint_states [s]", 0.0, 1.0
    )
    prediction_effort: str = declared(
        MEASURED,
        "torque assumed for the prediction: measured, or the last one on ~/commands",
        choices=EFFORT_SOURCES,
    )
    time_step: float = 0.001
    integrator: str = "implicit"
    drives: Drives | None = None
    observer_gain: ArrayLike = declared(
        25.0,
        "gain of the momentum observer [1/s]: the inverse of its time constant",
        0.1,
        1000.0,
        name="observer_gain.{}",
    )
    effort_contract: str = FULL
    effort_gain: ArrayLike = 1.0
    wrench_link: str = declared(
        "",
        "link on which an external wrench is estimated (empty: the last joint's link), or acts "
        "whose frame_id is no link's (empty: it is refused)",
    )
    wrench_damping: float = declared(
        0.01,
        "damping of the Jacobian's pseudo-inverse: singular values below it are not trusted",
        1e-6,
        1.0,
    )
    contact_threshold: ArrayLike | None = declared(
        None,
        "external torque above which there is contact [N m or N]",
        0.0,
        name="contact.{}.threshold",
    )
    contact_hysteresis: ArrayLike = declared(
        0.5,
        "share of the threshold by which the torque must fall below it to end a contact",
        0.0,
        1.0,
        name="contact.{}.hysteresis",
    )
    max_gap: float = declared(
        0.25,
        "longest time between successive joint states [s]; after that the observer restarts",
        1e-3,
        10.0,
    )

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_finite(self)


def default_threshold(model: Model) -> Floats:
    """Return (n,) contact thresholds: a tenth of the effort limits [N m or N]."""
    limit = model.effort_limit
    return np.where(np.isfinite(limit) & (limit > 0.0), SENSITIVITY * limit, FALLBACK_THRESHOLD)


def default_link(model: Model) -> str:
    """Return the link at the end of the longest chain of joints; of several, the last joint's.

    Files may list the joints from the tip on, as that of the SO-101 does.
    """
    tree, depth = model.tree, [0] * len(model.tree.parent)
    for body, parent in enumerate(tree.parent):
        depth[body] = depth[parent] + 1 if parent >= 0 else 1
    tip = max(reversed(tree.joint_body), key=lambda body: depth[body])
    return tree.body_names[tip + 1]


def shadow_parameters(model: Model) -> Iterator[Parameter]:
    """Yield the observer's gain and the contact threshold of every joint."""
    for joint, threshold in zip(model.joint_names, default_threshold(model), strict=True):
        yield from joint_parameters_of(ShadowSettings, joint, contact_threshold=threshold)


def shadow_settings(values: Mapping[str, Value], model: Model) -> ShadowSettings:
    """Return a shadow's settings from the twin's parameters."""
    units = DriveUnits.of(values, model.joint_names)
    contract, gain = contract_of(units)
    others = [word for word in units.command if word != TORQUE]
    if others and values["prediction_effort"] == COMMANDED:
        raise ValueError(
            f"prediction_effort is {COMMANDED}, expected {MEASURED}: commands are no torques, "
            f"drives.<joint>.command is {others[0]}"
        )
    return ShadowSettings(
        effort_contract=contract,
        effort_gain=gain,
        **values_of(ShadowSettings, values, model.joint_names),
        drives=Drives.of_parameters(values, model.joint_names),
        time_step=values["time_step"],
        integrator=values["integrator"],
    )
