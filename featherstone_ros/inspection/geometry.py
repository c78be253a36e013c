"""Size of the links: the bounding box of each link's geometry, in the link's frame."""

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError
from featherstone_ros.inspection import meshes
from featherstone_ros.inspection.meshes import MeshError
from featherstone_ros.model import urdf

PLACEHOLDER = 0.005  # [m] half diagonal up to which a shape stands for none
MeshCache = dict[str, Floats | MeshError]  # URI to a mesh's points (3, P), or why there are none


class Box(NamedTuple):
    """Corners of a box along the axes of a link's frame, each (3,) [m]."""

    lower: Floats
    upper: Floats

    @property
    def half(self) -> Floats:
        """(3,) half its edges [m]."""
        return (self.upper - self.lower) / 2

    @property
    def half_diagonal(self) -> float:
        """Distance from the centre to a corner [m]: the radius of the circumscribed ball."""
        return float(np.linalg.norm(self.half))

    @property
    def volume(self) -> float:
        """[m^3]."""
        return float(np.prod(2 * self.half))

    def distance(self, point: Floats) -> float:
        """Return the distance of a point from the box, 0 inside [m]."""
        beyond = np.maximum(np.maximum(self.lower - point, point - self.upper), 0.0)
        return float(np.linalg.norm(beyond))

    def around(self, other: "Box") -> "Box":
        """Return the smallest box around both."""
        return Box(np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper))


@dataclass(frozen=True)
class Shape:
    """The geometry of one link, visual and collision."""

    drawn: bool = False  # whether there is any geometry
    box: Box | None = None  # around all of it; None if some of it could not be measured
    # the reason for each piece of geometry that could not be measured
    unknown: tuple[str, ...] = ()


def shapes(root: Element, folder: Path | None) -> dict[str, Shape]:
    """Measure all links of a URDF.

    ``folder``: the file's folder, to find meshes; None if the text came without a file.
    """
    cache: MeshCache = {}
    return {
        link.get("name", ""): _shape(link, folder, cache) for link in urdf.children(root, "link")
    }


def boxes(drawn: dict[str, Shape]) -> dict[str, Box]:
    """Return the boxes of the links whose geometry could all be measured; no placeholders'."""
    return {
        name: shape.box
        for name, shape in drawn.items()
        if shape.box is not None and shape.box.half_diagonal > PLACEHOLDER
    }


def _shape(link: Element, folder: Path | None, cache: MeshCache) -> Shape:
    elements = [*urdf.children(link, "collision"), *urdf.children(link, "visual")]
    boxes, unknown = [], []
    for element in elements:
        try:
            boxes.append(_box(element, folder, cache))
        except (MeshError, ModelError) as error:
            unknown.append(str(error))
    box = reduce(Box.around, boxes) if boxes and not unknown else None
    return Shape(bool(elements), box, tuple(dict.fromkeys(unknown)))


def _box(element: Element, folder: Path | None, cache: MeshCache) -> Box:
    R, p = urdf.read_origin(element, f"<{urdf.tag(element)}>")
    solids = [solid for geometry in urdf.children(element, "geometry") for solid in geometry]
    if not solids:
        raise MeshError("no <geometry>")
    kind = urdf.tag(solids[0])
    if kind == "mesh":
        points = _mesh(solids[0], folder, cache)
        scale = np.array(urdf.vector(solids[0], "scale", "<mesh>", (1.0, 1.0, 1.0)))
        rows = (R * scale) @ points  # the extremes of three long rows take least time
        return Box(rows.min(axis=1) + p, rows.max(axis=1) + p)
    if kind not in _HALF:
        raise MeshError(f"<{kind}> is not measured")
    half = _HALF[kind](solids[0], R)
    return Box(p - half, p + half)


def _half_box(solid: Element, R: Floats) -> Floats:
    return np.abs(R) @ np.array(urdf.vector(solid, "size", "<box>")) / 2


def _half_cylinder(solid: Element, R: Floats) -> Floats:
    """Half of the axis plus the end circles' extent, r sin(angle between axis and direction)."""
    radius, length = (urdf.number(solid, key, "<cylinder>") for key in ("radius", "length"))
    cosine = np.abs(R[:, 2])
    return cosine * length / 2 + radius * np.sqrt(np.maximum(1 - cosine**2, 0))


def _half_capsule(solid: Element, R: Floats) -> Floats:
    radius, length = (urdf.number(solid, key, "<capsule>") for key in ("radius", "length"))
    return np.abs(R[:, 2]) * length / 2 + radius


def _half_sphere(solid: Element, R: Floats) -> Floats:
    return np.full(3, urdf.number(solid, "radius", "<sphere>"))


_HALF = {
    "box": _half_box,
    "cylinder": _half_cylinder,
    "capsule": _half_capsule,
    "sphere": _half_sphere,
}


def _mesh(solid: Element, folder: Path | None, cache: MeshCache) -> Floats:
    """Return the coordinates of a mesh's points in its own frame (3, P); each file is read once."""
    uri = solid.get("filename", "")
    if uri not in cache:
        try:
            cache[uri] = meshes.points(meshes.find(uri, folder)).T
        except MeshError as error:
            cache[uri] = MeshError(f"{uri[:200]}: {error}")
    points = cache[uri]
    if isinstance(points, MeshError):
        raise points
    return points
