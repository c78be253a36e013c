"""The controller's parameters for modes cartesian_impedance and admittance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import possible_armature
from featherstone_ros.control.cartesian_impedance import (
    DAMPER_EDGE,
    DELAY_MARGIN,
    PHASE_MARGIN,
    CartesianSettings,
    Wall,
    box,
    damping_of,
    fastest_damper,
    min_delay_margin,
    one_pose,
    prepared,
    require_tip,
    sensor_poses,
    stiffest_contact,
    unsoftened,
)
from featherstone_ros.control.choices import Mode, Timing
from featherstone_ros.control.payload import payload_of
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.model import Model
from featherstone_ros.parameter import (
    Parameter,
    Value,
    of_length,
    parameters_of,
    per_joint,
    values_of,
)

WALL = 6  # numbers of one
BOX = 8
HALVES = (slice(0, 3), slice(3, 6))  # of a wrench


def in_groups(count: int, of: str) -> Callable[[list[float]], str | None]:
    """Return a check that a list has groups of ``count`` numbers; ``of`` says what they are."""
    return lambda values: f"expected {count} numbers per {of}" if len(values) % count else None


PARAMETERS = (
    *parameters_of(CartesianSettings),
    Parameter("tip", "", "link that modes cartesian_impedance and admittance move", read_only=True),
    Parameter(
        "tip_offset",
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        "pose of the end effector's frame in the tip's: x y z [m], quaternion x y z w",
        check=of_length(7),
        read_only=True,
    ),
    Parameter(
        "wrench_link",
        "",
        "link on which ~/wrench acts if its frame_id is no link's, as a driver's tool0_controller "
        "or an empty one; empty: such a wrench is refused",
        read_only=True,
    ),
    Parameter(
        "wrench_has_weight",
        True,
        "~/wrench contains the weight of the payload, as a sensor's does, not an estimate's",
    ),
    Parameter("limit_repulsion", True, "push the joints away from their stops"),
    Parameter(
        "walls",
        [],
        "walls for the end effector, 6 numbers each: normal x y z out of the wall, offset along it "
        "[m], stiffness [N/m], damping [N s/m]; base axes",
        check=in_groups(WALL, "wall: normal x y z, offset, stiffness, damping"),
        kind=float,
    ),
    Parameter(
        "boxes",
        [],
        "boxes that contain the end effector, 8 numbers each: lower x y z, upper x y z [m], "
        "stiffness [N/m], damping [N s/m]; base axes",
        check=in_groups(BOX, "box: lower x y z, upper x y z, stiffness, damping"),
        kind=float,
    ),
)


def joint_parameters(model: Model) -> Iterable[Parameter]:
    """Return the posture's parameters."""
    for joint in model.joint_names:
        yield Parameter(
            f"nullspace.posture.{joint}",
            [],
            "desired position in the null space [rad or m]; empty: the position when "
            "the mode begins",
            check=of_length(0, 1),
            kind=float,
        )


def tip_of(values: Mapping[str, Value], model: Model) -> str:
    """Return the link that the mode moves, empty for none."""
    tip = str(values["tip"])
    if tip:
        try:
            require_tip(model, tip)
        except UnknownNameError as error:
            raise ValueError(f"tip: {error}") from None
    if not tip and Mode(values["mode"]).leads_end_effector:
        raise ValueError(
            f"tip is empty: mode {values['mode']} needs a link; the links are "
            + ", ".join(model.link_names)
        )
    return tip


def offset_of(values: Mapping[str, Value]) -> Floats:
    """Return the end effector's frame in the tip's, (4, 4)."""
    return one_pose("tip_offset", values["tip_offset"])


def impedance(values: Mapping[str, Value], model: Model) -> dict[str, Any]:
    """Return ``ControllerSettings.impedance`` for a set of parameter values."""
    tip, mode = tip_of(values, model), Mode(values["mode"])
    offset_of(values)
    settings, delay = impedance_settings(values, model), Timing.of(values).latency
    if mode.has_spring and any(values["free_damping"]):
        # Unknown rotors count as large.
        armature = possible_armature(model, per_joint(values, "armature.{}", model.joint_names))
        rate = fastest_damper(model, tip, settings, armature)
        if rate * delay > DAMPER_EDGE:
            raise ValueError(
                f"free_damping is {list(values['free_damping'])}: with gains.delay plus half of "
                f"gains.period, {1e3 * delay:.2g} ms, the end effector swings up; "
                f"expected at most {DAMPER_EDGE / (rate * delay):.2g} times as much"
            )
    return prepared(
        settings, model, contact_delay=contact_delay(values) if mode.has_virtual_arm else None
    )


