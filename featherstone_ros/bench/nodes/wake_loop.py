"""The floor for anything periodic: a loop that only sleeps until its next absolute time."""

import ctypes
import time

import numpy as np
from numpy.typing import NDArray

_TIMER_ABSTIME = 1  # of <time.h>
_SECOND = 1_000_000_000  # [ns]


class _Timespec(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_long), ("nsec", ctypes.c_long))


def wake_times(period: int, count: int) -> NDArray:
    """Sleep until each of ``count`` times that are ``period`` [ns] apart.

    What Python adds between waking and looking at the clock is about a microsecond, always the
    same, and drops out of the differences.

    Returns:
        (count,) when it woke [ns].

    Raises:
        OSError: The sleep fails.
    """
    nanosleep = ctypes.CDLL(None).clock_nanosleep
    until = _Timespec()
    place = ctypes.byref(until)
    woke = np.empty(count, np.int64)
    due = time.monotonic_ns()
    for k in range(count):
        due += period
        until.sec, until.nsec = divmod(due, _SECOND)
        error = nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, place, None)
        woke[k] = time.monotonic_ns()
        if error:
            raise OSError(error, "clock_nanosleep failed")
    return woke


def deviations(times: NDArray, period: int) -> NDArray:
    """Return |difference - period| [s] of neighbours in (N,) times [ns]: (N - 1,)."""
    return np.abs(np.diff(times) - period) * 1e-9
