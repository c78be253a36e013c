"""Joints of the description that are not moved here, though perhaps by somebody else.

A lift, a torso, the other arm, a gripper: they stand where ``joint_states`` says, else where their
parameter says, else where their range is nearest to 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model.model import Model
from featherstone_ros.parameter import Parameter

NAME = "locked.{}"


def locked_parameters(model: Model) -> Iterator[Parameter]:
    """Yield the parameter of each locked joint."""
    low, high, _ = model.locked_ranges.tolist()
    for k, joint in enumerate(model.locked_joints):
        yield Parameter(
            NAME.format(joint),
            float(model.locked[joint]),
            "where this joint stands, which is not among joints, as long as joint_states does not "
            "tell [rad or m]",
            low[k],
            high[k],
        )


def locked_positions(values: Mapping[str, object], model: Model) -> dict[str, float]:
    """Return where the parameters have the locked joints, as far as there are parameters."""
    names = {joint: NAME.format(joint) for joint in model.locked_joints}
    return {joint: float(values[name]) for joint, name in names.items() if name in values}  # type: ignore[arg-type]


def relevant_joints(model: Model) -> list[str]:
    """Return the locked joints whose position matters to those that move."""
    followed = {joint.joint for joint in model.following().tree.followed}
    return [joint for k, joint in enumerate(model.locked_joints) if k in followed]


def standing(model: Model, at: Floats, heard: Floats, joints: Iterable[str]) -> dict[str, str]:
    """Return where some locked joints are taken to stand, and who says so.

    ``at`` (m,) where they are taken to stand [rad or m]. ``heard`` (m,) where joint states have
    them, NaN where they say nothing.
    """
    index = {joint: k for k, joint in enumerate(model.locked_joints)}
    return {
        joint: f"{at[k]:.4g}, as "
        + (NAME.format(joint) if np.isnan(heard[k]) else "joint_states")
        + " says"
        for joint in joints
        for k in [index[joint]]
    }


def absurd_text(joint: str, position: float, low: float, high: float) -> str:
    """Return the text for a position of a locked joint that is not believed."""
    return (
        f"joint_states has {joint!r}, which is not among joints, at {position:.4g}, expected "
        f"{low:.4g} to {high:.4g} rad or m: ignored, it is taken to stand where it was"
    )
