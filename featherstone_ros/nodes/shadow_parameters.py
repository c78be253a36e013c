"""Parameters of the digital twin's mode ``shadow``, and the settings made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from featherstone_ros.model import Model
from featherstone_ros.nodes import payload_service
from featherstone_ros.nodes.parameters import Setting, Value, default_of, number, per_joint
from featherstone_ros.observer import ShadowSettings
from featherstone_ros.observer.effort_contract import CONTRACTS
from featherstone_ros.observer.settings import EFFORT_SOURCES, default_threshold

SETTINGS = (
    Setting(
        "prediction_horizon",
        ShadowSettings.prediction_horizon,
        "time from the measured state to ~/predicted_joint_states [s]",
        0.0,
        1.0,
    ),
    Setting(
        "prediction_effort",
        ShadowSettings.prediction_effort,
        "torque assumed for the prediction: measured, or the last one on ~/commands",
        choices=EFFORT_SOURCES,
    ),
    Setting(
        "effort_contract",
        ShadowSettings.effort_contract,
        "meaning of effort in joint_states: full joint torque, without the gravity torque that the "
        "drives add, without friction (a sensor behind the gears), or motor current",
        choices=CONTRACTS,
    ),
    Setting(
        "sliding_speed",
        ShadowSettings.sliding_speed,
        "speed at which full Coulomb friction is assumed [rad/s or m/s]",
        1e-6,
        1.0,
    ),
    Setting(
        "wrench_link",
        "",
        "link on which an external wrench is estimated; empty: the last joint's link",
    ),
    Setting(
        "wrench_damping",
        ShadowSettings.wrench_damping,
        "damping of the Jacobian's pseudo-inverse: singular values below it are not trusted",
        1e-6,
        1.0,
    ),
    Setting(
        "max_gap",
        ShadowSettings.max_gap,
        "longest time between successive joint states [s]; after that the observer restarts",
        1e-3,
        10.0,
    ),
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
        prediction_horizon=number(values, "prediction_horizon"),
        prediction_effort=str(values["prediction_effort"]),
        time_step=number(values, "time_step"),
        integrator=str(values["integrator"]),
        viscous=of_joints("friction.{}.viscous"),
        coulomb=of_joints("friction.{}.coulomb"),
        offset=of_joints("friction.{}.offset"),
        armature=of_joints("armature.{}"),
        sliding_speed=number(values, "sliding_speed"),
        observer_gain=of_joints("observer_gain.{}"),
        effort_contract=str(values["effort_contract"]),
        effort_gain=of_joints("effort_gain.{}"),
        wrench_link=str(values["wrench_link"]),
        wrench_damping=number(values, "wrench_damping"),
        contact_threshold=of_joints("contact.{}.threshold"),
        contact_hysteresis=of_joints("contact.{}.hysteresis"),
        max_gap=number(values, "max_gap"),
    )
