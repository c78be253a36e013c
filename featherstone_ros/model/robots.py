"""Files: those that come with the package, robots' descriptions, and what kind a file is.

A description has a name, if it comes with the package, or a path; xacro is expanded, needs no ROS
around it, and may be given arguments.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from os import PathLike
from pathlib import Path, PosixPath
from types import MappingProxyType
from urllib.parse import unquote

from defusedxml import ElementTree

from featherstone_ros.errors import ModelError, UnknownNameError

ARGUMENT = re.compile(r"([A-Za-z_]\w*):=(.*)", re.DOTALL)
SHOWN = 20  # of a file's arguments, in a message
SHOWN_VALUE = 60  # [characters] of a bad value of ``robot_description``, likewise
EXPECTED = (
    "expected URDF text, which begins with '<', or a .urdf or .xacro file: its path, "
    "file:///path or package://package/path"
)
DESCRIPTION, RECORDING = "a robot description", "a recording"
PARAMETERS, TRAJECTORY = "a parameter file", "a trajectory"
LIMITS = "a joint_limits.yaml"
READ = 100_000  # [byte] of a file that are looked at
STORAGE = (".db3", ".mcap")  # of recordings by ROS
# What only one kind has, outside of comments of YAML.
MARKS = {
    DESCRIPTION: rb"(?s)\A(\xef\xbb\xbf)?\s*<(.*<)?robot\b",
    PARAMETERS: rb"(?m)^[^#\n]*\bros__parameters\b",
    TRAJECTORY: rb"(?m)^[^#\n]*\bjoint_names\b",
    LIMITS: rb"(?m)^[^#\n]*\bjoint_limits\b",
}


def share_directory() -> Path:
    """Return the absolute path of the folder that holds ``config/`` and ``launch/``.

    In a source tree (editable and symlink installs too) it is the folder above the package; in an
    installation it is ``share/featherstone_ros`` under the package's prefix: a virtual environment,
    a colcon install space or ``/opt/ros``.
    """
    above = Path(__file__).resolve().parents[2:]
    for folder in (above[0], *(prefix / "share" / "featherstone_ros" for prefix in above)):
        if (folder / "package.xml").is_file():
            return folder
    raise FileNotFoundError(
        f"no share/featherstone_ros in any folder above {above[0]}: install the package anew"
    )


def version() -> str:
    """Return the package's version, as package.xml has it."""
    text: str = ElementTree.parse(share_directory() / "package.xml").findtext("version")
    return text


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
    named = (f for f in parents if _name_in(f / "package.xml") == package)
    of_its_name = (f for f in parents if f.name == package)
    beside = (f / package for f in parents if (f / package / "package.xml").is_file())
    return next(chain(named, of_its_name, beside), None)


def _name_in(manifest: Path) -> str:
    try:
        return str(ElementTree.parse(manifest).findtext("name", "")).strip()
    except (OSError, ValueError, SyntaxError):  # no file, no XML, or entities in it
        return ""


def kind_of(path: str | PathLike[str]) -> str:
    """Return what a file or folder is, with an article, or "" where nothing tells it."""
    path = Path(path)
    if path.is_dir():
        return RECORDING if any(set(STORAGE) & {*one.suffixes} for one in path.iterdir()) else ""
    if set(STORAGE) & {*path.suffixes} or path.name == "metadata.yaml":
        return RECORDING
    with path.open("rb") as file:
        head = file.read(READ)
    if not head.strip():
        return "empty"
    return next((kind for kind, mark in MARKS.items() if re.search(mark, head)), "")


def mistaken(path: str | PathLike[str], *expected: str) -> str:
    """Return the message on a file that is something else than expected, or ""."""
    kind = kind_of(path)
    is_good = kind in ("", *expected)
    return "" if is_good else f"{path} is {kind}, expected {' or '.join(expected)}"


class RobotFile(PosixPath):
    """The path of a description, with the arguments that its xacro is given.

    What is made of the path, such as its parent, has none.
    """

    arguments: Mapping[str, str] = MappingProxyType({})


def robot_source(path: Path, arguments: Mapping[str, object]) -> RobotFile:
    """Return a file with arguments; true and false are as xacro writes them."""
    if arguments and path.suffix != ".xacro":
        names = " ".join(map(str, arguments))
        raise ModelError(f"{path} takes no arguments ({names}): only a .xacro file does")
    found = RobotFile(path)
    found.arguments = {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in arguments.items()
    }
    return found


def argument_texts(path: Path) -> list[str]:
    """Return a file's arguments, each as NAME:=VALUE."""
    return [f"{name}:={value}" for name, value in getattr(path, "arguments", {}).items()]


def split_source(text: str) -> tuple[str, dict[str, str]]:
    """Return file and arguments of ``FILE NAME:=VALUE ...``, quoted as in a shell.

    Without arguments the text is the file, whatever it is made of.
    """
    if not re.search(r"\s[A-Za-z_]\w*:=", text):
        return text, {}
    try:
        file, *rest = shlex.split(text)
    except ValueError as error:  # a quote that is not closed
        raise ModelError(f"{text[:200]!r}: {error}, expected FILE NAME:=VALUE ...") from None
    found: dict[str, str] = {}
    for part in rest:
        match = ARGUMENT.fullmatch(part)
        if match is None or match[1] in found:
            raise ModelError(f"{part[:100]!r} is no argument, expected NAME:=VALUE, each name once")
        found[match[1]] = match[2]
    return file, found


