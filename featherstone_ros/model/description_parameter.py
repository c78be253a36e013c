"""Values of the parameter ``robot_description``: URDF text, or the path of a file."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from featherstone_ros.errors import ModelError
from featherstone_ros.model.model import read_description
from featherstone_ros.model.robots import robot_source, split_source
from featherstone_ros.model.share import package_folders

SHOWN = 60  # [characters] of a bad value in messages
EXPECTED = (
    "expected URDF text, which begins with '<', or a .urdf or .xacro file: its path, "
    "file:///path or package://package/path"
)


def description_text(value: str) -> str:
    """Return the URDF text that a value of ``robot_description`` stands for.

    ``value``: the text itself (returned as it is, like the empty string), a path, ``file://`` or
    ``package://``; behind a xacro file its arguments, as in ``arm.xacro name:=a``.
    """
    place = value.strip()
    if not place or place.lstrip("\ufeff").startswith("<"):
        return value
    if "\n" in place:
        raise ModelError(f"it begins with {place[:SHOWN]!r}, {EXPECTED}")
    file, arguments = split_source(place)
    path = robot_source(described_file(file), arguments)
    try:
        return read_description(path)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        reason = getattr(error, "strerror", None) or error
        shown = place if len(place) <= SHOWN else f"{place[:SHOWN]}..."
        raise ModelError(f"it is {shown!r}, and no such file: {reason}; {EXPECTED}") from None


def described_file(place: str) -> Path:
    """Return the file that a path, a ``file://`` or a ``package://`` URI names."""
    if place.startswith("package://"):
        package, _, inside = unquote(place.removeprefix("package://")).partition("/")
        for folder in package_folders(package):
            if folder.is_dir():
                return folder / inside
        raise ModelError(f"package {package!r} is not found")
    if place.startswith("file://"):
        return Path(unquote(place.removeprefix("file://").removeprefix("localhost")))
    return Path(place).expanduser()
