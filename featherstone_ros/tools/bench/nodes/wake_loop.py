"""The floor for anything periodic: a loop in C that only sleeps until its next absolute time."""

import numpy as np
from numpy.typing import NDArray

from featherstone_ros._loop import wake_times

__all__ = ["deviations", "wake_times"]


def deviations(times: NDArray, period: int) -> NDArray:
    """Return |difference - period| [s] of neighbours in (N,) times [ns]: (N - 1,)."""
    return np.abs(np.diff(times) - period) * 1e-9
