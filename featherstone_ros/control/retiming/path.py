"""A trajectory's path without its times: smooth stretches, between which the arm has to stop.

Parametrised by length in joint space: where a trajectory rests, its derivatives by time vanish, and
say nothing about where the path leads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.control.trajectory import Motion

CLOSE = 2e-4  # [rad or m] that a motion's curve is kept within
FEWEST, MOST = 16, 20_000  # points of a spline along a motion
PIECES = 8  # that each piece of a curve is looked at in, at first
FINEST = 20_000  # samples in search of lengths, corners and turning points, at most
SHORTEST = 1e-9  # [rad or m] of a path that leads anywhere
SIDE = 1e-5  # share of the length by which a direction is taken beside a point
CORNER = np.cos(np.radians(1.0))  # of the angle between two directions that are one
BACK = np.cos(np.radians(150.0))  # of a corner that is passed no faster rounded than with a stop
STRAIGHT = 0.25  # share of the tolerance of corners by which points on a line may miss it
CURVED = 4.0  # tolerances: less than this, a corner's turn times its longer line is slight
SPACINGS = np.linspace(1 / 3, 1 / 2, 6)  # reaches between a blend's control points, see ``_blend``


@dataclass(frozen=True, eq=False)
class Stretch:
    """A smooth path."""

    length: float  # about its length in joint space [rad or m]
    curve: Any  # polynomials of the positions (n,) by the length, or what is about it
    joints: Floats  # (K,) lengths at which the third derivative jumps, from 0 to the length
    grid: Floats  # lengths, from 0 on, in which to look at it at first

    @classmethod
    def through(cls, along: Floats, positions: Floats) -> Stretch:
        """Return the spline through at least 6 positions (K, n) at lengths (K,), from 0 on.

        It is of degree 5: its third derivative, by which the jerk goes, has no steps.
        """
        from scipy.interpolate import make_interp_spline

        curve = make_interp_spline(along, positions, 5)
        return cls(float(along[-1]), curve, along[[0, -1]], along)

    @classmethod
    def of_quintics(cls, along: Floats, states: Floats) -> Stretch:
        """Return polynomials of degree 5 between states (3, K, n): positions and derivatives."""
        from scipy.interpolate import BPoly

        curve = BPoly.from_derivatives(along, np.moveaxis(states, 1, 0))
        share = np.arange(PIECES) / PIECES
        between = along[:-1, None] + np.diff(along)[:, None] * share
        return cls(float(along[-1]), curve, along, np.append(between.ravel(), along[-1]))

    def at(self, along: Floats) -> tuple[Floats, Floats, Floats]:
        """Return positions and their first and second derivatives by the length, each (N, n)."""
        return self.curve(along), self.curve(along, 1), self.curve(along, 2)


def of_motion(motion: Motion, begin: float, end: float) -> list[Stretch]:
    """Return the path of a motion from one time to another [s]; where it rests does not matter.

    No joint is farther from it than ``CLOSE``: there are as many points as that takes.
    """
    time = _dense(motion, begin, end)
    slowest = _slowest(motion, time)
    time = np.unique(np.concatenate([time, slowest]))
    position = motion.sample(time)[0]
    along = _lengths(position)
    if along[-1] < SHORTEST:
        return []
    stops = [along[0], *_corners(motion, time, along, slowest), along[-1]]

    def at(wanted: Floats) -> Floats:
        return motion.sample(_times_at(wanted, along, time))[0]

    return [_following(at, first, last) for first, last in pairwise(stops)]


def _following(at: Callable[[Floats], Floats], first: float, last: float) -> Stretch:
    """Return the spline along positions by a length, from one length to another.

    Where it is off between two points, there will be more, and in their neighbourhood: next to
    each other, intervals differ in length by a factor of 2 at most.
    """
    grid = np.linspace(0.0, last - first, FEWEST)
    while True:
        stretch = Stretch.through(grid, at(first + grid))
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
    tolerance = blend - off
    curved = _curved(corners, tolerance)
    while True:
        found, missed = _rounded(corners, curved, tolerance)
        if not missed:
            return found
        curved[missed] = False


def _rounded(
    corners: Floats, curved: NDArray[np.bool_], tolerance: float
) -> tuple[list[Stretch], list[int]]:
    """Return the path of lines between corners (K, n), and those of a curve that is too far off.

    It is of lines, of blends between them, and where corners follow that are of a curve, of that.
    """
    ways = np.diff(corners, axis=0)
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    found, missed = [], []
    pieces, run = _Pieces(corners[0]), []
    for i in range(1, len(corners) - 1):
        if curved[i]:
            run.append(i)
            continue
        reach, length = _blend(corners[i - 1], corners[i], corners[i + 1], tolerance)
        if reach:
            pieces.lead(corners, run, corners[i] - reach * ways[i - 1], ways[i - 1])
            pieces.add(corners[i] + reach * ways[i], ways[i], length)
        else:
            pieces.lead(corners, run, corners[i], None)
            found.append(pieces)
            pieces = _Pieces(corners[i])
        run = []
    pieces.lead(corners, run, corners[-1], None)
    found.append(pieces)
    for part in found:
        missed += part.missing(tolerance)
    return [part.stretch() for part in found], missed


class _Pieces:
    """Polynomials of degree 5 that meet with equal first and second derivatives."""

    def __init__(self, begin: Floats) -> None:
        self._along = [0.0]
        self._states: list[tuple[Floats, Floats | None, Floats]] = [(begin, None, 0.0 * begin)]
        self._curved: list[int] = [-1]  # which corner of a curve each state is

    def add(self, end: Floats, way: Floats | None, length: float) -> None:
        """Append a piece that ends in a direction (n,), without curvature; None: any."""
        self._along.append(self._along[-1] + length)
        self._states.append((end, way, 0.0 * end))
        self._curved.append(-1)

    def lead(self, corners: Floats, run: list[int], end: Floats, way: Floats | None) -> None:
        """Append a line, or the curve through some of the corners (K, n), to where it ends."""
        from scipy.interpolate import CubicSpline

        begin, before, _ = self._states[-1]
        points = np.concatenate([begin[None], corners[run], end[None]])
        along = _lengths(points)
        if along[-1] <= SHORTEST:
            return
        if run:
            ends = [(2, 0.0 * end) if to is None else (1, to) for to in (before, way)]
            spline = CubicSpline(along, points, bc_type=ends)
            first, second = spline(along, 1), spline(along, 2)
        else:
            first = np.repeat((end - begin)[None] / along[-1], 2, axis=0)
            second = 0.0 * first
        if before is None:
            self._states[-1] = begin, first[0], 0.0 * begin
        since = self._along[-1]
        for k, i in enumerate(run, 1):
            self._along.append(since + along[k])
            self._states.append((points[k], first[k], second[k]))
            self._curved.append(i)
        self.add(end, first[-1], along[-1] - along[-2])
        self._along[-1] = since + along[-1]

    def stretch(self) -> Stretch:
        """Return them."""
        states = np.moveaxis(np.array(self._states), 1, 0)
        return Stretch.of_quintics(np.array(self._along), states)

    def missing(self, tolerance: float) -> list[int]:
        """Return the corners of a curve beside which it is farther than this from the lines."""
        curved = np.array(self._curved)
        at = np.flatnonzero((curved[:-1] >= 0) | (curved[1:] >= 0))
        if not len(at):
            return []
        stretch = self.stretch()
        begin, end = stretch.joints[at, None], stretch.joints[at + 1, None]
        share = np.linspace(0.0, 1.0, 9)[1:-1]
        points = stretch.curve(stretch.joints)
        chord = (points[at + 1] - points[at])[:, None]
        since = stretch.curve(begin + share * (end - begin)) - points[at, None]
        along = np.clip((since * chord).sum(axis=2) / (chord * chord).sum(axis=2), 0.0, 1.0)
        off = np.abs(since - along[..., None] * chord).max(axis=(1, 2))
        far = at[off > tolerance]
        return [i for i in curved[np.concatenate([far, far + 1])].tolist() if i >= 0]


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


def _blend(before: Floats, corner: Floats, after: Floats, tolerance: float) -> tuple[float, float]:
    """Return the reach of a blend round a corner, which replaces that much of both lines; 0: none.

    A blend is a polynomial of degree 5 that leaves and meets the lines with a curvature of zero.
    Three of its control points are on each line, ``spacing`` times the reach apart. The longest,
    of the widest spacing, has the least curvature and change of it. Where the lines are too short
    for that, a closer spacing lets it cut the corner by what is left of the tolerance.

    Returns:
        Its reach, and its length in parameter [rad or m].

    Source: Farin, Curves and Surfaces for CAGD, 2002, sections 5.1 and 5.3.
    """
    lengths = np.linalg.norm([corner - before, after - corner], axis=1)
    one, other = (corner - before) / lengths[0], (after - corner) / lengths[1]
    if tolerance == 0.0 or one @ other < BACK:
        return 0.0, 0.0
    share = np.linspace(0.0, 1.0, 257)[:, None, None]
    along = share**5 + 5.0 * share**4 * (1.0 - share) * (1.0 - SPACINGS[:, None])
    along += 10.0 * share**3 * (1.0 - share) ** 2 * (1.0 - 2.0 * SPACINGS[:, None])
    point = along * other - along[::-1] * one  # of a reach of 1
    off = [
        np.abs(point - np.maximum(point @ way, 0.0)[..., None] * way).max(axis=2)
        for way in (-one, other)
    ]
    off = np.maximum(np.minimum(*off).max(axis=0), np.abs(point[len(share) // 2]).max(axis=1))
    off = np.maximum(off, SHORTEST)  # (spacings,), the wider the less
    reach = float(min(lengths.min() / 2.0, tolerance / off[-1]))
    spacing = float(np.interp(-tolerance / reach, -off, SPACINGS))
    return reach, 5.0 * spacing * reach


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
