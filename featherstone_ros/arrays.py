"""Types of NumPy arrays, for annotations, checks of numbers, a cache of functions of arrays."""

from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from numbers import Real
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


def finite_array(
    name: str,
    value: ArrayLike,
    shape: tuple[int, ...] | None = None,
    error: type[Exception] = ValueError,
) -> Floats:
    """Return an argument as finite numbers of that shape, C-contiguous.

    None, text and complex numbers are refused, as in the compiled core.
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf" and not all(isinstance(x, Real) for x in given.flat):
            raise TypeError(f"{given.dtype} has entries that are not real numbers")
        array = np.asarray(given, dtype=float, order="C")
    except (TypeError, ValueError, OverflowError) as cause:
        expected = (
            "a number" if shape == () else "numbers" + (f" of shape {shape}" if shape else "")
        )
        raise error(f"{name} is {value!r}, expected {expected}") from cause
    if shape is not None and array.shape != shape:
        raise error(f"{name} has shape {array.shape}, expected {shape}")
    if np.count_nonzero(np.isfinite(array)) < array.size:  # faster than all() of few
        raise error(f"{name} is {array.tolist()}, expected finite numbers")
    return array


def positive_array(
    name: str, value: ArrayLike, shape: tuple[int, ...], error: type[Exception] = ValueError
) -> Floats:
    """Return an argument as finite numbers above 0 of that shape."""
    array = finite_array(name, value, shape, error)
    if not (array > 0.0).all():
        raise error(f"{name} is {array.tolist()}, expected > 0")
    return array


def finite_number(
    name: str, value: ArrayLike, minimum: float = -np.inf, error: type[Exception] = ValueError
) -> float:
    """Return an argument as a finite number, no less than the minimum."""
    if isinstance(value, float) and isfinite(value):  # every step of a loop asks: quickly
        number = float(value)
    else:
        number = float(finite_array(name, value, (), error))
    if number < minimum:
        raise error(f"{name} is {number}, expected a number >= {minimum:g}")
    return number


def positive_number(name: str, value: ArrayLike) -> float:
    """Return an argument as a finite number above 0."""
    return float(positive_array(name, value, ()))


def ends_of_motion(position: Floats, far: ArrayLike) -> tuple[int, int] | None:
    """Return the first sample away from the first one and the last away from the last one.

    ``position`` (N, n), N >= 1; ``far``: by more than this in a joint. None: it never is.
    """
    away, to_come = (
        np.flatnonzero((np.abs(position - position[end]) > far).any(axis=1)) for end in (0, -1)
    )
    return (int(away[0]), int(to_come[-1])) if len(away) else None
