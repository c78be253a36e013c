"""Pushes, moves and commands a twin as its topics do; an arm of two joints that hangs."""

import numpy as np
import urdf_text
from cdr_messages import joint_state, wrench_stamped
from drive_settings import with_drives
from numpy.typing import ArrayLike

import featherstone_ros as fr
from featherstone_ros._twin import INPUTS
from featherstone_ros.message_faults import refusal
from featherstone_ros.simulation import SimulatorSettings, Twin

LIMIT = '<limit lower="{}" upper="{}" velocity="5" effort="{}"/>'
ARM = urdf_text.robot(
    urdf_text.link("base", None),
    urdf_text.link("upper", 2, "0 0 -0.3", (0.06, 0.06, 0.01)),
    urdf_text.link("lower", 1, "0 0 -0.2", (0.02, 0.02, 0.01)),
    urdf_text.link("tool", None),
    urdf_text.joint(
        "shoulder", "base", "upper", axis="0 1 0", xyz="0 0 0", inside=LIMIT.format(-3, 3, 40)
    ),
    urdf_text.joint(
        "elbow", "upper", "lower", axis="0 1 0", xyz="0 0 -0.6", inside=LIMIT.format(0.2, 2.5, 10)
    ),
    urdf_text.joint("flange", "lower", "tool", "fixed", xyz="0 0 -0.4"),
)
START = np.array([0.4, 0.7])


def make(model: fr.Model, own_commands=(), **settings) -> Twin:
    settings = with_drives(model, **{"initial_positions": START, **settings})
    return Twin(model, SimulatorSettings(**settings), own_commands=own_commands)


def send(twin: Twin, topic: str, message: bytes, now: float = 0.0) -> None:
    """Give the twin a message; a refusal is a ValueError."""
    _, records = twin.message(INPUTS[topic], message, round(now * 1e9))
    for _, index, _, value, _ in records:
        raise ValueError(refusal(index, value, twin.model.joint_names, twin.model.link_names)[1])


def apply_wrench(twin: Twin, link: str, wrench: ArrayLike) -> None:
    """Apply a wrench (6,) to a link, in its axes."""
    send(twin, "external_wrench", wrench_stamped(link, wrench))


def set_state(twin: Twin, q: ArrayLike, qd: ArrayLike = (), joints: ArrayLike = ()) -> None:
    """Move joints, by index; no index: all."""
    send(twin, "set_state", joint_state(named(twin, joints), q, qd))


def follow(
    twin: Twin,
    position: ArrayLike = (),
    velocity: ArrayLike = (),
    now: float = 0.0,
    effort: ArrayLike = (),
    joints: ArrayLike = (),
) -> None:
    """Have drives follow positions, velocities or efforts."""
    message = joint_state(named(twin, joints), position, velocity, effort)
    send(twin, "joint_commands", message, now)


def named(twin: Twin, joints: ArrayLike) -> list[str]:
    """Return the names of some joints, by index; of all for none."""
    return [twin.model.joint_names[j] for j in joints] or list(twin.model.joint_names)
