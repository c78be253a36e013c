"""Self-collision and floor checks, by the boxes around the links.

Two boxes are apart by the largest gap between their shadows on the axes of one, of the other, and
on those at right angles to an edge of each (S. Gottschalk et al., "OBBTree", SIGGRAPH 1996): that
is never more than their distance, and negative where they overlap. Pairs of links are checked
unless they are neighbours, or their boxes overlap in most poses, as those of wrists do, or the user
waives them. The floor is z = 0 of the base link's frame, for links that are above it in most poses.
Who is usually nearer than the margin, as two fingers or the shoulder of a table arm, need not keep
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError, UnknownNameError
from featherstone_ros.inspection.geometry import Box, boxes, shapes
from featherstone_ros.inspection.plausibility import random_postures
from featherstone_ros.model import Model, urdf

FLOOR = "floor"  # what links are checked against beside each other
FAR = 0.05  # [m] between the balls around two boxes that need no other distance
PARALLEL = 1e-3  # sine of the angle between edges that have no axis of their own
POSES = 200  # random poses that decide which pairs are checked
MARGIN = 0.02  # [m] least distance
TOUCH = 0.005  # [m] by which boxes may come closer than at the start, or than usual; no overlap


@dataclass(frozen=True, eq=False)
class Clearance:
    """Boxes around the links of a model."""

    model: Model  # the robot
    links: tuple[str, ...]  # names of the links that have a box
    centres: Floats  # (k, 3) of each box in its link's frame [m]
    halves: Floats  # (k, 3) half its edges [m]
    pairs: tuple[tuple[int, int], ...]  # indices of the links that are checked against each other
    above: tuple[int, ...]  # indices of links that must stay above the floor
    unknown: tuple[str, ...]  # names of links whose geometry could not be measured
    needed: Floats  # least distance [m] that each pair and each link above the floor must keep

    @classmethod
    def of(
        cls,
        model: Model,
        text: str | bytes,
        folder: Path | None,
        waived: Sequence[tuple[str, str]] = (),
        drawn: Mapping[str, Box | str] | None = None,
    ) -> Clearance:
        """Put boxes around the links of a URDF, whose meshes are looked for in a folder.

        ``waived``: pairs of links that may touch, or of one and ``FLOOR``. ``drawn``: the geometry
        of the links where it has been measured; None: it is here.
        """
        for name in (name for pair in waived for name in pair):
            if name not in (*model.link_names, FLOOR):
                raise UnknownNameError("link", name, (*model.link_names, FLOOR))
        allowed = {frozenset(pair) for pair in waived}
        if drawn is None:
            drawn = shapes(urdf.read_xml(text), folder)
        measured = boxes(drawn)
        links = tuple(measured)
        corners = [(box.lower, box.upper) for box in measured.values()]
        lower, upper = np.array(corners, float).reshape(-1, 2, 3).swapaxes(0, 1)
        bare = cls(
            model,
            links,
            (lower + upper) / 2,
            (upper - lower) / 2,
            tuple(
                (i, j)
                for i, j in _distant_pairs(model, links)
                if frozenset((links[i], links[j])) not in allowed
            ),
            tuple(
                k
                for k, link in enumerate(links)
                if _body(model, link) >= 0 and frozenset((link, FLOOR)) not in allowed
            ),
            tuple(name for name, box in drawn.items() if isinstance(box, str)),
            np.empty(0),
        )
        return bare._without_what_always_touches()

    def min_distance(self, q: Floats) -> float:
        """Return the smallest distance [m] in poses (B, n), negative where boxes overlap."""
        between, below = self._distances(q)
        return float(min(between.min(initial=np.inf), below.min(initial=np.inf)))

    def free(self, q: Floats) -> NDArray[np.bool_]:
        """Return whether everything keeps its distance in each of poses (B, n)."""
        return np.asarray((self.missing(q) <= 0.0).all(axis=1))

    def missing(self, q: Floats) -> Floats:
        """Return by how much the pairs, then the links above the floor, miss their distance (B, k).

        Negative where they keep it [m].
        """
        return np.asarray(self.needed - np.hstack(self._distances(q)), float)

    def named(self, k: int) -> str:
        """Return a pair, or a link and the floor, in words; k as in ``missing``."""
        first, second = self._two(k)
        return f"{first} and {second}"

    def moving(self, k: int) -> NDArray[np.bool_]:
        """Return which joints (n,) move a pair, or a link and the floor, relative to each other."""
        first, second = (
            set() if link == FLOOR else chain(self.model, _body(self.model, link))
            for link in self._two(k)
        )
        moves = np.zeros(self.model.n, dtype=bool)
        moves[self.model.tree.dof[list(first ^ second)]] = True
        return moves

    def _two(self, k: int) -> tuple[str, str]:
        if k < len(self.pairs):
            i, j = self.pairs[k]
            return self.links[i], self.links[j]
        return self.links[self.above[k - len(self.pairs)]], FLOOR

    def standing(self, q: Floats) -> Clearance:
        """Return the check for an arm that starts at q (n,), with the distances there allowed."""
        there = np.hstack(self._distances(q[None]))[0]
        touching = [
            f"{self.named(k)} overlap by {-1e3 * there[k]:.0f} mm"
            for k in np.flatnonzero(there < 0.0).tolist()
        ]
        if touching:
            raise FeatherstoneError(
                "at the start the boxes around "
                + "; ".join(touching)
                + ": another start (initial_positions), or --may-touch for each"
            )
        return replace(self, needed=np.minimum(self.needed, np.maximum(there - TOUCH, 0.0)))

    def describe(self) -> str:
        """Say in words what is checked."""
        if not self.links:
            return "no geometry that could be measured: neither itself nor the floor is checked"
        floor = f"the floor (z = 0) for {len(self.above)} links" if self.above else "no floor"
        text = (
            f"checked by the boxes around {len(self.links)} links: {len(self.pairs)} pairs, and "
            f"{floor}"
        )
        unknown = f"; geometry not found: {', '.join(self.unknown)}" if self.unknown else ""
        return text + unknown

    def _distances(self, q: Floats) -> tuple[Floats, Floats]:
        """Return distances (B, pairs) between links and (B, above) to the floor."""
        dynamics = Dynamics(self.model)
        poses = np.array([dynamics.link_pose(q, link) for link in self.links]).reshape(
            -1, len(q), 4, 4
        )
        R, centre = poses[:, :, :3, :3], np.empty((len(self.links), len(q), 3))
        for k, at in enumerate(self.centres):
            centre[k] = R[k] @ at + poses[k, :, :3, 3]
        first, second = np.array(self.pairs, dtype=np.intp).reshape(-1, 2).T
        way, radius = centre[second] - centre[first], np.linalg.norm(self.halves, axis=1)
        between = np.linalg.norm(way, axis=2) - (radius[first] + radius[second])[:, None]
        pair, at = np.nonzero(between < FAR)
        i, j = first[pair], second[pair]
        between[pair, at] = _gaps(R[i, at], R[j, at], way[pair, at], self.halves[i], self.halves[j])
        above = list(self.above)
        reach = (np.abs(R[above, :, 2]) * self.halves[above][:, None]).sum(axis=2)
        return between.T, (centre[above, :, 2] - reach).T

    def _without_what_always_touches(self) -> Clearance:
        between, below = (
            np.median(each, axis=0) for each in self._distances(random_postures(self.model, POSES))
        )
        pairs = [pair for pair, usual in zip(self.pairs, between, strict=True) if usual > 0.0]
        above = [link for link, usual in zip(self.above, below, strict=True) if usual > 0.0]
        usual = np.concatenate([between, below])
        needed = np.clip(usual[usual > 0.0] - TOUCH, 0.0, MARGIN)
        return replace(self, pairs=tuple(pairs), above=tuple(above), needed=needed)


def _gaps(A: Floats, B: Floats, way: Floats, a: Floats, b: Floats) -> Floats:
    """Return the largest gap (...) between the shadows of two boxes on their axes.

    ``A``, ``B`` (..., 3, 3) the axes of each; ``a``, ``b`` (..., 3) half their edges; ``way``
    (..., 3) from the centre of the first to that of the second.
    """
    At = np.swapaxes(A, -1, -2)
    C = At @ B
    size, t = np.abs(C), (At @ way[..., None])[..., 0]
    u = (np.swapaxes(B, -1, -2) @ way[..., None])[..., 0]
    gaps = [
        np.abs(t) - a - (size @ b[..., None])[..., 0],
        np.abs(u) - b - (np.swapaxes(size, -1, -2) @ a[..., None])[..., 0],
    ]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        sine = np.sqrt(np.maximum(1.0 - C[..., i, :] ** 2, 0.0))
        apart = np.abs(t[..., [k]] * C[..., j, :] - t[..., [j]] * C[..., k, :])
        reach = a[..., [j]] * size[..., k, :] + a[..., [k]] * size[..., j, :]
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            across = b[..., n] * size[..., i, o] + b[..., o] * size[..., i, n]
            gap = (apart[..., m] - reach[..., m] - across) / np.maximum(sine[..., m], PARALLEL)
            gaps.append(np.where(sine[..., m] > PARALLEL, gap, -np.inf)[..., None])
    return np.asarray(np.concatenate(gaps, axis=-1).max(axis=-1), float)


def chain(model: Model, body: int) -> set[int]:
    """Return a body and those that carry it, but for the base."""
    found = set[int]()
    while body >= 0:
        found.add(body)
        body = int(model.tree.parent[body])
    return found


def _body(model: Model, link: str) -> int:
    return int(model.tree.link_body[model.link_names.index(link)])


def _distant_pairs(model: Model, links: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return pairs of links with at least two joints between them."""
    parent = [*model.tree.parent, -1]
    pairs = []
    for i, first in enumerate(links):
        for j in range(i + 1, len(links)):
            a, b = _body(model, first), _body(model, links[j])
            near = a == b or (a >= 0 and parent[a] == b) or (b >= 0 and parent[b] == a)
            if not near:
                pairs.append((i, j))
    return pairs
