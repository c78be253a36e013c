"""Checks of the numbers of a model: a ``ModelError`` names the argument."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats, finite_array, finite_number, positive_array
from featherstone_ros.errors import ModelError
from featherstone_ros.model.rotations import rotation_from_rpy

HUGE = 1e100  # beyond any real robot, and its square is still finite
ORTHONORMAL = 1e-9  # greatest entry of R R^T - 1 allowed, well above rounding


def finite(name: str, value: ArrayLike, shape: tuple[int, ...] = ()) -> Floats:
    """Return a copy of ``value`` as an array of finite numbers of that shape."""
    return finite_array(name, value, shape, ModelError).copy()


def positive(name: str, value: ArrayLike, shape: tuple[int, ...] = ()) -> Floats:
    """Return ``value`` as an array of finite numbers > 0 of that shape."""
    return positive_array(name, value, shape, ModelError)


def not_negative(name: str, value: ArrayLike) -> float:
    """Return ``value`` as a finite float >= 0."""
    return finite_number(name, value, 0.0, ModelError)


def at_least(minimum: float, name: str, value: Any) -> float:
    """Return ``value`` as a float >= ``minimum``; infinity is accepted, NaN is not."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number >= minimum:
        raise ModelError(f"{name} is {value!r}, expected a number >= {minimum:g}")
    return number


def rotation_matrix(name: str, value: ArrayLike) -> Floats:
    """Return a rotation matrix (3, 3) from one, or from roll, pitch and yaw, fixed axes [rad]."""
    if np.shape(value) != (3, 3):
        return rotation_from_rpy(*finite(name, value, (3,)))
    R = finite(name, value, (3, 3))
    if np.abs(R @ R.T - np.eye(3)).max() > ORTHONORMAL or np.linalg.det(R) < 0:
        raise ModelError(f"{name} is {R.tolist()}, expected orthonormal rows and determinant 1")
    return R
