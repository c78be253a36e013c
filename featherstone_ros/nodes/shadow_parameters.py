"""Parameters of the digital twin's mode ``shadow``, and the settings made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from featherstone_ros.control.drive_parameters import drives_of
from featherstone_ros.model import Model
from featherstone_ros.nodes import payload_service
from featherstone_ros.observer import ShadowSettings
from featherstone_ros.observer.settings import default_threshold
from featherstone_ros.parameter import (
    Parameter,
    Value,
    joint_parameters_of,
    parameters_of,
    values_of,
)

PARAMETERS = (
    *parameters_of(ShadowSettings),
    *payload_service.PARAMETERS,
)


def joint_parameters(model: Model) -> Iterable[Parameter]:
    """Return the observer's gain, the effort's gain and the contact threshold of every joint."""
    for joint, threshold in zip(model.joint_names, default_threshold(model), strict=True):
        yield from joint_parameters_of(ShadowSettings, joint, contact_threshold=threshold)


def shadow_settings(values: Mapping[str, Value], model: Model) -> ShadowSettings:
    """Return a shadow's settings from the node's parameters."""
    return ShadowSettings(
        **values_of(ShadowSettings, values, model.joint_names),
        **drives_of(values, model),
        time_step=values["time_step"],
        integrator=values["integrator"],
    )
