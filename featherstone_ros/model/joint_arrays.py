"""Numbers of joints as arrays, checked; errors name the joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featherstone_ros.arrays import Floats

if TYPE_CHECKING:
    from featherstone_ros import Model


def joint_array(values: ArrayLike, model: Model, what: str) -> Floats:
    """Return values as (n,) array."""
    array = np.asarray(values, dtype=float)
    if array.shape != (model.n,):
        names = ", ".join(model.joint_names)
        raise ValueError(f"{what} has {array.size} values, expected {model.n}: {names}")
    return array


def finite_joint_array(values: ArrayLike, model: Model, what: str) -> Floats:
    """Return values, one for all or one per joint, as (n,) array."""
    array = np.array(np.broadcast_to(values, model.n) if np.ndim(values) == 0 else values, float)
    array = joint_array(array, model, what)
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
