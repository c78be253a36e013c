"""Finds the files that come with the package: robots, parameters, launch files."""

import os
from collections.abc import Iterator
from pathlib import Path

from defusedxml import ElementTree


def share_directory() -> Path:
    """Return the absolute path of the folder that holds ``config/`` and ``launch/``.

    In a source tree (editable and symlink installs too) it is the folder above the package, so
    edits take effect at once; in an installation it is ``share/featherstone_ros`` under the
    package's prefix: a virtual environment, a colcon install space or ``/opt/ros``.
    """
    above = Path(__file__).resolve().parents[2:]
    for folder in (above[0], *(prefix / "share" / "featherstone_ros" for prefix in above)):
        if (folder / "package.xml").is_file():
            return folder
    raise FileNotFoundError(
        f"no share/featherstone_ros in any folder above {above[0]}: install the package anew"
    )


def package_folders(package: str) -> Iterator[Path]:
    """Yield where ROS keeps the files of a package; this package's own come without ROS, too."""
    if package == "featherstone_ros":
        yield share_directory()
    for variable in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"):
        for prefix in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(prefix, "share", package)
            yield Path(prefix, package)


def package_around(file: Path, package: str) -> Path | None:
    """Return the folder of a ROS package that a file is in or beside, None if there is none.

    It is known by its name in package.xml, as in a checkout, or by the folder's. Beside it are the
    packages of the same repository, in folders of their names.
    """
    parents = file.absolute().parents
    for folder in parents:
        manifest = folder / "package.xml"
        if manifest.is_file() and _name_in(manifest) == package:
            return folder
    of_its_name = next((f for f in parents if f.name == package), None)
    beside = (f / package for f in parents if (f / package / "package.xml").is_file())
    return of_its_name or next(beside, None)


def _name_in(manifest: Path) -> str:
    try:
        return str(ElementTree.parse(manifest).findtext("name", "")).strip()
    except (OSError, ValueError, SyntaxError):  # no XML, or entities in it
        return ""


def version() -> str:
    """Return the package's version, as package.xml has it."""
    text: str = ElementTree.parse(share_directory() / "package.xml").findtext("version")
    return text
