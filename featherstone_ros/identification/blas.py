"""One BLAS thread for small matrices: on busy cores, more threads cost ten times what they save."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from featherstone_ros.identification.filtering import needed_from_scipy


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which linear algebra keeps to one thread, where that can be set.

    Raises:
        EvaluationError: scipy is missing.
    """
    for part in ("linalg", "optimize", "signal"):  # whose own library has to be there by then
        needed_from_scipy(part)
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)
