"""The fastest timing of a path within limits of what is linear in its squared speed, and its rate.

With s the length of the path, x = (ds/dt)^2 and u = d2s/dt2 = x' / 2,

    velocity = q' sqrt(x)    acceleration = q' u + q'' x    torque = m u + c x + d sqrt(x) + gravity

at the nodes of a grid, with u constant in between. The time from node to node is a convex function
of x, and so is the sum of all. A limit of jerk or of the torque's rate bounds by how much
acceleration or torque differ between the middles of two neighbouring intervals: by the limit times
the time from one to the other.

An interior point method finds the timing. A row of its Jacobian has at most three neighbours, so
that each of its steps solves a system with five diagonals: the work goes by the number of nodes.
It leaves the curvature of the limits out, which are concave in the time, so that each step stays on
the safe side of a limit of jerk.

Sources: D. Verscheure et al., Time-Optimal Path Tracking for Robots: A Convex Optimization
Approach, IEEE TAC 2009 (linear in x); J. Nocedal and S. J. Wright, Numerical Optimization, 2006,
sections 14.2 and 19.3 (the method).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from featherstone_ros._path_timing import find
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError

SLOWEST = 1e-12  # squared speed of the path below which a node is at rest
STEPS = 200  # of the method, at most; a timing takes 20 to 60
GAP = 2e-4  # share of the duration that is left to be found
WITHIN = 1e-4  # share of a limit by which a timing may exceed it
SLOWER = (2.0, 8.0, 64.0)  # than what it begins from, so that it begins within the limits


class RetimingError(FeatherstoneError, ValueError):
    """A path that cannot be timed; the message names the joint and the limit."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits of one quantity a u + b x + root sqrt(x) + c, of n joints on a grid of N intervals."""

    a: Floats  # (N + 1, n) per acceleration of the path
    b: Floats  # (N + 1, n) per squared speed of the path
    root: Floats  # (N + 1, n) per speed of the path
    c: Floats  # (N + 1, n) at rest
    lower: Floats  # (N, n) least values
    upper: Floats  # (N, n) greatest values
    rate: Floats  # (N, n) greatest change per second


def durations(grid: Floats, x: Floats) -> Floats:
    """Return the time that each interval takes (N,) [s], of squared speeds x (N + 1,)."""
    root = np.sqrt(x)
    return 2.0 * np.diff(grid) / np.maximum(root[:-1] + root[1:], np.sqrt(SLOWEST))


def fastest(grid: Floats, max_squares: Floats, bounds: Sequence[Bounds], x: Floats) -> Floats:
    """Return the squared speeds (N + 1,) of the fastest timing from rest to rest."""
    rows = _rows(grid, max_squares, bounds)
    for slower in SLOWER:
        found = np.clip(x / slower**2, SLOWEST, 0.9 * max_squares)
        found[[0, -1]] = 0.0
        if find(*rows, grid, found, STEPS, GAP, WITHIN):
            return found
    raise RetimingError("no timing was found within the limits")


def _rows(
    grid: Floats, max_squares: Floats, bounds: Sequence[Bounds]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return all limits, as rows of which the k-th are of the nodes k - 1, k and k + 1.

    Each is a sum of linear x + root sqrt(x), less the mean time of the intervals k - 1 and k if it
    is of a rate, and at most high; divided by its limit. What is not bounded is 0, and at most 1.

    Returns:
        Linear and root (N + 1, M, 3), high and whether it is of a rate (N + 1, M).
    """
    speed = np.zeros((3, 1, len(grid)))
    speed[1] = 1.0 / max_squares
    values = [(speed, np.zeros_like(speed), np.ones((1, len(grid))))]
    values += [part for bound in bounds for part in _values(grid, bound)]
    rates = [part for bound in bounds for part in _rates(grid, bound)]
    linear, root = (np.concatenate([part[i] for part in values + rates], 1) for i in (0, 1))
    high = np.concatenate([part[2] for part in values + rates])
    bounded = np.isfinite(high)
    for array, instead in ((linear, 0.0), (root, 0.0), (high, 1.0)):
        array[..., ~bounded] = instead
    taken = bounded.any(axis=1)
    bounded[: sum(len(part[2]) for part in values)] = False
    parts = linear[:, taken], root[:, taken], high[taken], bounded[taken].astype(float)
    linear, root, high, rate = (np.ascontiguousarray(part.T) for part in parts)
    return linear, root, high, rate


_Part = tuple[Floats, Floats, Floats]


def _at_ends(grid: Floats, bound: Bounds) -> Iterator[tuple[Floats, Floats]]:
    """Yield a quantity at either end of each interval: of x, of sqrt(x) (2, 2, N, n); constant."""
    slope = np.stack([-np.ones(len(grid) - 1), np.ones(len(grid) - 1)]) / (2.0 * np.diff(grid))
    for end in (0, 1):
        nodes = slice(end, len(grid) - 1 + end)
        linear = slope[:, :, None] * bound.a[nodes]
        ends = np.stack([linear, np.zeros_like(linear)])
        ends[0, end] += bound.b[nodes]
        ends[1, end] = bound.root[nodes]
        yield ends, bound.c[nodes]


def _values(grid: Floats, bound: Bounds) -> Iterator[_Part]:
    """Yield the limits of a quantity at both ends of each interval; the last row is none."""
    unit = np.maximum(np.abs(bound.lower), np.abs(bound.upper))
    for ends, constant in _at_ends(grid, bound):
        rows = np.zeros((2, 3, *bound.c.shape))
        rows[:, 1:, :-1] = ends
        yield from _both(rows, bound.upper - constant, constant - bound.lower, unit)


def _rates(grid: Floats, bound: Bounds) -> Iterator[_Part]:
    """Yield the limits of the change from an end of one interval to that of the next."""
    padded = np.pad(bound.rate, ((1, 1), (0, 0)), "edge")
    unit = np.minimum(padded[:-1], padded[1:])
    for ends, constant in _at_ends(grid, bound):
        change = np.diff(np.concatenate([bound.c[:1], constant, bound.c[-1:]]), axis=0)
        rows = np.zeros((2, 3, *bound.c.shape))
        rows[:, 1:, :-1] = ends
        rows[:, :2, 1:] -= ends
        yield from _both(rows, -change, change, unit)


def _both(rows: Floats, high: Floats, low: Floats, unit: Floats) -> Iterator[_Part]:
    """Yield rows divided by a unit, and their negative; where it is not finite, none is bounded."""
    bounded = np.isfinite(unit)
    unit = np.where(bounded, unit, 1.0)
    rows[:, :, : len(unit)] /= unit
    for sign, limit in ((1.0, high), (-1.0, low)):
        most = np.full(rows.shape[2:], np.inf)
        most[: len(unit)][bounded] = (limit / unit)[bounded]
        linear, root = np.swapaxes(sign * rows, -1, -2)
        yield linear, root, most.T
