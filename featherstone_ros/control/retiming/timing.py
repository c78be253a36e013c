"""The fastest timing of a path within limits that are linear in its squared speed.

With s the length of the path, x = (ds/dt)^2 and u = d2s/dt2 = x' / 2,

    velocity = q' sqrt(x)     acceleration = q' u + q'' x     torque = m u + c x + gravity

so that limits of them are linear in x at the nodes of a grid, with u constant in between.

A limit of jerk or of the torque's rate bounds by how much acceleration or torque differ between the
middles of two neighbouring intervals: by the limit times the time from one to the other. That time
is a convex function of x, so its tangent at any timing is a stricter limit, and linear. Each linear
programme yields a timing within the limits, whose tangent is closer; two or three are enough.

Sources: D. Verscheure et al., Time-Optimal Path Tracking for Robots: A Convex Optimization
Approach, IEEE TAC 2009 (linear in x); B. R. Marks and G. P. Wright, A General Inner Approximation
Algorithm for Nonconvex Mathematical Programs, Operations Research 1978 (tangents).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats

SLOWEST = 1e-12  # squared speed of the path below which a node is at rest
NEAR = 0.6  # share of a limit within which it may bind next; others are looked at afterwards
BEYOND = 1e-6  # share of a limit that counts as rounding
# Ten times as fast as the interior point method, measured; a presolve costs more than it saves.
SOLVER: dict[str, Any] = {"method": "highs-ds", "options": {"presolve": False}}
FASTER = 1e3  # times the squared speed that one programme may speed up by


@dataclass(frozen=True, eq=False)
class Bounds:
    """The limits of one quantity a u + b x + c of n joints on a grid of N intervals.

    Attributes:
        a: (N + 1, n) per acceleration of the path.
        b: (N + 1, n) per squared speed of the path.
        c: (N + 1, n) at rest.
        lower: (N, n) least values.
        upper: (N, n) greatest values.
        rate: (N, n) greatest change per second.
    """

    a: Floats
    b: Floats
    c: Floats
    lower: Floats
    upper: Floats
    rate: Floats

    def at_end(self, grid: Floats, end: int) -> tuple[Floats, Floats, Floats]:
        """Return the values at one end of each interval: per x at its two ends, and constant."""
        nodes = slice(end, len(grid) - 1 + end)
        slope = self.a[nodes] / (2.0 * np.diff(grid)[:, None])
        per_x = [-slope, slope]
        per_x[end] = per_x[end] + self.b[nodes]
        return per_x[0], per_x[1], self.c[nodes]

    def at_middle(self, grid: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the same in the middle of each interval."""
        a, b, c = ((values[:-1] + values[1:]) / 2.0 for values in (self.a, self.b, self.c))
        slope = a / (2.0 * np.diff(grid)[:, None])
        return b / 2.0 - slope, b / 2.0 + slope, c


def durations(grid: Floats, x: Floats) -> Floats:
    """Return the time that each interval takes (N,) [s], of squared speeds x (N + 1,)."""
    root = np.sqrt(x)
    return 2.0 * np.diff(grid) / np.maximum(root[:-1] + root[1:], np.sqrt(SLOWEST))


def faster(grid: Floats, max_squares: Floats, bounds: list[Bounds], x: Floats) -> Floats | None:
    """Return the fastest timing from rest to rest by the tangents at another one.

    Args:
        grid: (N + 1,) lengths of the path [rad or m].
        max_squares: (N + 1,) greatest squared speeds of the path.
        bounds: Of acceleration, torque, ...
        x: (N + 1,) squared speeds of any timing.

    Returns:
        (N + 1,) squared speeds, None if no timing is within the limits.
    """
    from scipy.optimize import linprog

    scale = np.maximum(x, SLOWEST)
    scale[1:-1] = np.maximum(scale[1:-1], 1e-10 * scale.max())
    times = _tangents(grid, scale, x)
    rows = _Rows()
    for quantity in bounds:
        _add_values(rows, grid, quantity)
        _add_rates(rows, grid, quantity, times)
    matrix, high = rows.matrix(scale)
    upper = np.minimum(max_squares / scale, FASTER)
    upper[[0, -1]] = 0.0
    gain = (np.append(times[0], 0.0) + np.append(0.0, times[1])) * scale
    within = np.stack([np.zeros_like(upper), upper], axis=1)
    gain /= np.abs(gain).max()
    taken = high - matrix @ (x / scale) < NEAR
    while True:
        result = linprog(gain, matrix[taken], high[taken], bounds=within, **SOLVER)
        if result.x is None:
            return None
        beyond = (matrix @ result.x > high + BEYOND) & ~taken
        if not beyond.any():
            return np.maximum(result.x, 0.0) * scale
        taken |= beyond


