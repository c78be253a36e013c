"""Types of NumPy arrays, for annotations, checks of numbers, a cache of functions of arrays."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Result = TypeVar("Result")

REMEMBERED = 8  # results of one function


def remembered(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function that keeps its last results; arrays (n,) are compared by their values."""

    @lru_cache(REMEMBERED)
    def cached(*arguments: Any) -> Result:
        return function(*(np.array(a) if isinstance(a, tuple) else a for a in arguments))

    def call(*arguments: Any) -> Result:
        return cached(*(tuple(a) if isinstance(a, np.ndarray) else a for a in arguments))

    return call


def finite_array(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> Floats:
    """Return an argument as finite numbers of that shape, C-contiguous."""
    try:
        array = np.asarray(value, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected numbers, got {value!r}") from error
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got {array.tolist()}")
    return array


def finite_number(name: str, value: float, least: float = -np.inf) -> float:
    """Return an argument as a finite number, no less than the least."""
    number = float(finite_array(name, value, ()))
    if number < least:
        raise ValueError(f"{name} is {number:g}, expected at least {least:g}")
    return number


def positive_number(name: str, value: float) -> float:
    """Return an argument as a finite number above 0."""
    number = finite_number(name, value)
    if not number > 0.0:
        raise ValueError(f"{name} is {number:g}, expected more than 0")
    return number
