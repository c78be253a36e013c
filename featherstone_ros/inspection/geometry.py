"""Size of the links: the bounding box of each link's geometry, in the link's frame.

Of meshes the points are read: just enough of STL, OBJ and COLLADA.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache, partial, reduce
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError

import numpy as np
from defusedxml import DefusedXmlException, ElementTree

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError
from featherstone_ros.model import urdf
from featherstone_ros.model.robots import package_around, package_folders
from featherstone_ros.model.rotations import rotation_about

PLACEHOLDER = 0.005  # [m] half diagonal up to which a shape stands for none
MAX_SIZE = 100_000_000  # [byte]
MAX_NODES = 10_000  # of a scene, counting every instance
MAX_DEPTH = 50  # of its nodes
MAX_POINTS = 5_000_000  # of a scene, likewise
_HEADER = 84  # [byte] before the first triangle of a binary STL
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])


class MeshError(Exception):
    """A mesh that cannot be measured; the message says why. It leads to a note, not an error."""


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


def shapes(root: Element, folder: Path | None) -> dict[str, Box | str]:
    """Measure the geometry of a URDF's links, visual and collision, if any; each mesh is read once.

    Of each link the box around all of it, or why some of it cannot be measured.
    """
    read = cache(partial(_mesh, folder=folder))
    found: dict[str, Box | str] = {}
    for link in urdf.children(root, "link"):
        elements = [*urdf.children(link, "collision"), *urdf.children(link, "visual")]
        try:
            if elements:
                found[link.get("name", "")] = reduce(Box.around, [_box(e, read) for e in elements])
        except (MeshError, ModelError) as error:
            found[link.get("name", "")] = str(error)
    return found


def boxes(drawn: Mapping[str, Box | str]) -> dict[str, Box]:
    """Return the boxes of the links whose geometry could all be measured; no placeholders'."""
    return {
        name: box
        for name, box in drawn.items()
        if isinstance(box, Box) and box.half_diagonal > PLACEHOLDER
    }


def _box(element: Element, read: Callable[[str], Floats | MeshError]) -> Box:
    R, p = urdf.Part(element, f"<{urdf.tag(element)}>").origin()
    solids = [solid for geometry in urdf.children(element, "geometry") for solid in geometry]
    if not solids:
        raise MeshError("no <geometry>")
    kind = urdf.tag(solids[0])
    solid = urdf.Part(solids[0], f"<{kind}>")
    if kind == "mesh":
        points = read(solids[0].get("filename", ""))
        if isinstance(points, MeshError):
            raise points
        scale = np.array(solid.numbers("scale", 3, (1.0, 1.0, 1.0)))
        rows = (R * scale) @ points  # the extremes of three long rows take least time
        return Box(rows.min(axis=1) + p, rows.max(axis=1) + p)
    if kind == "box":
        half = np.abs(R) @ np.array(solid.numbers("size", 3)) / 2
    elif kind == "sphere":
        half = np.full(3, solid.number("radius"))
    elif kind in ("cylinder", "capsule"):
        radius, cosine = solid.number("radius"), np.abs(R[:, 2])
        # A cylinder ends in circles, which extend by r sin(angle between axis and direction).
        round_end = 1.0 if kind == "capsule" else np.sqrt(np.maximum(1 - cosine**2, 0))
        half = cosine * solid.number("length") / 2 + radius * round_end
    else:
        raise MeshError(f"<{kind}> is not measured")
    return Box(p - half, p + half)


def _mesh(uri: str, folder: Path | None) -> Floats | MeshError:
    """Return the points of a mesh in its own frame (3, P), or why there are none."""
    try:
        return points(find(uri, folder)).T
    except MeshError as error:
        return MeshError(f"{uri[:200]}: {error}")


def find(uri: str, folder: Path | None) -> Path:
    """Return the file that a mesh's URI names, of a URDF in a folder (None: it has no file).

    ``package://name/rest`` is looked for in the folders above that (so meshes beside their URDF are
    found without ROS) and where ROS looks for packages.
    """
    scheme, _, rest = uri.rpartition("://")
    if scheme not in ("", "file", "package"):
        raise MeshError(f"{scheme}:// is not read")
    if scheme == "package":
        package, _, inside = rest.partition("/")
        candidates = [above / rest for above in folder.parents] if folder else []
        if folder and (around := package_around(folder / rest, package)):
            candidates.append(around / inside)
        candidates += [found / inside for found in package_folders(package)]
    else:
        candidates = [(folder or Path("/")) / rest] if folder or rest.startswith("/") else []
    for path in candidates:
        if os.path.isfile(path):  # a regular file, so reading does not block; no error ever
            return path
    raise MeshError("not found")


