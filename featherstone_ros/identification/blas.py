"""One BLAS thread for small matrices: on busy cores, more threads cost far more than they save."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from featherstone_ros.identification.filtering import needed_from_scipy


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which linear algebra keeps to one thread, where that can be set."""
    for part in ("linalg", "optimize", "signal"):  # their libraries must be loaded before the limit
        needed_from_scipy(part)
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)