def impedance_settings(values: Mapping[str, Value], model: Model) -> CartesianSettings:
    """Return the law's settings for a set of parameter values."""
    posture = [values[f"nullspace.posture.{joint}"] or [np.nan] for joint in model.joint_names]
    walls = [
        Wall((x, y, z), offset, stiffness, damping)
        for x, y, z, offset, stiffness, damping in np.reshape(values["walls"], (-1, WALL)).tolist()
    ]
    for row in np.reshape(values["boxes"], (-1, BOX)).tolist():
        walls += box(row[:3], row[3:6], *row[6:])
    return CartesianSettings(
        posture=np.concatenate(posture),
        limit_margin=None if values["limit_repulsion"] else 0.0,
        delay=Timing.of(values).latency,
        walls=tuple(walls),
        **sensed_weight(values, model),
        **values_of(CartesianSettings, values),
    )


def sensed_weight(values: Mapping[str, Value], model: Model) -> dict[str, Any]:
    """Return the weight that a wrench contains: the payload's, if it is on the sensor's body."""
    _, load = payload_of(values)
    carrier, mass = str(load["link"]), load["mass"]
    if not (values["wrench_has_weight"] and mass):
        return {}
    poses = sensor_poses(model, str(values["tip"]), offset_of(values))
    if carrier not in poses:
        return {}
    at = poses[carrier] @ np.append(np.asarray(load["com"], float), 1.0)
    return {"weight": mass * np.asarray(values["gravity"], float), "weight_at": at[:3]}


def contact_margin(values: Mapping[str, Value], settings: ControllerSettings) -> str:
    """Return in one line what contact mode admittance bears; empty in other modes."""
    if not settings.mode.has_virtual_arm or settings.impedance is None:
        return ""
    delay, law = contact_delay(values), settings.impedance
    inertia, damping = law["shaped_inertia"], damping_of(law)
    edge = [min(map(stiffest_contact, inertia[a], damping[a], [delay] * 3)) for a in HALVES]
    force, moment = (float(damping[a].max()) for a in HALVES)
    stiff = values["contact_stiffness"]
    return (
        f"contacts of {stiff[0]:g} N/m and {stiff[1]:g} N m/rad have a phase margin of at least "
        f"{np.degrees(PHASE_MARGIN):.0f} deg with a delay of {1e3 * delay:.3g} ms; the edge of "
        f"stability is at {edge[0]:.2g} N/m and {edge[1]:.2g} N m/rad; damping {force:.3g} N s/m "
        f"and {moment:.3g} N m s/rad"
    )


def contact_delay(values: Mapping[str, Value]) -> float:
    """Return the time from a wrench to the middle of the period that answers it [s]."""
    return values["contact_delay"] + 0.5 * values["gains.period"]


def without_delay_margin(values: Mapping[str, Value], model: Model) -> str:
    """Return in one line why the end effector may oscillate; empty if it is stable."""
    if not Mode(values["mode"]).has_spring:
        return ""
    armature = per_joint(values, "armature.{}", model.joint_names)
    settings = impedance_settings(values, model)
    margin = min_delay_margin(model, tip_of(values, model), settings, armature)
    delay = Timing.of(values).latency
    if DELAY_MARGIN * delay <= margin:
        return ""
    share = (margin / (DELAY_MARGIN * delay)) ** 2
    return (
        f"stiffness: the end effector is softer in some postures, where it would oscillate "
        f"with a delay of {1e3 * margin:.2g} ms; gains.delay plus half of gains.period is "
        f"{1e3 * delay:.2g} ms; {unsoftened(model.joint_names, armature)}; {share:.2g} times the "
        "stiffness is kept everywhere"
    )