def robot_names() -> list[str]:
    """Return the names of the robots in ``config/``."""
    return sorted(path.stem for path in (share_directory() / "config").glob("*.urdf"))


def robot_file(robot: str | PathLike[str]) -> RobotFile:
    """Return the absolute path of a robot's description, with the arguments of its xacro.

    ``robot``: one of ``robot_names()``, or the path of a URDF or xacro file, which in a text the
    xacro's arguments may follow: ``ur.urdf.xacro name:=ur5e ur_type:=ur5e``.
    """
    name, arguments = os.fspath(robot), getattr(robot, "arguments", {})
    if isinstance(robot, str):
        name, arguments = split_source(robot)
    if name in robot_names():
        return robot_source(share_directory() / "config" / f"{name}.urdf", arguments)
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise UnknownNameError("robot or file", name, robot_names())
    return robot_source(path, arguments)


def robot_parameters(robot: str | PathLike[str]) -> Path | None:
    """Return the parameter file of a robot in ``config/``, None for any other robot."""
    path = share_directory() / "config" / f"{robot}.yaml"
    return path if robot in robot_names() and path.is_file() else None


def read_file(path: str | PathLike[str]) -> str | bytes:
    """Return the content of a ``.urdf`` file, or the URDF that a ``.xacro`` file expands to."""
    file = path if isinstance(path, RobotFile) else RobotFile(path)
    content = file.read_bytes()  # xacro files too: xacro's own error would not be an OSError
    if wrong := mistaken(file, DESCRIPTION):
        raise ModelError(wrong)
    return _expanded(file) if file.suffix == ".xacro" else content


def read_description(path: str | PathLike[str]) -> str:
    """Return what ``read_file`` does as text; a file that is not UTF-8 is a ModelError, too."""
    text = read_file(path)
    try:
        return text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} is not UTF-8 text: {error}") from error


@contextmanager
def errors_naming(path: str | PathLike[str]) -> Iterator[None]:
    """Name a file in the errors about its description, not in those about other arguments."""
    try:
        yield
    except UnknownNameError:
        raise
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def description_text(value: str) -> str:
    """Return the URDF text that a value of the parameter ``robot_description`` stands for.

    ``value``: the text itself (returned as it is, like the empty string), a path, ``file://`` or
    ``package://``; behind a xacro file its arguments, as in ``arm.xacro name:=a``.
    """
    place = value.strip()
    if not place or place.lstrip("\ufeff").startswith("<"):
        return value
    if "\n" in place:
        raise ModelError(f"it begins with {place[:SHOWN_VALUE]!r}, {EXPECTED}")
    file, arguments = split_source(place)
    path = robot_source(_described_file(file), arguments)
    try:
        return read_description(path)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        reason = getattr(error, "strerror", None) or error
        shown = place if len(place) <= SHOWN_VALUE else f"{place[:SHOWN_VALUE]}..."
        raise ModelError(f"it is {shown!r}, and no such file: {reason}; {EXPECTED}") from None


def _described_file(place: str) -> Path:
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


class _Asked(dict[str, str]):
    """Arguments that note of which names a xacro file declares or uses them."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        super().__init__(arguments)
        self.names: set[str] = set()

    def __contains__(self, name: object) -> bool:  # as <xacro:arg> asks
        self.names.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:  # as $(arg NAME) asks
        self.names.add(name)
        return super().__getitem__(name)


def _expanded(path: RobotFile) -> str:
    """Return the URDF that a xacro file expands to."""
    asked = _Asked(path.arguments)
    try:
        import xacro
    except ImportError as error:
        raise ModelError(
            f"{path} needs the xacro package, which is not installed: expected "
            "`apt install ros-$ROS_DISTRO-xacro` or `pip install xacro`, or a plain .urdf"
        ) from error
    declared = re.findall(
        r"""<xacro:arg\s[^>]*?\bname\s*=\s*["']([^"']+)["']""", path.read_text(errors="replace")
    )  # also where a condition leaves that out
    names = list(dict.fromkeys(declared))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    known = ", ".join(f"{name[:40]}:=" for name in names[:SHOWN])
    takes = f"; it takes the arguments {known}{more}" if names else ""
    try:
        with _finding_packages_around(path):
            text: str = xacro.process_file(str(path), mappings=asked).toxml()
    except Exception as error:  # xacro evaluates Python, which may raise anything
        said = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{path} is not valid xacro: {said[:500]}{takes}") from error
    if unknown := [name for name in path.arguments if name not in {*asked.names, *names}]:
        raise ModelError(f"{path} takes no argument {unknown[0][:100]}:={takes}")
    return text


@contextmanager
def _finding_packages_around(path: Path) -> Iterator[None]:
    """Let xacro's $(find PACKAGE) look around a file for what ROS does not know.

    A checkout need not be built. xacro asks nobody but ament, by a function of its own.
    """
    from xacro import substitution_args

    by_ament = substitution_args._eval_find

    def find(package: str) -> str:
        try:
            return str(by_ament(package))
        except Exception:  # ament is not there, or does not know the package
            if folder := package_around(path, package):
                return str(folder)
        raise LookupError(f"package {package!r} is found neither by ROS nor around {path}")

    def use(function: Callable[[str], str]) -> None:
        substitution_args._eval_find = substitution_args._eval_dict["find"] = function

    use(find)
    try:
        yield
    finally:
        use(by_ament)
