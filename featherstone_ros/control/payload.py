"""The model with the payload and the gravity of the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featherstone_ros.errors import ModelError
from featherstone_ros.model import Model
from featherstone_ros.model.parameter_files import PAYLOAD_NAMES, misspelt
from featherstone_ros.model.primitives import inertia_matrix, inertial
from featherstone_ros.model.robot_description import Inertial
from featherstone_ros.model.rules import COARSE, moments_text

PARTS = ("link", "mass", "com", "inertia")  # of a payload, as its parameters are named
MIN_REACH = 1.0  # [m] that a payload may extend on any arm, even a small one


def payload_of(values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the payload in force: what its parameters' names begin with, and their values."""
    name, names = str(values.get("payload.name", "")), values.get(PAYLOAD_NAMES, [])
    if name and name not in names:
        raise ValueError(
            f"payload.name is {misspelt(name, names)}, expected one of {PAYLOAD_NAMES}: "
            f"{', '.join(names) or 'none'}; or an empty text for payload.*"
        )
    return _numbers(values, name)


def gravity_and_payload(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what of the parameters the model in force depends on, to be compared."""
    return values["gravity"], *payload_of(values)[1].values()


def _numbers(values: Mapping[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    prefix = f"payloads.{name}" if name else "payload"
    return prefix, {part: values[f"{prefix}.{part}"] for part in PARTS}


def model_with_payload(values: Mapping[str, Any], model: Model) -> Model:
    """Return the arm with the parameters' gravity and the payload in force."""
    if not np.array_equal(values["gravity"], model.gravity):  # another model is compiled
        model = model.with_gravity(values["gravity"])
    for name in values.get(PAYLOAD_NAMES, []):
        _body(*_numbers(values, name), model)
    prefix, numbers = payload_of(values)
    load = _body(prefix, numbers, model)
    if load is None:
        return model
    return model.with_payload(numbers["link"], load.mass, load.com, load.inertia)


def _body(prefix: str, numbers: Mapping[str, Any], model: Model) -> Inertial | None:
    """Return a payload's body, None if it has no mass."""
    link, mass, inertia = str(numbers["link"]), numbers["mass"], numbers["inertia"]
    if link and link not in model.link_names:
        raise ValueError(f"{prefix}.link is {link!r}; the links are {', '.join(model.link_names)}")
    if mass == 0.0:
        return None
    if not link:
        raise ValueError(f"{prefix}.mass is {mass}, but {prefix}.link is empty")
    try:
        six = np.asarray(inertia, float)
        inertia = inertia_matrix(six) if six.size == 6 else six.reshape(3, 3)
        load = inertial(mass, numbers["com"], inertia)
    except ModelError as error:
        raise ValueError(f"{prefix}.{error}") from None
    except (TypeError, ValueError):
        raise ValueError(f"{prefix}.inertia is {inertia!r}, expected 6 or 9 numbers") from None
    require_plausible(prefix, load, reach(model))
    return load


def require_plausible(prefix: str, load: Inertial, arm: float) -> None:
    """Raise ValueError unless a payload is a body, and no larger than the arm that carries it."""
    longest = max(arm, MIN_REACH)
    distance = float(np.linalg.norm(load.com))
    if distance > longest:
        raise ValueError(
            f"{prefix}.com is {load.com.tolist()}: {distance:.4g} m from the link, expected at "
            f"most {longest:.3g} m, the reach of the arm (metres, not millimetres?)"
        )
    moments = np.linalg.eigvalsh(load.inertia)
    text = f"{prefix}.inertia has the principal moments {moments_text(moments)} kg m^2"
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
    """Return an upper bound of the arm's reach: the sum of its joints' offsets [m]."""
    tree = model.tree
    slides = np.array([kind == "prismatic" for kind in model.joint_types])
    stroke = np.maximum(np.abs(model.lower), np.abs(model.upper))
    return float(
        np.linalg.norm(tree.translation, axis=1).sum()
        + np.linalg.norm(tree.link_translation, axis=1).max(initial=0.0)
        + stroke[slides & np.isfinite(stroke)].sum()
    )
