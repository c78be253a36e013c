"""Parameters of the digital twin's mode ``shadow``, and the settings made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from featherstone_ros.declaration import per_joint
from featherstone_ros.model import Model
from featherstone_ros.nodes import payload_service
from featherstone_ros.nodes.declared_parameters import settings_of, values_of
from featherstone_ros.nodes.drive_parameters import drives_of
from featherstone_ros.nodes.parameters import Setting, Value, default_of
from featherstone_ros.observer import ShadowSettings
from featherstone_ros.observer.settings import default_threshold

SETTINGS = (
    *settings_of(ShadowSettings),
    *payload_service.SETTINGS,
)


def joint_settings(model: Model) -> Iterable[Setting]:
    """Return the observer's gain, the effort's gain and the contact threshold of every joint."""
    for joint, threshold in zip(model.joint_names, default_threshold(model), strict=True):
        yield from (
            Setting(
                f"observer_gain.{joint}",
                default_of(ShadowSettings.observer_gain),
                "gain of the momentum observer [1/s]: the inverse of its time constant",
                0.1,
                1000.0,
            ),
            Setting(
                f"effort_gain.{joint}",
                default_of(ShadowSettings.effort_gain),
                "joint torque per unit of effort, under effort_contract motor_current",
                check=nonzero,
            ),
            Setting(
                f"contact.{joint}.threshold",
                float(threshold),
                "external torque above which there is contact [N m or N]",
                0.0,
            ),
            Setting(
                f"contact.{joint}.hysteresis",
                default_of(ShadowSettings.contact_hysteresis),
                "share of the threshold by which the torque must fall below it to end a contact",
                0.0,
                1.0,
            ),
        )


def nonzero(value: float) -> str | None:
    """Say why a gain is refused."""
    return None if value else "expected a gain other than 0"


def shadow_settings(values: Mapping[str, Value], model: Model) -> ShadowSettings:
    """Return a shadow's settings from the node's parameters."""
    of_joints = partial(per_joint, values, joints=model.joint_names)
    return ShadowSettings(
        **values_of(ShadowSettings, values),
        time_step=values["time_step"],
        integrator=str(values["integrator"]),
        **drives_of(values, model),
        observer_gain=of_joints("observer_gain.{}"),
        effort_gain=of_joints("effort_gain.{}"),
        contact_threshold=of_joints("contact.{}.threshold"),
        contact_hysteresis=of_joints("contact.{}.hysteresis"),
    )
