"""The controller's parameters for mode cartesian_impedance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import (
    DELAY_MARGIN,
    CartesianSettings,
    Wall,
    box,
    min_delay_margin,
    one_pose,
    prepared,
)
from featherstone_ros.control.settings import Mode
from featherstone_ros.declaration import per_joint
from featherstone_ros.model import Model
from featherstone_ros.nodes.declared_parameters import settings_of, values_of
from featherstone_ros.nodes.parameters import Setting, Value, of_length

WALL = 6  # numbers of one
BOX = 8


def in_groups(count: int, of: str) -> Callable[[list[float]], str | None]:
    """Return a check that a list has groups of ``count`` numbers; ``of`` says what they are."""
    return lambda values: f"expected {count} numbers per {of}" if len(values) % count else None


SETTINGS = (
    *settings_of(CartesianSettings),
    Setting("tip", "", "link that mode cartesian_impedance moves", read_only=True),
    Setting(
        "tip_offset",
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        "pose of the end effector's frame in the tip's: x y z [m], quaternion x y z w",
        check=of_length(7),
        read_only=True,
    ),
    Setting("limit_repulsion", True, "push the joints away from their stops"),
    Setting(
        "walls",
        [],
        "walls for the end effector, 6 numbers each: normal x y z out of the wall, offset along it "
        "[m], stiffness [N/m], damping [N s/m]; base axes",
        check=in_groups(WALL, "wall: normal x y z, offset, stiffness, damping"),
        kind=float,
    ),
    Setting(
        "boxes",
        [],
        "boxes that contain the end effector, 8 numbers each: lower x y z, upper x y z [m], "
        "stiffness [N/m], damping [N s/m]; base axes",
        check=in_groups(BOX, "box: lower x y z, upper x y z, stiffness, damping"),
        kind=float,
    ),
)


def joint_settings(model: Model) -> Iterable[Setting]:
    """Return the posture's parameters."""
    for joint in model.joint_names:
        yield Setting(
            f"nullspace.posture.{joint}",
            [],
            "desired position in the null space [rad or m]; empty: the position when "
            "the mode begins",
            check=of_length(0, 1),
            kind=float,
        )


def tip_of(values: Mapping[str, Value], model: Model) -> str:
    """Return the link that the mode moves, empty for none.

    Raises:
        ValueError: The model has no such link, or the mode needs one.
    """
    tip = str(values["tip"])
    if tip and tip not in model.link_names:
        raise ValueError(f"tip is {tip!r}; the links are {', '.join(model.link_names)}")
    if not tip and Mode(values["mode"]) is Mode.CARTESIAN_IMPEDANCE:
        raise ValueError(
            "tip is empty: mode cartesian_impedance needs a link; the links are "
            + ", ".join(model.link_names)
        )
    return tip


def offset_of(values: Mapping[str, Value]) -> Floats:
    """Return the end effector's frame in the tip's, (4, 4).

    Raises:
        ValueError: It is not a pose.
    """
    return one_pose("tip_offset", values["tip_offset"])


def impedance(values: Mapping[str, Value], model: Model) -> dict[str, Any]:
    """Return ``Settings.impedance`` for a set of parameter values.

    Raises:
        ValueError: They do not fit together.
    """
    tip_of(values, model)
    offset_of(values)
    return prepared(impedance_settings(values, model), model)


def impedance_settings(values: Mapping[str, Value], model: Model) -> CartesianSettings:
    """Return the law's settings for a set of parameter values.

    Raises:
        ValueError: A box has no inside.
    """
    posture = [values[f"nullspace.posture.{joint}"] or [np.nan] for joint in model.joint_names]
    walls = [
        Wall((x, y, z), offset, stiffness, damping)
        for x, y, z, offset, stiffness, damping in rows(values["walls"], WALL)
    ]
    for row in rows(values["boxes"], BOX):
        walls += box(row[:3], row[3:6], *row[6:])
    return CartesianSettings(
        posture=np.concatenate(posture),
        limit_margin=None if values["limit_repulsion"] else 0.0,
        delay=latency(values),
        walls=tuple(walls),
        **values_of(CartesianSettings, values),
    )


def without_delay_margin(values: Mapping[str, Value], model: Model) -> str:
    """Return in one line why the end effector may oscillate; empty if it is stable."""
    if Mode(values["mode"]) is not Mode.CARTESIAN_IMPEDANCE:
        return ""
    armature = per_joint(values, "armature.{}", model.joint_names)
    settings = impedance_settings(values, model)
    margin = min_delay_margin(model, tip_of(values, model), settings, armature)
    delay = latency(values)
    if DELAY_MARGIN * delay <= margin:
        return ""
    share = (margin / (DELAY_MARGIN * delay)) ** 2
    return (
        f"stiffness: the hand is softer in some postures, where it would oscillate with a delay of "
        f"{1e3 * margin:.2g} ms; gains.delay plus half of gains.period is {1e3 * delay:.2g} ms; "
        f"{share:.2g} times the stiffness is kept everywhere"
    )


def latency(values: Mapping[str, Value]) -> float:
    """Return the time from a state to the middle of its torque's [s]."""
    return values["gains.delay"] + 0.5 * values["gains.period"]


def rows(values: list[float], count: int) -> Floats:
    """Return a list of numbers as rows of ``count``."""
    return np.reshape(np.asarray(values, float), (-1, count))
