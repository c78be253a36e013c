"""What MoveIt times paths by, written anew from its papers: to compare with.

Straight lines between postures, circles round their corners (section IV), and the fastest timing
within limits of velocity and acceleration. The limit curves are those of section V; instead of
searching for switching points, one pass back and one forth over a fine grid find the same timing.

Sources: T. Kunz and M. Stilman, Time-Optimal Trajectory Generation for Path Following with Bounded
Acceleration and Velocity, RSS 2012; MoveIt's documentation of time parameterization for the
correction by torque: where a joint's torque is too large, its acceleration limit becomes a tenth
smaller, and all is timed again, at most ten times.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featherstone_ros.arrays import Floats

SPACING = 5e-3  # [rad] of the grid
ATTEMPTS, SMALLER = 10, 0.9  # of the correction
PARALLEL = 1e-9


def circular_path(corners: Floats, most: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return a path's length (N + 1,), positions, first and second derivatives (N + 1, n).

    Args:
        corners: (K, n).
        most: Greatest distance of the path from a corner.
    """
    parts, begin = [], corners[0]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        one, other = (way / np.linalg.norm(way) for way in (corner - before, after - corner))
        angle = np.arccos(np.clip(one @ other, -1.0, 1.0))
        if angle < PARALLEL:
            continue
        lengths = np.linalg.norm(corner - before), np.linalg.norm(after - corner)
        bend = most * np.sin(angle / 2.0) / (1.0 - np.cos(angle / 2.0))
        reach = min(lengths[0] / 2.0, lengths[1] / 2.0, bend)
        radius = reach / np.tan(angle / 2.0)
        parts.append(_line(begin, corner - reach * one))
        parts.append(_circle(corner - reach * one, one, other, radius, angle))
        begin = corner + reach * other
    parts.append(_line(begin, corners[-1]))
    length, rows = 0.0, []
    for s, *fields in parts:
        rows.append((length + s, *fields))
        length += s[-1]
    s, q, first, second = (np.concatenate(part) for part in zip(*rows, strict=True))
    kept = np.append(True, np.diff(s) > 1e-12)
    return s[kept], q[kept], first[kept], second[kept]


def _line(begin: Floats, end: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    length = float(np.linalg.norm(end - begin))
    s = np.linspace(0.0, length, max(int(length / SPACING), 2) + 1)
    direction = (end - begin) / max(length, 1e-12)
    return s, begin + s[:, None] * direction, np.tile(direction, (len(s), 1)), np.zeros(
        (len(s), len(begin))
    )  # fmt: skip


def _circle(
    begin: Floats, one: Floats, other: Floats, radius: float, angle: float
) -> tuple[Floats, Floats, Floats, Floats]:
    inwards = other - (other @ one) * one
    inwards = inwards / np.linalg.norm(inwards)
    s = np.linspace(0.0, radius * angle, max(int(radius * angle / SPACING), 16) + 1)
    turn = (s / radius)[:, None]
    q = begin + radius * (np.sin(turn) * one + (1.0 - np.cos(turn)) * inwards)
    first = np.cos(turn) * one + np.sin(turn) * inwards
    return s, q, first, (np.cos(turn) * inwards - np.sin(turn) * one) / radius


def squared_speeds(
    s: Floats, first: Floats, second: Floats, velocity: Floats, acceleration: Floats
) -> Floats:
    """Return the fastest squared speeds (N + 1,) from rest to rest within limits (n,)."""
    size = np.maximum(np.abs(first), 1e-12)
    room, bend = acceleration / size, second / np.where(np.abs(first) < 1e-12, 1e-12, first)
    curve = ((velocity / size) ** 2).min(axis=1)
    with np.errstate(divide="ignore"):
        gap = np.abs(bend[:, :, None] - bend[:, None, :])
        pairs = np.where(gap > 0.0, (room[:, :, None] + room[:, None, :]) / gap, np.inf)
        curve = np.minimum(curve, pairs.min(axis=(1, 2)))
    h2 = 2.0 * np.diff(s)
    x = curve.copy()
    x[[0, -1]] = 0.0
    for i in range(len(s) - 2, 0, -1):  # braking: u >= -room - bend x for all joints
        share = 1.0 - h2[i] * bend[i]
        bounds = (x[i + 1] + h2[i] * room[i])[share > 0.0] / share[share > 0.0]
        there = x[i + 1] + h2[i] * (room[i + 1] + bend[i + 1] * x[i + 1]).min()
        x[i] = max(min(x[i], bounds.min(initial=np.inf), there), 0.0)
    for i in range(len(s) - 1):  # speeding up: u <= room - bend x
        share = 1.0 + h2[i] * bend[i + 1]
        bounds = (x[i] + h2[i] * room[i + 1])[share > 0.0] / share[share > 0.0]
        here = x[i] + h2[i] * (room[i] - bend[i] * x[i]).min()
        x[i + 1] = max(min(x[i + 1], here, bounds.min(initial=np.inf)), 0.0)
    return x


def motion(
    s: Floats, q: Floats, first: Floats, second: Floats, x: Floats, step: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return times (M,), positions, velocities and accelerations (M, n), sampled evenly."""
    root = np.sqrt(x)
    took = 2.0 * np.diff(s) / np.maximum(root[1:] + root[:-1], 1e-9)
    node = np.append(0.0, np.cumsum(took))
    time = np.arange(0.0, node[-1], step)
    at = np.clip(np.searchsorted(node, time, "right") - 1, 0, len(s) - 2)
    u = (np.diff(x) / np.diff(s) / 2.0)[at]
    since = time - node[at]
    v = root[at] + u * since
    share = ((root[at] + v) * since / 2.0 / np.diff(s)[at])[:, None]

    def between(field: Floats) -> Floats:
        return field[at] + share * (field[at + 1] - field[at])

    v, u, direction = v[:, None], u[:, None], between(first)
    return time, between(q), direction * v, direction * u + between(second) * v**2


def corrected(
    path: tuple[Floats, Floats, Floats, Floats],
    velocity: Floats,
    acceleration: Floats,
    effort: Floats,
    torque: Callable[[Floats, Floats, Floats, Floats], Floats],
    step: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the motion after the correction by torque.

    Args:
        path: Of ``circular_path``.
        velocity: (n,) limits.
        acceleration: (n,) limits.
        effort: (n,) limits.
        torque: Of a motion's times, positions, velocities and accelerations.
        step: Between samples [s].
    """
    s, q, first, second = path
    acceleration = acceleration.copy()
    for _ in range(ATTEMPTS):
        x = squared_speeds(s, first, second, velocity, acceleration)
        found = motion(s, q, first, second, x, step)
        beyond = (np.abs(torque(*found)) > effort).any(axis=0)
        if not beyond.any():
            break
        acceleration[beyond] *= SMALLER
    return found
