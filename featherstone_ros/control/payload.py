"""The model with the payload and the gravity of the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featherstone_ros.errors import ModelError
from featherstone_ros.model import Model
from featherstone_ros.model.inertia_rules import COARSE, moments_text
from featherstone_ros.model.primitives import inertial
from featherstone_ros.model.pseudo_inertia import inertia_matrix
from featherstone_ros.model.robot_description import Inertial

MODEL_NAMES = ("gravity", "payload.link", "payload.mass", "payload.com", "payload.inertia")
LEAST_REACH = 1.0  # [m] that a payload may extend on any arm, even a small one


def model_with_payload(values: Mapping[str, Any], model: Model) -> Model:
    """Return the arm with the parameters' gravity and payload.

    Raises:
        ValueError: A value cannot be used, the link is missing or unknown, or the payload is no
            body that the arm could carry.
    """
    model = model.with_gravity(values["gravity"])
    link, mass = str(values["payload.link"]), values["payload.mass"]
    if link and link not in model.link_names:
        raise ValueError(f"payload.link is {link!r}; the links are {', '.join(model.link_names)}")
    if mass == 0.0:
        return model
    if not link:
        raise ValueError(f"payload.mass is {mass}, but payload.link is empty")
    inertia = values["payload.inertia"]
    try:
        six = np.asarray(inertia, float)
        inertia = inertia_matrix(six) if six.size == 6 else six.reshape(3, 3)
        load = inertial(mass, values["payload.com"], inertia)
    except ModelError as error:
        raise ValueError(f"payload.{error}") from None
    except (TypeError, ValueError):
        raise ValueError(f"payload.inertia is {inertia!r}, expected 6 or 9 numbers") from None
    require_plausible(load, reach(model))
    return model.with_payload(link, load.mass, load.com, load.inertia)


def require_plausible(load: Inertial, arm: float) -> None:
    """Raise ValueError unless a payload is a body, and no larger than the arm that carries it.

    Else a value was probably meant in another unit.

    Args:
        load: Its mass is greater than 0.
        arm: The arm's reach [m].
    """
    longest = max(arm, LEAST_REACH)
    distance = float(np.linalg.norm(load.com))
    if distance > longest:
        raise ValueError(
            f"payload.com is {load.com.tolist()}: {distance:.4g} m from the link, expected at most "
            f"{longest:.3g} m, the reach of the arm (metres, not millimetres?)"
        )
    moments = np.linalg.eigvalsh(load.inertia)
    text = f"payload.inertia has the principal moments {moments_text(moments)} kg m^2"
    if moments[2] - moments[1] - moments[0] > COARSE * moments.sum():
        raise ValueError(
            f"{text}, expected none greater than the sum of the others: no body has such an inertia"
        )
    # The moments about the centre of mass add up to twice the integral of r^2 dm.
    radius = float(np.sqrt(max(moments.sum(), 0.0) / (2.0 * load.mass)))
    if radius > longest:
        raise ValueError(
            f"{text}: the {load.mass:.4g} kg would be {radius:.4g} m from their centre, expected "
            f"at most {longest:.3g} m, the reach of the arm"
        )


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