def points(path: Path) -> Floats:
    """Return the points of a mesh, (P, 3), in the mesh's frame and unit, each at least once."""
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise MeshError(f"{path.suffix or 'no suffix'}: only .stl, .obj and .dae are read")
    try:
        if path.stat().st_size > MAX_SIZE:
            raise MeshError(f"larger than {MAX_SIZE / 1e6:g} MB")
        found = read(path.read_bytes())
    except (OSError, ValueError, KeyError, IndexError, ParseError, DefusedXmlException) as error:
        raise MeshError(f"cannot be read: {error}") from error
    if not len(found) or not np.isfinite(found).all():
        raise MeshError("has no points, or some that are not finite")
    return found


def _stl(content: bytes) -> Floats:
    number = int.from_bytes(content[_HEADER - 4 : _HEADER], "little")
    if len(content) != _HEADER + number * _TRIANGLE.itemsize:
        return _lines(content, b"vertex")
    triangles = np.frombuffer(content, _TRIANGLE, number, _HEADER)
    return triangles["vertices"].reshape(-1, 3).astype(float)


def _lines(content: bytes, keyword: bytes) -> Floats:
    """Return the three numbers after the keyword of every line that begins with it."""
    rows = (line.split() for line in content.splitlines())
    return np.array([row[1:4] for row in rows if row and row[0] == keyword], float).reshape(-1, 3)


def _collada(content: bytes) -> Floats:
    """Return the scene's points in metres; up_axis is ignored, as in RViz."""
    root = ElementTree.fromstring(content)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    geometries = {g.get("id"): _positions(g) for g in root.iterfind("library_geometries/geometry")}
    nodes = {node.get("id"): node for node in root.iter("node")}
    unit = root.find("asset/unit")
    base = np.diag([*[float(1 if unit is None else unit.get("meter", 1))] * 3, 1.0])
    scenes = "library_visual_scenes/visual_scene/node"
    pending = [(node, base, 0) for node in reversed(root.findall(scenes))]
    instances, found = [], len(pending)
    while pending:
        node, pose, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nodes are nested more than {MAX_DEPTH} deep")
        for child in node:
            if child.tag in ("matrix", "translate", "scale", "rotate"):
                pose = pose @ _transform(child.tag, np.fromstring(child.text or "", sep=" "))
        for child in node:
            url = child.get("url", "").lstrip("#")
            if child.tag == "instance_geometry":
                instances.append((geometries[url], pose))
            elif child.tag in ("node", "instance_node"):
                found += 1
                if found > MAX_NODES:
                    raise ValueError(f"the scene has more than {MAX_NODES} nodes")
                below = child if child.tag == "node" else nodes[url]
                pending.append((below, pose, depth + 1))
    if sum(len(own) for own, _ in instances) > MAX_POINTS:
        raise ValueError(f"the scene has more than {MAX_POINTS} points")
    placed = [own @ pose[:3, :3].T + pose[:3, 3] for own, pose in instances]
    return np.concatenate(placed) if placed else np.zeros((0, 3))


def _positions(geometry: Element) -> Floats:
    """Return the vertices of a geometry, (P, 3)."""
    sources = {source.get("id"): source for source in geometry.iter("source")}
    arrays = []
    for entry in geometry.iterfind("mesh/vertices/input[@semantic='POSITION']"):
        text = sources[entry.get("source", "")[1:]].findtext("float_array") or ""
        arrays.append(np.fromstring(text, sep=" ").reshape(-1, 3))
    return np.concatenate(arrays) if arrays else np.zeros((0, 3))


def _transform(kind: str, numbers: Floats) -> Floats:
    """Return the pose (4, 4) of a COLLADA element; rotations are in degrees."""
    if kind == "matrix":
        return numbers.reshape(4, 4)
    if kind == "scale":
        return np.diag([*numbers, 1.0])
    pose = np.eye(4)
    if kind == "translate":
        pose[:3, 3] = numbers
    else:
        *axis, degrees = numbers
        pose[:3, :3] = rotation_about(np.array(axis) / np.linalg.norm(axis), np.radians(degrees))
    return pose


READERS: dict[str, Callable[[bytes], Floats]] = {
    ".stl": _stl,
    ".obj": partial(_lines, keyword=b"v"),
    ".dae": _collada,
}
