"""Velocities for points that have positions alone, so that cubics between them are a C2 spline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherstone_ros.arrays import Floats


def spline_velocities(times: Sequence[float], positions: Floats) -> Floats:
    """Return the velocities of the cubic spline through points, which ends at rest.

    Its acceleration is continuous, and zero at the first point: what comes before is a line, or the
    way that the arm is led in.

    Args:
        times: (K,) strictly increasing [s].
        positions: (K, n) [rad or m].

    Returns:
        (K, n) [rad/s or m/s].

    Source: de Boor, A Practical Guide to Splines, 2001, chapter IV: continuity of the second
    derivative gives a tridiagonal system, here solved from the first point to the last and back.
    """
    velocities = np.zeros_like(positions)
    if len(times) == 1:
        return velocities
    inverse = 1.0 / np.diff(times)
    mean = 3.0 * inverse[:, None] ** 2 * np.diff(positions, axis=0)
    # Row k: inverse[k-1] v[k-1] + diagonal[k] v[k] + inverse[k] v[k+1] = right[k], for all but the
    # last, whose velocity is zero.
    diagonal = 2.0 * np.append(inverse[0], inverse[:-1] + inverse[1:])
    right = mean.copy()
    right[1:] += mean[:-1]
    for k in range(1, len(diagonal)):
        share = inverse[k - 1] / diagonal[k - 1]
        diagonal[k] -= share * inverse[k - 1]
        right[k] -= share * right[k - 1]
    for k in range(len(diagonal) - 1, -1, -1):
        velocities[k] = (right[k] - inverse[k] * velocities[k + 1]) / diagonal[k]
    return velocities
