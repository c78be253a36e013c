"""Checks of numbers that callers give; those of joints are named by the joint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featherstone_ros.arrays import Floats, finite_array
from featherstone_ros.errors import ModelError
from featherstone_ros.model.rotations import rotation_from_rpy

if TYPE_CHECKING:
    from featherstone_ros import Model


HUGE = 1e100  # beyond any real robot, and its square is still finite
ORTHONORMAL = 1e-9  # greatest entry of R R^T - 1 allowed, well above rounding


def finite(name: str, value: ArrayLike, shape: tuple[int, ...] = ()) -> Floats:
    """Return a copy of ``value`` as an array of finite numbers of that shape."""
    return finite_array(name, value, shape, ModelError).copy()


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


def finite_joint_array(values: ArrayLike, model: Model, what: str) -> Floats:
    """Return values, one for all or one per joint, as (n,) array."""
    array = np.array(np.broadcast_to(values, model.n) if np.ndim(values) == 0 else values, float)
    if array.shape != (model.n,):
        names = ", ".join(model.joint_names)
        raise ValueError(f"{what} has {array.size} values, expected {model.n}: {names}")
    require(np.isfinite(array), array, model.joint_names, what, "a finite number")
    return array


def not_negative_joint_array(values: ArrayLike, model: Model, what: str) -> Floats:
    """Return values, one for all or one per joint, as (n,) array of nothing below 0."""
    array = finite_joint_array(values, model, what)
    require(array >= 0.0, array, model.joint_names, what, "at least 0")
    return array


def require(
    good: NDArray[np.bool_], values: Floats, names: Sequence[str], what: str, expected: str
) -> None:
    """Raise ValueError naming the first value that is not good."""
    if not good.all():
        index = int(np.argmin(good))
        raise ValueError(f"{what} of {names[index]} is {values[index]}, expected {expected}")
