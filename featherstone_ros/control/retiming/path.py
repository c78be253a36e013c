"""A trajectory's path without its times: smooth stretches, between which the arm has to stop.

Parametrised by length in joint space: where a trajectory rests, its derivatives by time vanish, and
say nothing about where the path leads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.trajectory import Motion

CLOSE = 2e-4  # [rad or m] that a motion's curve is kept within
FEWEST, MOST = 8, 20_000  # points of a spline along a motion
FINEST = 20_000  # samples in search of lengths, corners and turning points, at most
SHORTEST = 1e-9  # [rad or m] of a path that leads anywhere
SIDE = 1e-5  # share of the length by which a direction is taken beside a point
CORNER = np.cos(np.radians(1.0))  # of the angle between two directions that are one
BACK = np.cos(np.radians(150.0))  # of a corner that is passed no faster rounded than with a stop
STRAIGHT = 0.25  # share of the tolerance of corners by which points on a line may miss it
DEGREE = 5  # of splines: their third derivative, by which the jerk goes, has no steps
WIDTH = 0.561  # of a spline of this degree: mean distance under a uniform one, in its spacing
GROWTH = 0.3  # of the spacing by length, away from a corner
WITHIN = 0.97  # share of the tolerance to aim at
WIDER = 4  # rounds in which the spacing may become wider, too


@dataclass(frozen=True, eq=False)
class Stretch:
    """A smooth path: a spline of positions (n,) by about the length in joint space [rad or m]."""

    curve: Any

    @property
    def length(self) -> float:
        """Its length, of the parameter."""
        return float(self.curve.t[-1])

    @property
    def grid(self) -> Floats:
        """Lengths, from 0 on, in which to look at it at first."""
        return np.unique(self.curve.t)

    def at(self, along: Floats) -> tuple[Floats, Floats, Floats]:
        """Return positions and their first and second derivatives by the length, each (N, n)."""
        return self.curve(along), self.curve(along, 1), self.curve(along, 2)


def of_motion(motion: Motion, begin: float, end: float) -> list[Stretch]:
    """Return the path of a motion from one time to another [s]; where it rests does not matter.

    No joint is farther from it than ``CLOSE``: there are as many points as that takes. The arm
    stops where the path has another direction before than after.
    """
    between = motion.corners[(motion.corners > begin) & (motion.corners < end)]
    corners = np.array([begin, *between, end])
    share = np.linspace(0.0, 1.0, max(FINEST // len(corners), 4), endpoint=False)
    time = np.append((corners[:-1, None] + np.diff(corners)[:, None] * share).ravel(), end)
    along = _lengths(motion.sample(time)[0])
    if along[-1] < SHORTEST:
        return []
    moved = np.append(True, np.diff(along) > 0.0)
    along, time = along[moved], time[moved]

    def at(wanted: Floats) -> Floats:
        return motion.sample(np.interp(wanted, along, time))[0]

    side = SIDE * along[-1]
    here = along[(along > side) & (along < along[-1] - side)]
    ways = np.diff([at(here + step) for step in (-side, 0.0, side)], axis=0)
    cosine = np.prod(ways, axis=0).sum(axis=1) / np.linalg.norm(ways, axis=2).prod(axis=0)
    turns = here[cosine < CORNER]
    groups = np.split(turns, np.flatnonzero(np.diff(turns) > side) + 1)
    stops = [group[len(group) // 2] for group in groups if len(group)]
    return [_following(at, *ends) for ends in pairwise([0.0, *stops, along[-1]])]


def _following(at: Callable[[Floats], Floats], first: float, last: float) -> Stretch:
    """Return the spline along positions by a length, from one length to another.

    Where it is off between two points, there will be more, and in their neighbourhood: next to
    each other, intervals differ in length by a factor of 2 at most.
    """
    from scipy.interpolate import make_interp_spline

    grid = np.linspace(0.0, last - first, FEWEST)
    while True:
        stretch = Stretch(make_interp_spline(grid, at(first + grid), DEGREE))
        length = np.diff(grid)
        between = grid[:-1, None] + length[:, None] * [0.25, 0.5, 0.75]
        off = np.abs(
            stretch.curve(between) - at(first + between.ravel()).reshape(*between.shape, -1)
        )
        halved = (off.max(axis=(1, 2)) > CLOSE) & (length > CLOSE)
        if not halved.any() or len(grid) > MOST:
            return stretch
        while True:
            least = np.pad(np.where(halved, length / 2.0, length), 1, constant_values=np.inf)
            coarse = ~halved & (length > 2.01 * np.minimum(least[:-2], least[2:]))
            if not coarse.any():
                break
            halved |= coarse
        grid = np.sort(np.append(grid, (grid[:-1] + length / 2.0)[halved]))


def of_corners(positions: Floats, blend: float) -> list[Stretch]:
    """Return the path of straight lines between positions (K, n), its corners rounded.

    ``blend``: greatest distance of any joint from the corners [rad or m]; 0: the arm stops there,
    as it does in any case where the path turns back.
    """
    corners, off = needed(positions, STRAIGHT * blend)
    if len(corners) < 2:
        return []
    ways = np.diff(corners, axis=0)
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    sharp = ((ways[1:] * ways[:-1]).sum(axis=1) < BACK) | (blend == 0.0)
    stops = [0, *(np.flatnonzero(sharp) + 1).tolist(), len(corners) - 1]
    return [_rounded(corners[i : j + 1], blend - off) for i, j in pairwise(stops)]


def _rounded(corners: Floats, tolerance: float) -> Stretch:
    """Return a spline whose control points are on the lines between corners (K, n).

    It is straight where they are, and cuts a corner the less, the closer they are there. At a
    corner alone that is half of its turn times ``WIDTH`` spacings; where others are near, corners
    are cut by more, and the spacing becomes closer.

    Source: de Boor, A Practical Guide to Splines, 2001, chapter XI (Schoenberg's approximation).
    """
    from scipy.interpolate import BSpline

    along = _lengths(corners)
    turn = np.abs(np.diff(np.diff(corners, axis=0) / np.diff(along)[:, None], axis=0)).max(axis=1)
    spacing = np.full(len(along), along[-1] / FEWEST)
    spacing[1:-1] = 2.0 * tolerance / (WIDTH * (turn + SHORTEST))
    for k in count():
        slope, spacing = GROWTH * along, np.minimum(spacing, along[-1] / FEWEST)
        spacing = np.minimum(
            np.minimum.accumulate(spacing - slope) + slope,
            np.minimum.accumulate((spacing + slope)[::-1])[::-1] - slope,
        )
        knots = np.pad(_spaced(along, spacing), DEGREE, "edge")
        places = np.convolve(knots[1:-1], np.full(DEGREE, 1.0 / DEGREE), "valid")
        points = np.transpose([np.interp(places, along, joint) for joint in corners.T])
        curve = BSpline(knots, points, DEGREE)
        off = np.abs(curve(along) - corners).max(axis=1)
        if k >= WIDER and (off <= tolerance).all():
            break
        wanted = WITHIN * tolerance / np.maximum(off, SHORTEST)
        spacing *= np.clip(wanted, 0.5, 1.5 if k < WIDER else 1.0)
    return Stretch(curve)


def _spaced(along: Floats, spacing: Floats) -> Floats:
    """Return lengths from the first to the last that have a spacing at some (K,) of them.

    It grows and falls by ``GROWTH`` in between, so that their number goes by its logarithm. Corners
    that are far from others are among them.
    """
    rise = (np.diff(along) + np.diff(spacing) / GROWTH) / 2.0
    widest = spacing[:-1] + GROWTH * rise
    steps = np.log([widest / spacing[:-1], widest / spacing[1:]]) / GROWTH
    whole = np.round(steps.sum(axis=0))
    share = np.where(whole >= 2.0, whole / steps.sum(axis=0), 1.0)
    number = np.append(0.0, np.cumsum((share * steps).T))
    begin = np.transpose([along[:-1], along[:-1] + rise]).ravel()
    first = np.transpose([spacing[:-1], widest]).ravel()
    growth = np.tile([GROWTH, -GROWTH], len(rise))
    wanted = np.linspace(0.0, number[-1], max(round(number[-1]), FEWEST) + 1)
    i = np.minimum(np.searchsorted(number, wanted, "right") - 1, len(first) - 1)
    further = growth[i] * (wanted - number[i]) / share[i // 2]
    grid = begin[i] + first[i] * np.expm1(further) / growth[i]
    grid[[0, -1]] = along[[0, -1]]
    return np.asarray(grid)


def needed(points: Floats, tolerance: float) -> tuple[Floats, float]:
    """Return those of points (K, n) that the others' lines miss, and by how much others miss them.

    No two that follow are at one place. Where a path's points are dense, as planners and recorders
    give them, most of them say nothing that their neighbours do not say. Of those between two the
    farthest is needed first, then those between it and either. A point is as far from a line as
    from where the path has got to on it, so that one that turns back on the same line counts.

    Args:
        points: [rad] or [m].
        tolerance: Distance of any joint from a line that is none [rad or m].

    Source: Douglas and Peucker, Algorithms for the Reduction of the Number of Points Required to
    Represent a Digitized Line, Cartographica 10, 1973.
    """
    taken = np.zeros(len(points), bool)
    taken[[0, -1]] = True
    between, off = [(0, len(points) - 1)], 0.0
    while between:
        first, last = between.pop()
        if last - first < 2:
            continue
        chord = points[last] - points[first]
        since = points[first + 1 : last] - points[first]
        share = np.clip(since @ chord / max(float(chord @ chord), SHORTEST**2), 0.0, 1.0)
        share = np.maximum.accumulate(share)[:, None]
        distance = np.abs(since - share * chord).max(axis=1)
        k = int(distance.argmax())
        if distance[k] > tolerance:
            middle = first + 1 + k
            taken[middle] = True
            between += [(first, middle), (middle, last)]
        else:
            off = max(off, float(distance[k]))
    corners = points[taken]
    moved = np.linalg.norm(np.diff(corners, axis=0), axis=1) > SHORTEST
    return corners[np.append(True, moved)], off


def _lengths(positions: Floats) -> Floats:
    """Return the length of the lines between positions (K, n) up to each (K,)."""
    return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(positions, axis=0), axis=1)))
