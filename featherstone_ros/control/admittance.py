"""What mode admittance needs to know of contact and sensor, without ROS.

The law is ``cython_core/control/cartesian_mode.pxd``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import cos, hypot, inf, pi, sin, sqrt, tan

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros._control import VIRTUAL_STEP
from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import CartesianSettings, broadcast
from featherstone_ros.model import Model

PHASE_MARGIN = pi / 3  # of the loop of a contact
OF_DAMPING = ("stiffness", "shaped_inertia", "damping_ratio", "damping", "min_damping")


def contact_damping(stiffness: float, inertia: float, delay: float) -> float:
    """Return the least damping [N s/m, N m s/rad] of a mass that is pressed on something stiff.

    The measured force k x [N/m, N m/rad], late by T [s], moves the mass M: the loop is k exp(-s T)
    / (s (M s + D)). Its phase margin is to be ``PHASE_MARGIN``; at the crossover frequency w that
    leaves a lag of atan(M w / D) + w T, and there k = w |M w i + D|.
    """
    lag = pi / 2 - PHASE_MARGIN
    bound = min(sqrt(stiffness / inertia * sin(lag)), lag / delay if delay > 0.0 else inf)
    w = bisect(lambda w: inertia * w * w - stiffness * sin(lag - w * delay), bound)
    return inertia * w / tan(lag - w * delay) if w > 0.0 else 0.0


def stiffest_contact(inertia: float, damping: float, delay: float) -> float:
    """Return the stiffness at which a contact is at the edge of stability, inf without delay.

    Units and equations are those of ``contact_damping``.
    """
    if delay == 0.0:
        return inf
    w = bisect(lambda w: inertia * w * sin(w * delay) - damping * cos(w * delay), pi / (2 * delay))
    return w * hypot(inertia * w, damping)


def bisect(rising: Callable[[float], float], bound: float) -> float:
    """Return where a rising function is zero between 0 and ``bound``."""
    low, high = 0.0, bound
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if rising(middle) < 0.0 else (low, middle)
    return low


def virtual_settings(settings: CartesianSettings, delay: float) -> CartesianSettings:
    """Return the settings of the law that moves the virtual arm of mode admittance.

    ``delay``: from a wrench to the motion that answers it [s].
    """
    law = {name: broadcast(name, getattr(settings, name), 6) for name in OF_DAMPING}
    inertia, stiffness = law["shaped_inertia"], law["stiffness"]
    contact = np.repeat(broadcast("contact_stiffness", settings.contact_stiffness, 2), 3)
    minimum = [contact_damping(k, m, delay) for k, m in zip(contact, inertia, strict=True)]
    damping = damping_of(law | {"min_damping": np.array(minimum)})
    walls = np.repeat([sum(wall.stiffness for wall in settings.walls), 0.0], 3)
    needed = np.maximum(damping * VIRTUAL_STEP, (stiffness + walls) * VIRTUAL_STEP**2)
    for axis in np.flatnonzero(inertia < needed):
        raise ValueError(
            f"shaped_inertia of axis {axis} is {inertia[axis]:g}, expected at least "
            f"{needed[axis]:.3g}: the damping for contact_stiffness and contact_delay is "
            f"{damping[axis]:.3g}"
        )
    for axis in np.flatnonzero(damping == 0.0):
        raise ValueError(
            f"axis {axis} has no damping and would never stop: expected free_damping, "
            "contact_stiffness, or stiffness with damping_ratio other than 0"
        )
    return replace(settings, inertia_shaping=True, delay=0.0, min_damping=tuple(minimum))


def damping_of(law: Mapping[str, Floats]) -> Floats:
    """Return the damping (6,) of each axis with shaped inertia, by ``OF_DAMPING`` (6,) each."""
    stiffness, inertia, ratio, more, minimum = (law[name] for name in OF_DAMPING)
    return np.maximum(2.0 * ratio * np.sqrt(stiffness * inertia) + more, minimum)


def sensor_poses(model: Model, tip: str, offset: Floats) -> dict[str, Floats]:
    """Return the links that move as one with the end effector: a wrench may be measured on them.

    By name, with their poses (4, 4) in its frame; ``offset``: (4, 4) of that in the tip's.
    """
    if not tip:
        return {}
    dynamics, q, body = Dynamics(model), np.zeros(model.n), model.tree.link_body
    mine = body[model.link_names.index(tip)]
    to_tip = np.linalg.inv(dynamics.link_pose(q, tip) @ offset)
    return {
        link: to_tip @ dynamics.link_pose(q, link)
        for link, its in zip(model.link_names, body, strict=True)
        if its == mine
    }
