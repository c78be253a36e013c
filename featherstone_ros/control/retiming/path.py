"""A trajectory's path without its times: smooth stretches, between which the arm has to stop.

Parametrised by length in joint space: where a trajectory rests, its derivatives by time vanish, and
say nothing about where the path leads.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.control.motion import Motion

SAMPLES = 400  # of a stretch, which a cubic spline joins
FINEST = 20_000  # samples in search of lengths, corners and turning points, at most
SHORTEST = 1e-9  # [rad or m] of a path that leads anywhere
SIDE = 1e-5  # share of the length by which a direction is taken beside a point
CORNER = np.cos(np.radians(1.0))  # of the angle between two directions that are one
BACK = np.cos(np.radians(150.0))  # of a corner that is passed no faster rounded than with a stop
STRAIGHT = 0.25  # share of the tolerance of corners by which points on a line may miss it
CURVED = 4.0  # tolerances: less than this, a corner's turn times its longer line is slight
BLEND_SHAPE = 3.5 / 32.0  # distance of a blend's middle from the corner, see ``_blend``
BLEND_SAMPLES = 25


@dataclass(frozen=True, eq=False)
class Stretch:
    """A smooth path.

    Attributes:
        length: About its length in joint space [rad or m].
        curve: Cubic spline of the positions (n,) by the length.
    """

    length: float
    curve: Any

    @classmethod
    def through(cls, positions: Floats) -> Stretch:
        """Return the spline through positions (K, n), of which no two that follow are equal."""
        from scipy.interpolate import CubicSpline

        along = _lengths(positions)
        return cls(float(along[-1]), CubicSpline(along, positions))

    def at(self, along: Floats) -> tuple[Floats, Floats, Floats]:
        """Return positions and their first and second derivatives by the length, each (N, n)."""
        return self.curve(along), self.curve(along, 1), self.curve(along, 2)


def of_motion(motion: Motion, begin: float, end: float) -> list[Stretch]:
    """Return the path of a motion from one time to another [s]; where it rests does not matter."""
    time = _dense(motion, begin, end)
    slowest = _slowest(motion, time)
    time = np.unique(np.concatenate([time, slowest]))
    position = motion.sample(time)[0]
    along = _lengths(position)
    if along[-1] < SHORTEST:
        return []
    stops = [along[0], *_corners(motion, time, along, slowest), along[-1]]
    found = []
    for first, last in pairwise(stops):
        count = max(int(SAMPLES * (last - first) / along[-1]), 20)
        wanted = np.linspace(first, last, count)
        found.append(Stretch.through(motion.sample(_times_at(wanted, along, time))[0]))
    return found


def of_corners(positions: Floats, blend: float) -> list[Stretch]:
    """Return the path of straight lines between positions (K, n), its corners rounded.

    Args:
        positions: [rad] or [m].
        blend: Greatest distance of any joint from the corners [rad or m]; 0: the arm stops there,
            as it does in any case where the path turns back.
    """
    corners, off = needed(positions, STRAIGHT * blend)
    if len(corners) < 2:
        return []
    tolerance = blend - off
    curved = _curved(corners, tolerance)
    while True:
        stretches: list[list[tuple[int, Floats]]] = [[(0, corners[:1])]]
        for i in range(1, len(corners) - 1):
            here = corners[i : i + 1]
            rounded = (
                here if curved[i] else _blend(corners[i - 1], here[0], corners[i + 1], tolerance)
            )
            stretches[-1].append((i, here if rounded is None else rounded))
            if rounded is None:
                stretches.append([(i, here)])
        stretches[-1].append((len(corners) - 1, corners[-1:]))
        found, missed = [], []
        for parts in stretches:
            points, of_corner = _with_lines(parts, curved)
            found.append(Stretch.through(points))
            missed += [of_corner[at] for at in _missing(found[-1], tolerance)]
        if not curved[missed].any():
            return found
        curved[missed] = False


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


def _curved(corners: Floats, tolerance: float) -> NDArray[np.bool_]:
    """Return which of corners (K, n) are points of a curve: turns so slight that it may be smooth.

    Between two of them, a curve through both is about an eighth of turn times distance from the
    line. A blend between close points would be short, and its curvature many times the curve's.
    """
    ways = np.diff(corners, axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    ways /= lengths[:, None]
    turn = np.abs(np.diff(ways, axis=0)).max(axis=1)
    slight = turn * np.maximum(lengths[1:], lengths[:-1]) < CURVED * tolerance
    return np.concatenate([[False], slight, [False]])


def _blend(before: Floats, corner: Floats, after: Floats, tolerance: float) -> Floats | None:
    """Return positions (K, n) round a corner, None for a stop.

    A Bézier curve of degree 5 whose first three and last three points are equally spaced on the two
    lines: its curvature is zero where it meets them. Its middle is ``BLEND_SHAPE`` times its reach
    times the difference of the lines' directions from the corner, no other point of it is farther
    from the lines.

    Source: Farin, Curves and Surfaces for CAGD, 2002, sections 5.1 and 5.3.
    """
    lengths = np.linalg.norm([corner - before, after - corner], axis=1)
    one, other = (corner - before) / lengths[0], (after - corner) / lengths[1]
    if one @ other > 1.0 - 1e-12:
        return corner[None]
    if tolerance == 0.0 or one @ other < BACK:
        return None
    reach = min(lengths.min() / 2.0, tolerance / (BLEND_SHAPE * np.abs(other - one).max()))
    share = np.linspace(0.0, 1.0, BLEND_SAMPLES)[:, None]
    on_one = (1.0 - share) ** 5 + 2.5 * share * (1.0 - share) ** 4
    on_other = share**5 + 2.5 * share**4 * (1.0 - share)
    return corner + reach * (on_other * other - on_one * one)


def _with_lines(
    parts: list[tuple[int, Floats]], curved: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.intp]]:
    """Return a path's parts, each at a corner, and samples of the straight lines that join them.

    Lines to and from a corner of a curve have none: there the spline through the points leads.

    Returns:
        Positions (K, n), and the corner (K,) of each; of a line's, the one at its end.
    """
    joined, of_corner = [parts[0][1]], [np.full(len(parts[0][1]), parts[0][0])]
    for (i, before), (k, after) in pairwise(parts):
        begin, end = before[-1], after[0]
        if curved[i] or curved[k]:
            added = after
        else:
            share = np.linspace(0.0, 1.0, 9)[1:-1, None]
            added = np.concatenate([begin + share * (end - begin), after])
        if np.linalg.norm(end - begin) <= SHORTEST:
            added = after[1:]
        joined.append(added)
        of_corner.append(np.full(len(added), k))
    return np.concatenate(joined), np.concatenate(of_corner)


def _missing(stretch: Stretch, tolerance: float) -> NDArray[np.intp]:
    """Return the points of a curve beside which it is farther than this from the lines between."""
    begin, end = stretch.curve.x[:-1, None], stretch.curve.x[1:, None]
    share = np.linspace(0.0, 1.0, 9)[1:-1]
    points = stretch.curve(stretch.curve.x)
    chord = np.diff(points, axis=0)[:, None]
    since = stretch.curve(begin + share * (end - begin)) - points[:-1, None]
    along = np.clip((since * chord).sum(axis=2) / (chord * chord).sum(axis=2), 0.0, 1.0)
    off = np.abs(since - along[..., None] * chord).max(axis=(1, 2))
    at = np.flatnonzero(off > tolerance)
    return np.concatenate([at, at + 1])


def _lengths(positions: Floats) -> Floats:
    """Return the length of the lines between positions (K, n) up to each (K,)."""
    return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(positions, axis=0), axis=1)))


def _times_at(wanted: Floats, along: Floats, time: Floats) -> Floats:
    """Return the times of lengths of the path; of those at which it rests, the first."""
    moved = np.append(True, np.diff(along) > 0.0)
    return np.interp(wanted, along[moved], time[moved])


def _dense(motion: Motion, begin: float, end: float) -> Floats:
    """Return times within and at the corners of a motion [s]."""
    between = motion.corners[(motion.corners > begin) & (motion.corners < end)]
    corners = np.array([begin, *between, end])
    count = max(FINEST // len(corners), 4)
    share = np.linspace(0.0, 1.0, count, endpoint=False)
    return np.append((corners[:-1, None] + np.diff(corners)[:, None] * share).ravel(), end)


def _slowest(motion: Motion, time: Floats) -> Floats:
    """Return the times between others at which the speed is least [s]: there it may turn back."""
    speed = np.linalg.norm(motion.sample(time)[1], axis=1)
    dip = (speed[1:-1] <= speed[:-2]) & (speed[1:-1] <= speed[2:])
    at = np.flatnonzero(dip & (speed[1:-1] < 0.01 * speed.max())) + 1
    begin, end = time[at - 1], time[at + 1]
    for _ in range(20):
        tried = begin + (end - begin) * np.linspace(0.0, 1.0, 9)[:, None]
        speed = np.linalg.norm(motion.sample(tried.ravel())[1], axis=1).reshape(tried.shape)
        least = speed.argmin(axis=0)
        column = np.arange(len(at))
        begin, end = (
            tried[np.maximum(least - 1, 0), column],
            tried[np.minimum(least + 1, 8), column],
        )
    return (begin + end) / 2.0


def _corners(motion: Motion, time: Floats, along: Floats, slowest: Floats) -> list[float]:
    """Return the lengths at which the path has another direction before than after."""
    within = motion.corners[(motion.corners > time[0]) & (motion.corners < time[-1])]
    at = np.interp(np.concatenate([within, slowest]), time, along)
    side = SIDE * along[-1]
    at = np.unique(at[(at > side) & (at < along[-1] - side)])
    before, here, after = (
        motion.sample(_times_at(at + step, along, time))[0] for step in (-side, 0.0, side)
    )
    one, other = here - before, after - here
    cosine = (one * other).sum(axis=1) / (
        np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    )
    turns = at[cosine < CORNER].tolist()
    return [length for i, length in enumerate(turns) if i == 0 or length - turns[i - 1] > side]
