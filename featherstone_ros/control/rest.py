"""Whether an arm stood when its commands ended, judged by what was heard of it last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featherstone_ros import _control
from featherstone_ros.model import Model


class LastMotion(NamedTuple):
    """The motion in the last joint state."""

    text: str  # the joints that moved with their speeds, fastest first; empty: all stood
    age: float  # of the state [s]


def last_motion(controller: _control.CompiledController, model: Model, now: float) -> LastMotion:
    """Return the motion in the last complete joint state, also if it was refused.

    A refused one may show a joint that is too fast to be believed. The controller's loop has ended.
    """
    speed = np.abs(controller.qd)
    if controller.rejection[0]:
        seen = np.abs(controller.heard_qd)
        speed = np.where(np.isnan(seen), speed, seen)
    moving = np.flatnonzero(speed > controller.standing_speed)
    text = ", ".join(
        f"{model.joint_names[i]} at {speed[i]:.3g} "
        + ("m/s" if model.joint_types[i] == "prismatic" else "rad/s")
        for i in moving[np.argsort(-speed[moving])]
    )
    return LastMotion(text, now - controller.heard)
