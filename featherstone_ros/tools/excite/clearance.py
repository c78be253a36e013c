"""Self-collision and floor checks, by balls around the links.

Each link's bounding box is enclosed by a row of balls along its longest edge: the link is clear of
whatever its balls are clear of. Pairs of links are checked unless they are neighbours, or their
balls overlap in most poses, as those of wrists do. The floor is z = 0 of the base link's frame, for
links that are above it in most poses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.inspection.free_model import random_postures
from featherstone_ros.inspection.geometry import Box, boxes, shapes
from featherstone_ros.model import Model, urdf

MAX_BALLS = 12  # of a link
POSES = 200  # random poses that decide which pairs are checked
ALWAYS = 0.5  # share of them in which a pair may overlap and still be checked
MARGIN = 0.02  # [m] least distance
TOUCH = 0.005  # [m] by which balls may come closer than in the arm's initial pose


@dataclass(frozen=True, eq=False)
class Clearance:
    """Balls around the links of a model.

    Attributes:
        model: The robot.
        links: Names of the links that have balls.
        centres: (k, 3) in its link's frame, of each link [m].
        radii: Radius of each link's balls [m].
        pairs: Indices of the links that are checked against each other.
        above: Indices of links that must stay above the floor.
        unknown: Names of links whose geometry could not be measured.
        needed: Least distance [m] that each pair and each link above the floor must keep.
    """

    model: Model
    links: tuple[str, ...]
    centres: tuple[Floats, ...]
    radii: tuple[float, ...]
    pairs: tuple[tuple[int, int], ...]
    above: tuple[int, ...]
    unknown: tuple[str, ...]
    needed: Floats

    @classmethod
    def of(cls, model: Model, text: str | bytes, folder: Path | None) -> Clearance:
        """Put balls around the links of a description.

        Args:
            model: Of the description.
            text: Its URDF.
            folder: Where meshes are looked for.
        """
        drawn = shapes(urdf.read_xml(text), folder)
        measured = boxes(drawn)
        balls = [_balls(box) for box in measured.values()]
        links = tuple(measured)
        bare = cls(
            model,
            links,
            tuple(centres for centres, _ in balls),
            tuple(radius for _, radius in balls),
            tuple(_distant_pairs(model, links)),
            tuple(k for k, link in enumerate(links) if _body(model, link) >= 0),
            tuple(name for name, shape in drawn.items() if shape.unknown),
            np.empty(0),
        )
        return bare._without_what_always_touches()

    def min_distance(self, q: Floats) -> float:
        """Return the smallest distance [m] in poses (B, n), negative where balls overlap."""
        between, below = self._distances(q)
        return float(min(between.min(initial=np.inf), below.min(initial=np.inf)))

    def is_free(self, q: Floats) -> bool:
        """Whether everything keeps its distance in poses (B, n)."""
        return bool((np.hstack(self._distances(q)) >= self.needed).all())

    def standing(self, q: Floats) -> Clearance:
        """Return the check for an arm that starts at q (n,), with the distances there allowed."""
        there = np.hstack(self._distances(q[None]))[0]
        return replace(self, needed=np.minimum(self.needed, there - TOUCH))

    def describe(self) -> str:
        """Say in words what is checked."""
        if not self.links:
            return "no geometry that could be measured: neither itself nor the floor is checked"
        floor = f"the floor (z = 0) for {len(self.above)} links" if self.above else "no floor"
        text = (
            f"checked by balls around boxes: {len(self.pairs)} pairs of {len(self.links)} links, "
            f"and {floor}"
        )
        unknown = f"; geometry not found: {', '.join(self.unknown)}" if self.unknown else ""
        return text + unknown

    def _distances(self, q: Floats) -> tuple[Floats, Floats]:
        """Return distances (B, pairs) between links and (B, above) to the floor."""
        dynamics = Dynamics(self.model)
        places = []
        for link, centres in zip(self.links, self.centres, strict=True):
            pose = dynamics.link_pose(q, link)
            places.append(centres @ np.swapaxes(pose[:, :3, :3], 1, 2) + pose[:, None, :3, 3])
        between = np.full((len(q), len(self.pairs)), np.inf)
        for k, (i, j) in enumerate(self.pairs):
            between_balls = np.linalg.norm(places[i][:, :, None] - places[j][:, None], axis=-1)
            between[:, k] = between_balls.min(axis=(1, 2)) - self.radii[i] - self.radii[j]
        below = [places[k][:, :, 2].min(axis=1) - self.radii[k] for k in self.above]
        return between, np.array(below).reshape(-1, len(q)).T

    def _without_what_always_touches(self) -> Clearance:
        model = self.model
        q = random_postures(model, POSES)
        between, below = self._distances(q)
        pairs = [p for p, d in zip(self.pairs, between.T, strict=True) if (d < 0).mean() < ALWAYS]
        above = [k for k, d in zip(self.above, below.T, strict=True) if (d < 0).mean() < ALWAYS]
        needed = np.full(len(pairs) + len(above), MARGIN)
        return replace(self, pairs=tuple(pairs), above=tuple(above), needed=needed)


def _balls(box: Box) -> tuple[Floats, float]:
    """Return centres (k, 3) and radius of balls in a row that hold a box."""
    half, centre = box.half, (box.lower + box.upper) / 2
    along = int(np.argmax(half))
    across = float(np.linalg.norm(np.delete(half, along)))
    k = int(np.clip(np.ceil(half[along] / max(across, 1e-3)), 1, MAX_BALLS))
    step = half[along] / k  # half the distance between two centres
    centres = np.repeat(centre[None], k, axis=0)
    centres[:, along] += (2 * np.arange(k) - k + 1) * step
    return centres, float(np.hypot(across, step))


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
