"""Checks of numeric arguments; errors name the argument."""

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError
from featherstone_ros.model.rotations import rotation_from_rpy

HUGE = 1e100  # beyond any real robot, and its square is still finite
ORTHONORMAL = 1e-9  # greatest entry of R R^T - 1 allowed, well above rounding


def finite(name: str, value: ArrayLike, shape: tuple[int, ...] = ()) -> Floats:
    """Return a copy of ``value`` as an array of finite numbers of that shape.

    None, text and complex numbers are refused, as in the compiled core.
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf" and not all(isinstance(x, Real) for x in given.flat):
            raise TypeError(f"{given.dtype} has entries that are not real numbers")
        array = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        expected = f"numbers of shape {shape}" if shape else "a number"
        raise ModelError(f"{name} is {value!r}, expected {expected}") from error
    if array.shape != shape:
        raise ModelError(f"{name} has shape {array.shape}, expected {shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{name} is {array.tolist()}, expected finite numbers")
    return array


def positive(name: str, value: ArrayLike, shape: tuple[int, ...] = ()) -> Floats:
    """Return a copy of ``value`` as an array of finite numbers > 0 of that shape."""
    array = finite(name, value, shape)
    if not (array > 0).all():
        raise ModelError(f"{name} is {array.tolist()}, expected > 0")
    return array


def not_negative(name: str, value: ArrayLike) -> float:
    """Return ``value`` as a finite float >= 0."""
    return at_least(0, name, float(finite(name, value)))


def at_least(least: float, name: str, value: Any) -> float:
    """Return ``value`` as a float >= ``least``; infinity is accepted, NaN is not."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number >= least:
        raise ModelError(f"{name} is {value!r}, expected a number >= {least:g}")
    return number


def rotation_matrix(name: str, value: ArrayLike) -> Floats:
    """Return a rotation matrix (3, 3) from one or from roll, pitch and yaw about fixed axes [rad].

    Raises:
        ModelError: It is neither.
    """
    if np.shape(value) != (3, 3):
        return rotation_from_rpy(*finite(name, value, (3,)))
    R = finite(name, value, (3, 3))
    if np.abs(R @ R.T - np.eye(3)).max() > ORTHONORMAL or np.linalg.det(R) < 0:
        raise ModelError(f"{name} is {R.tolist()}, expected orthonormal rows and determinant 1")
    return R