def _tangents(grid: Floats, scale: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the tangents to the durations: per x at each interval's two ends, and constant."""
    root = np.sqrt(np.where(x > 0.0, scale, 0.0))
    total = np.maximum(root[:-1] + root[1:], np.sqrt(SLOWEST))
    took = 2.0 * np.diff(grid) / total
    slope = -took / total / 2.0
    left, right = (
        np.where(end > 0.0, slope / np.where(end > 0.0, end, 1.0), 0.0)
        for end in (root[:-1], root[1:])
    )
    return left, right, took - left * root[:-1] ** 2 - right * root[1:] ** 2


class _Rows:
    """Inequalities of a linear programme, each in a few neighbours."""

    def __init__(self) -> None:
        self._count = 0
        self._entries: list[tuple[NDArray[np.intp], NDArray[np.intp], Floats]] = []
        self._high: list[Floats] = []

    def add(self, start: int, bands: list[Floats], high: Floats, unit: Floats) -> None:
        """Add rows (K, n): the sum of bands[d][k] x[start + k + d] is at most high[k].

        Args:
            start: The first column.
            bands: Each (K, n).
            high: (K, n); rows without a finite limit are left out.
            unit: (K, n) by which a row is divided.
        """
        taken = np.isfinite(high)
        first = start + np.nonzero(taken)[0]
        row = self._count + np.arange(len(first))
        unit = np.broadcast_to(unit, high.shape)[taken]
        self._entries += [(row, first + d, band[taken] / unit) for d, band in enumerate(bands)]
        self._high.append(high[taken] / unit)
        self._count += len(row)

    def matrix(self, scale: Floats) -> tuple[Any, Floats]:
        """Return the matrix for x / scale, and the limits."""
        from scipy.sparse import csr_array

        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        shape = self._count, len(scale)
        matrix = csr_array((value * scale[column], (row, column)), shape)
        return matrix, np.concatenate(self._high)


def _add_values(rows: _Rows, grid: Floats, quantity: Bounds) -> None:
    lower, upper = quantity.lower, quantity.upper
    unit = np.maximum(np.abs(lower), np.abs(upper))
    for end in (0, 1):
        first, second, constant = quantity.at_end(grid, end)
        rows.add(0, [first, second], upper - constant, unit)
        rows.add(0, [-first, -second], constant - lower, unit)


def _add_rates(
    rows: _Rows, grid: Floats, quantity: Bounds, times: tuple[Floats, Floats, Floats]
) -> None:
    """Bound the change from one middle to the next, and half an interval from and to rest."""
    rate = quantity.rate
    if not np.isfinite(rate).any():
        return
    left, right, took = (part[:, None] / 2.0 for part in times)
    first, second, constant = quantity.at_middle(grid)
    both = np.minimum(rate[1:], rate[:-1])
    for sign in (1.0, -1.0):
        high = both * (took[:-1] + took[1:]) - sign * np.diff(constant, axis=0)
        bands = [
            -sign * first[:-1] - both * left[:-1],
            sign * (first[1:] - second[:-1]) - both * (right[:-1] + left[1:]),
            sign * second[1:] - both * right[1:],
        ]
        rows.add(0, bands, high, both * (took[:-1] + took[1:]))
        for at, rest in ((0, quantity.c[:1]), (len(rate) - 1, quantity.c[-1:])):
            one = slice(at, at + 1)
            high = rate[one] * took[one] - sign * (constant[one] - rest)
            bands = [
                sign * first[one] - rate[one] * left[one],
                sign * second[one] - rate[one] * right[one],
            ]
            rows.add(at, bands, high, rate[one] * took[one])
