"""Velocities and accelerations for points that have positions alone: a spline through them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherstone_ros.arrays import Floats


def spline_velocities(
    times: Sequence[float], positions: Floats, ends_at_rest: bool = True
) -> Floats:
    """Return the velocities of the cubic spline through points.

    Its acceleration is continuous, and zero at the first point: what comes before is a line, or the
    way that the arm is led in.

    ``times``: (K,) strictly increasing [s]; ``positions`` and velocities: (K, n); ``ends_at_rest``:
    at the last point, else the acceleration is zero there.

    Source: de Boor, A Practical Guide to Splines, 2001, chapter IV: continuity of the second
    derivative gives a tridiagonal system, here solved from the first point to the last and back.
    """
    velocities = np.zeros_like(positions)
    if len(times) == 1:
        return velocities
    inverse = 1.0 / np.diff(times)
    mean = 3.0 * inverse[:, None] ** 2 * np.diff(positions, axis=0)
    # Row k: inverse[k-1] v[k-1] + diagonal[k] v[k] + inverse[k] v[k+1] = right[k], for all but the
    # last, whose velocity is zero, or 1.5 times the mean one minus half of the last but one.
    diagonal = 2.0 * np.append(inverse[0], inverse[:-1] + inverse[1:])
    right = mean.copy()
    right[1:] += mean[:-1]
    if not ends_at_rest:
        diagonal[-1] -= 0.5 * inverse[-1]
        right[-1] -= 0.5 * mean[-1]
    for k in range(1, len(diagonal)):
        share = inverse[k - 1] / diagonal[k - 1]
        diagonal[k] -= share * inverse[k - 1]
        right[k] -= share * right[k - 1]
    for k in range(len(diagonal) - 1, -1, -1):
        coupled = inverse[k] * velocities[k + 1]  # 0 at the end: it is in the diagonal already
        velocities[k] = (right[k] - coupled) / diagonal[k]
    if not ends_at_rest:
        velocities[-1] = (mean[-1] / inverse[-1] - velocities[-2]) / 2.0
    return velocities


def spline_accelerations(times: Sequence[float], positions: Floats, velocities: Floats) -> Floats:
    """Return the accelerations (K, n) of the spline at its points; zero at the last one.

    Quintics between points with these are the spline's cubics, but for the last piece: that one
    comes to rest without a step of the acceleration. ``velocities``: of ``spline_velocities``.
    """
    accelerations = np.zeros_like(positions)
    duration = np.diff(times)[:, None]
    mean = np.diff(positions, axis=0) / duration
    accelerations[:-1] = (6.0 * mean - 4.0 * velocities[:-1] - 2.0 * velocities[1:]) / duration
    return accelerations
