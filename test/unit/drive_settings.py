"""Drives from loose values: settings of a twin or shadow, parameters of a controller."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.parameter import of_joints

NAMES = [field.name for field in fields(Drives)]


def with_drives(model: Model, **settings: Any) -> dict[str, Any]:
    """Return settings of which those of drives are one; the others of these are the model's."""
    own = {name: settings.pop(name) for name in NAMES if name in settings}
    return {"drives": Drives.of_model(model, **own), **settings}


def parameters_of(
    joints: Sequence[str],
    armature: ArrayLike = 0.0,
    viscous: ArrayLike = 0.0,
    coulomb: ArrayLike = 0.0,
) -> dict[str, Any]:
    """Return the controller's parameters by which it knows such drives, each (n,) or a number."""
    terms = {"armature.{}": armature}
    terms |= {"friction.{}.viscous": viscous, "friction.{}.coulomb": coulomb}
    known: dict[str, Any] = {}
    for pattern, values in terms.items():
        known |= of_joints(pattern, joints, np.broadcast_to(values, len(joints)))
    return known
