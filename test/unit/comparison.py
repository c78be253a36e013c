"""The tolerances for two results, stated once for every test of the dynamics."""

import numpy as np

TOLERANCE = 1e-10  # relative to the greatest entry; rounding leaves 1e-12 or less
EPSILON = np.finfo(float).eps


def relative_error(actual, expected, scale=None):
    """Return the greatest difference over the greatest entry of ``expected``.

    Args:
        actual: Array or number.
        expected: Array or number of the same shape.
        scale: What the difference is measured by instead: the greatest of the terms that
            ``expected`` is the sum of, where these nearly cancel.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if scale is None:
        scale = np.max(np.abs(expected), initial=0.0)
    difference = np.max(np.abs(actual - expected), initial=0.0)
    return float(difference / scale) if scale else float(difference)


def assert_equal_to_rounding(actual, expected, scale=None, tolerance=TOLERANCE):
    """Fail unless the relative error is at most ``tolerance`` (and a number)."""
    error = relative_error(actual, expected, scale)
    assert error <= tolerance, f"relative error {error:.2g} > {tolerance:.2g}"


def solving_tolerance(inertia, least=TOLERANCE):
    """Return the tolerance for the solution qdd of inertia qdd = tau.

    A relative change of one rounding error in ``inertia`` or tau moves the solution by up to
    its condition number times as much (Golub and Van Loan, section 2.6).
    """
    return max(least, 4 * EPSILON * np.linalg.cond(inertia)) if inertia.size else least
