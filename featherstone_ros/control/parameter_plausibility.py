"""Implausible parameters: values that were probably meant in another unit are refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featherstone_ros.control.payload import inertia_matrix, vector
from featherstone_ros.model import Model
from featherstone_ros.model.inertia_rules import COARSE, moments_text

LEAST_REACH = 1.0  # [m] that a payload may extend on any arm, even a small one
SLOWEST_TORQUE = 0.5  # [s] in which a command must reach the effort limit: a push is then braked
SLOWEST_ROTOR = 30.0  # [s] in which the effort limit must bring a drive alone to its speed limit
ANY_RATE, ANY_ARMATURE = 1e-3, 1e4  # [N m/s], [kg m^2]: bounds where the arm has no limits


def check_plausible(values: Mapping[str, Any], model: Model) -> None:
    """Check parameter values against bounds from the arm's own data.

    Args:
        values: Of ``payload.mass``, ``.com`` and ``.inertia``, and of ``torque_rate.<joint>`` and
            ``armature.<joint>``, as far as they are there.
        model: The arm.

    Raises:
        ValueError: With the parameter's name, its value and what was expected.
    """
    if values.get("payload.mass"):
        check_payload(values, reach(model))
    for index, joint in enumerate(model.joint_names):
        effort, speed = model.effort_limit[index], model.velocity_limit[index]
        check_torque_rate(f"torque_rate.{joint}", values, float(effort))
        check_armature(f"armature.{joint}", values, float(effort), float(speed))


def reach(model: Model) -> float:
    """Return an upper bound of the arm's reach: the sum of its joints' offsets [m].

    Prismatic joints count with their stroke as far as it is limited.
    """
    tree = model.tree
    slides = np.array([kind == "prismatic" for kind in model.joint_types])
    stroke = np.maximum(np.abs(model.lower), np.abs(model.upper))
    return float(
        np.linalg.norm(tree.translation, axis=1).sum()
        + np.linalg.norm(tree.link_translation, axis=1).max(initial=0.0)
        + stroke[slides & np.isfinite(stroke)].sum()
    )


def check_payload(values: Mapping[str, Any], arm: float) -> None:
    """Check that a payload is a body, and no larger than the arm that carries it.

    Args:
        values: ``payload.mass`` > 0, ``payload.com`` and ``payload.inertia``.
        arm: The arm's reach [m].

    Raises:
        ValueError: It is not.
    """
    longest = max(arm, LEAST_REACH)
    com = vector(values, "payload.com", 3)
    distance = float(np.linalg.norm(com))
    if distance > longest:
        raise ValueError(
            f"payload.com is {com.tolist()}: {distance:.4g} m from the link, expected at most "
            f"{longest:.3g} m, the reach of the arm (metres, not millimetres?)"
        )
    moments = np.linalg.eigvalsh(inertia_matrix(values))
    if moments[2] - moments[1] - moments[0] > COARSE * moments.sum():
        raise ValueError(
            f"payload.inertia has the principal moments {moments_text(moments)} kg m^2, expected "
            "none greater than the sum of the others: no body has such an inertia"
        )
    # The moments about the centre of mass add up to twice the integral of r^2 dm.
    mass = float(values["payload.mass"])
    radius = float(np.sqrt(max(moments.sum(), 0.0) / (2.0 * mass)))
    if radius > longest:
        raise ValueError(
            f"payload.inertia has the principal moments {moments_text(moments)} kg m^2: the "
            f"{mass:.4g} kg would be {radius:.4g} m from their centre, expected at most "
            f"{longest:.3g} m, the reach of the arm"
        )


def check_torque_rate(name: str, values: Mapping[str, Any], effort: float) -> None:
    """Check that a command can follow the arm's weight, given the effort limit [N m or N].

    Raises:
        ValueError: It cannot.
    """
    if name not in values:
        return
    limited = np.isfinite(effort) and effort > 0.0
    least = effort / SLOWEST_TORQUE if limited else ANY_RATE
    if values[name] < least:
        raise ValueError(
            f"{name} is {values[name]:g}, expected at least {least:.3g}: "
            + (
                f"to the effort limit of {effort:g} within {SLOWEST_TORQUE:g} s"
                if limited
                else "less is no control"
            )
        )


def check_armature(name: str, values: Mapping[str, Any], effort: float, speed: float) -> None:
    """Check that a drive can move its own rotor.

    Args:
        name: The parameter's.
        values: Armatures [kg m^2 or kg].
        effort: The joint's effort limit [N m or N].
        speed: The joint's velocity limit [rad/s or m/s].

    Raises:
        ValueError: It cannot.
    """
    if name not in values:
        return
    limited = np.isfinite(effort) and np.isfinite(speed) and effort > 0.0 and speed > 0.0
    most = effort / speed * SLOWEST_ROTOR if limited else ANY_ARMATURE
    if values[name] > most:
        raise ValueError(
            f"{name} is {values[name]:g}, expected at most {most:.3g}: "
            + (
                f"with its effort limit of {effort:g} a drive would take longer than "
                f"{SLOWEST_ROTOR:g} s to its speed limit of {speed:g}"
                if limited
                else "no drive has more"
            )
        )
