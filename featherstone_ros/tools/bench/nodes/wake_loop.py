"""The floor for anything periodic: a loop in C that only sleeps until its next absolute time."""

import numpy as np

from featherstone_ros._loop import wake_times
from featherstone_ros.arrays import Floats
from featherstone_ros.tools.bench.nodes.stream import Integers

__all__ = ["deviations", "wake_times"]


def deviations(times: Integers, period: int) -> Floats:
    """Return |difference - period| [s] of successive (N,) times [ns]: (N - 1,)."""
    return 1e-9 * np.abs(np.diff(times) - period).astype(np.float64)
