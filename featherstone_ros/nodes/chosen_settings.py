"""What the controller chooses from the model where nothing is set, as lines of its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import compress

import numpy as np

from featherstone_ros.control.gains import UNCERTAIN
from featherstone_ros.model import Model
from featherstone_ros.nodes.controller_parameters import (
    chosen_damping,
    chosen_gains,
    follows_drives,
    friction_error,
    without_set_gains,
)
from featherstone_ros.nodes.parameters import Value


def chosen_texts(values: Mapping[str, Value], model: Model) -> Iterator[str]:
    """Yield what was chosen that a user may want to know.

    Args:
        values: Of all parameters, which fit together.
        model: The arm.
    """
    names = model.joint_names
    gains = chosen_gains(values, model)
    taken = list(compress(names, without_set_gains(values, model)))
    if gains is not None and taken:
        whose = "" if len(taken) == len(names) else f" of {', '.join(taken)}"
        slow = ", ".join(f"{joint} {w:.2g}" for joint, w in gains.reduced.items())
        yield (
            f"gains{whose} chosen from the model for {values['gains.bandwidth']:g} rad/s"
            + (f"; less where gains.period and gains.delay allow no more: {slow}" if slow else "")
            + _effect_of_friction(values, model)
        )
    if follows_drives(values):
        return
    damping = chosen_damping(values, model)
    less = ", ".join(
        f"{name} {value:.2g} instead of {wanted:.2g}"
        for name, value, wanted in zip(names, damping.value, damping.wanted, strict=True)
        if value < wanted and values[f"damping.{name}"] == 0.0
    )
    if less:
        yield f"damping of the gravity hold that {damping.timing} and state_timeout allow: {less}"


def _effect_of_friction(values: Mapping[str, Value], model: Model) -> str:
    error = friction_error(values, model)
    worst = int(np.argmax(error))
    if not error[worst] > 0.0:
        return ""
    unit = "mm" if model.joint_types[worst] == "prismatic" else "mrad"
    return (
        f"; friction that is {100 * UNCERTAIN:g} % wrong leaves up to "
        f"{1e3 * error[worst]:.2g} {unit} ({model.joint_names[worst]})"
    )
