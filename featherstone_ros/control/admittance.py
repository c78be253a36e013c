"""What mode admittance needs to know of contact and sensor, without ROS.

The law is ``cython_core/control/admittance.pxd``.
"""

from __future__ import annotations

from dataclasses import replace
from math import atan, inf, pi, sqrt, tan

import numpy as np
from scipy.optimize import brentq

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import CartesianSettings, spread
from featherstone_ros.model import Model

PHASE_MARGIN = pi / 3  # of the loop of a contact
FASTEST = 1000.0  # [1/s] rate of a virtual arm: one over VIRTUAL_STEP of admittance.pxd


def contact_damping(stiffness: float, inertia: float, delay: float) -> float:
    """Return the least damping of a mass that is pressed against something stiff.

    The measured force k x, late by a delay T, moves the mass: the loop is k exp(-s T) / (s (M s +
    D)). Its phase margin is ``PHASE_MARGIN``.

    Args:
        stiffness: Of the contact, k [N/m] or [N m/rad].
        inertia: M [kg] or [kg m^2].
        delay: T [s].

    Returns:
        D [N s/m] or [N m s/rad].
    """
    if stiffness == 0.0:
        return 0.0
    lag = pi / 2 - PHASE_MARGIN  # of M s + D and the delay, at the crossover frequency w

    def damping(w: float) -> float:
        return inertia * w / tan(lag - w * delay)

    # Without delay the crossover is where k = w |M w i + D|; a delay only lowers it.
    fastest = sqrt(stiffness / inertia * np.sin(lag))
    fastest = min(fastest, (1.0 - 1e-9) * lag / delay) if delay > 0.0 else fastest

    def missing(w: float) -> float:
        return w * float(np.hypot(inertia * w, damping(w))) - stiffness

    return damping(fastest if missing(fastest) <= 0.0 else brentq(missing, 0.0, fastest))


def stiffest_contact(inertia: float, damping: float, delay: float) -> float:
    """Return the stiffness at which a contact is at the edge of stability; see ``contact_damping``.

    Args:
        inertia: [kg] or [kg m^2].
        damping: [N s/m] or [N m s/rad].
        delay: [s].

    Returns:
        [N/m] or [N m/rad], inf without delay.
    """
    if delay == 0.0:
        return inf
    w = brentq(
        lambda w: atan(inertia * w / damping) + w * delay - pi / 2 if damping else w * delay,
        0.0,
        pi / (2 * delay),
    )
    return float(w * np.hypot(inertia * w, damping))


def virtual_settings(settings: CartesianSettings, delay: float) -> CartesianSettings:
    """Return the settings of the law that moves the virtual arm of mode admittance.

    Args:
        settings: Those of the end effector.
        delay: From a wrench to the motion that answers it [s].

    Raises:
        ValueError: The inertia is too small for the damping or a stiffness (named).
    """
    inertia = spread("shaped_inertia", settings.shaped_inertia, 6)
    damping = spread("damping", settings.damping, 6)
    stiffness = spread("stiffness", settings.stiffness, 6)
    contact = np.repeat(spread("contact_stiffness", settings.contact_stiffness, 2), 3)
    own = 2.0 * spread("damping_ratio", settings.damping_ratio, 6) * np.sqrt(stiffness * inertia)
    least = np.array([contact_damping(k, m, delay) for k, m in zip(contact, inertia, strict=True)])
    damping = np.maximum(damping, least - own)
    stiffness[:3] += sum(wall.stiffness for wall in settings.walls)
    needed = np.maximum((damping + own) / FASTEST, stiffness / FASTEST**2)
    for axis in np.flatnonzero(inertia < needed):
        raise ValueError(
            f"shaped_inertia of axis {axis} is {inertia[axis]:g}, expected at least "
            f"{needed[axis]:.3g}: the damping for contact_stiffness and contact_delay is "
            f"{damping[axis] + own[axis]:.3g}"
        )
    return replace(settings, inertia_shaping=True, delay=0.0, damping=tuple(damping.tolist()))


def sensor_poses(model: Model, tip: str, offset: Floats) -> dict[str, Floats]:
    """Return the links that move as one with the end effector: a wrench may be measured on them.

    Args:
        model: The arm.
        tip: Link of the end effector, empty for none.
        offset: (4, 4) pose of the end effector's frame in the tip's.

    Returns:
        Their poses (4, 4) in the end effector's frame, by name.
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
