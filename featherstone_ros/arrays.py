"""Types of NumPy arrays, for annotations, and a cache of functions that take arrays."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

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
