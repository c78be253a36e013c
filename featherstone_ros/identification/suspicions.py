"""Signs that the recorded effort is not joint torque with gravity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.friction import fit
from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import ANOTHER_UNIT, IN_PROPORTION

MIN_SHARE = 0.2  # of a joint's effort that friction and its drive's inertia do not explain
MIN_CORRELATION = 0.9  # from which a factor of measured to predicted torque is meaningful
DEGREES = 1.5  # times the position limit
TOO_FAST = 3.0  # times the speed limit
LIKELIER = 0.25  # residual share of the squares that makes another reading likelier


def suspicions(
    joints: Sequence[str], motion: SmoothMotion, rigid: Floats, gravity: Floats
) -> list[str]:
    """Say what the effort seems to be instead of torque.

    ``motion``: of these joints, with their effort (N, n). ``rigid`` (N, n) torque predicted
    [N m or N]. ``gravity`` (N, n) gravity's part of it.
    """
    measured, rigid, gravity = without_friction(motion, motion.effort, rigid, gravity)
    telling = measured.std(axis=0) > MIN_SHARE * motion.effort.std(axis=0)
    without = squares(measured - rigid + gravity)
    scaled = squares(_scaled(measured, rigid))
    another_unit = scaled < min(without, IN_PROPORTION * squares(measured))
    if without < LIKELIER * squares(measured - rigid) and not another_unit:
        return [
            "The torque is explained better without gravity: does the driver report effort "
            "without it, or is --gravity another one?"
        ]
    notes = []
    for k in np.flatnonzero(telling & (rigid.std(axis=0) > 0)).tolist():
        joint, m, p = joints[k], measured[:, k], rigid[:, k]
        if abs(np.corrcoef(m, p)[0, 1]) < MIN_CORRELATION:
            continue
        factor = float(m @ p / (p @ p))
        if factor < 0:
            notes.append(f"{joint}: measured torque has the opposite sign of predicted torque.")
        elif not ANOTHER_UNIT[0] < factor < ANOTHER_UNIT[1]:
            notes.append(
                f"{joint}: measured torque is {factor:.2g} times that predicted: another unit, a "
                "motor's torque or current (--current-gain), or another load?"
            )
    return notes


def without_friction(motion: SmoothMotion, *torques: Floats) -> list[Floats]:
    """Return torques (N, n) minus the best fit of friction, drive inertia and offset."""
    return [torque - fit(motion, torque, armature=True).torque(motion) for torque in torques]


def _scaled(measured: Floats, rigid: Floats) -> Floats:
    """Return the residual (N, n) if every joint's effort is torque in a unit of its own."""
    factors = (measured * rigid).sum(axis=0) / np.maximum((rigid**2).sum(axis=0), 1e-300)
    return measured - np.maximum(factors, 0.0) * rigid


def motion_suspicions(model: Model, position: Floats, velocity: Floats | None) -> list[str]:
    """Say which unit positions and velocities seem to have, if not rad and m.

    ``position`` (N, n) as recorded. ``velocity`` (N, n) likewise, if any.
    """
    j = degrees_suspected(model, position)
    if j is not None:
        low, high = position[:, j].min(), position[:, j].max()
        return [
            f"{model.joint_names[j]}: positions from {low:.4g} to {high:.4g}, limits from "
            f"{model.lower[j]:.3g} to {model.upper[j]:.3g} rad: degrees, or another zero?"
        ]
    if velocity is None:
        return []
    fastest = np.abs(velocity).max(axis=0)
    too_fast = fastest > TOO_FAST * model.velocity_limit
    return [
        f"{name}: speeds up to {speed:.3g}, the limit is {limit:.3g}: another unit?"
        for name, speed, limit, odd in zip(
            model.joint_names, fastest, model.velocity_limit, too_fast, strict=True
        )
        if odd
    ]


def degrees_suspected(model: Model, position: Floats) -> int | None:
    """Return a revolute joint whose positions (N, n) go far beyond its limits, or None."""
    for j, kind in enumerate(model.joint_types):
        if kind != "revolute" or not np.isfinite(model.upper[j] - model.lower[j]):
            continue
        allowed = max(abs(model.lower[j]), abs(model.upper[j]))
        if np.abs(position[:, j]).max() > max(DEGREES * allowed, allowed + 1.0):
            return j
    return None


def squares(values: Floats) -> float:
    """Return the sum of squares."""
    return float((values**2).sum())
