"""The model with the payload and the gravity of the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model

MODEL_NAMES = ("gravity", "payload.link", "payload.mass", "payload.com", "payload.inertia")


def model_with_payload(values: Mapping[str, Any], model: Model) -> Model:
    """Return the arm with the parameters' gravity and payload.

    Raises:
        ValueError: A vector has the wrong length, the link is missing or unknown, the inertia is
            not one.
    """
    model = model.with_gravity(vector(values, "gravity", 3))
    com = vector(values, "payload.com", 3)
    inertia = inertia_matrix(values)
    link, mass = str(values["payload.link"]), float(_floats(values, "payload.mass"))
    if link and link not in model.link_names:
        raise ValueError(f"payload.link is {link!r}; the links are {', '.join(model.link_names)}")
    if mass == 0.0:
        return model
    if not link:
        raise ValueError(f"payload.mass is {mass}, but payload.link is empty")
    return model.with_payload(link, mass, com, inertia)


def inertia_matrix(values: Mapping[str, Any]) -> Floats:
    """Return payload.inertia as (3, 3) [kg m^2].

    Raises:
        ValueError: Neither 6 nor 9 values, not symmetric, or not positive semidefinite.
    """
    given = _floats(values, "payload.inertia")
    if given.shape == (6,):
        ixx, ixy, ixz, iyy, iyz, izz = given
        inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    elif given.shape == (9,):
        inertia = given.reshape(3, 3)
    else:
        raise ValueError(f"payload.inertia has {given.size} values, expected 6 or 9")
    tolerance = 1e-9 * np.abs(inertia).max()
    if np.abs(inertia - inertia.T).max() > tolerance:
        raise ValueError(f"payload.inertia is {given.tolist()}, expected a symmetric matrix")
    if np.linalg.eigvalsh(inertia).min() < -tolerance:
        raise ValueError(f"payload.inertia is {given.tolist()}, expected no negative moment")
    return inertia


def vector(values: Mapping[str, Any], name: str, length: int) -> Floats:
    """Return a parameter as an array.

    Raises:
        ValueError: It has another length.
    """
    array = _floats(values, name)
    if array.shape != (length,):
        raise ValueError(f"{name} has {array.size} values, expected {length}")
    return array


def _floats(values: Mapping[str, Any], name: str) -> Floats:
    try:
        return np.asarray(values[name], dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {values[name]!r}, expected numbers") from None
