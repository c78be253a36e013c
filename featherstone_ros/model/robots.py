"""Files of robots: those that come with the package, by name, and others; xacro is expanded.

Xacro needs no ROS around it, and may be given arguments.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PosixPath
from types import MappingProxyType

from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.model.share import package_around, share_directory

ARGUMENT = re.compile(r"([A-Za-z_]\w*):=(.*)", re.DOTALL)
NO_ARGUMENTS: Mapping[str, str] = MappingProxyType({})
SHOWN = 20  # of a file's arguments, in a message


class RobotFile(PosixPath):
    """The path of a description, with the arguments that its xacro is given.

    What is made of the path, such as its parent, has none.
    """

    arguments: Mapping[str, str] = NO_ARGUMENTS


def robot_source(path: Path, arguments: Mapping[str, str]) -> RobotFile:
    """Return a file with arguments."""
    if arguments and path.suffix != ".xacro":
        raise ModelError(
            f"{path} takes no arguments ({' '.join(arguments)}): only a .xacro file does"
        )
    found = RobotFile(path)
    found.arguments = MappingProxyType(dict(arguments))
    return found


def argument_texts(path: Path) -> list[str]:
    """Return a file's arguments, each as NAME:=VALUE."""
    given: Mapping[str, str] = getattr(path, "arguments", NO_ARGUMENTS)
    return [f"{name}:={value}" for name, value in given.items()]


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
    return file, parsed_arguments(rest)


def parsed_arguments(texts: list[str]) -> dict[str, str]:
    """Return the arguments that NAME:=VALUE stand for."""
    found: dict[str, str] = {}
    for text in texts:
        match = ARGUMENT.fullmatch(text)
        if match is None or match[1] in found:
            raise ModelError(f"{text[:100]!r} is no argument, expected NAME:=VALUE, each name once")
        found[match[1]] = match[2]
    return found


class Asked(dict[str, str]):
    """Arguments that note of which names a xacro file declares or uses them.

    Attributes:
        names: Those.
    """

    def __init__(self, arguments: Mapping[str, str]) -> None:
        """Take the arguments."""
        super().__init__(arguments)
        self.names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        """Tell whether it is given, as ``<xacro:arg>`` asks."""
        self.names.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        """Return its value, as ``$(arg NAME)`` asks."""
        self.names.add(name)
        return super().__getitem__(name)


def expand(path: Path, arguments: Mapping[str, str] = NO_ARGUMENTS) -> str:
    """Return the URDF that a xacro file expands to.

    ``$(find PACKAGE)`` is found as by ROS, or, where ROS does not know the package, in the folders
    around the file: a checkout need not be built.
    """
    asked = Asked(arguments)
    try:
        import xacro
    except ImportError as error:
        raise ModelError(
            f"{path} needs the xacro package, which is not installed: expected "
            "`apt install ros-$ROS_DISTRO-xacro` or `pip install xacro`, or a plain .urdf"
        ) from error
    try:
        with _finding_packages_around(path):
            text: str = xacro.process_file(str(path), mappings=asked).toxml()
    except Exception as error:  # xacro evaluates Python, which may raise anything
        said = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{path} is not valid xacro: {said[:500]}{_known(path)}") from error
    if unknown := [name for name in arguments if name not in {*asked.names, *_declared(path)}]:
        raise ModelError(f"{path} takes no argument {unknown[0][:100]}:={_known(path)}")
    return text


@contextmanager
def _finding_packages_around(path: Path) -> Iterator[None]:
    """Let xacro find packages around a file; it asks nobody but ament, by a function of its own."""
    from xacro import substitution_args

    by_ament = substitution_args._eval_find

    def find(package: str) -> str:
        try:
            return str(by_ament(package))
        except Exception:  # ament is not there, or does not know the package
            if (folder := package_around(path, package)) is None:
                raise LookupError(
                    f"package {package!r} is found neither by ROS nor around {path}"
                ) from None
            return str(folder)

    places = (vars(substitution_args), "_eval_find"), (substitution_args._eval_dict, "find")
    for place, name in places:
        place[name] = find
    try:
        yield
    finally:
        for place, name in places:
            place[name] = by_ament


def _known(path: Path) -> str:
    """Return the arguments that a file declares, for a message."""
    names = _declared(path)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    given = ", ".join(f"{name[:40]}:=" for name in names[:SHOWN])
    return f"; it takes the arguments {given}{more}" if names else ""


def _declared(path: Path) -> list[str]:
    """Return the arguments that a file declares, also where a condition leaves that out."""
    text = path.read_text(errors="replace")
    found = re.findall(r"""<xacro:arg\s[^>]*?\bname\s*=\s*["']([^"']+)["']""", text)
    return list(dict.fromkeys(found))


def robot_names() -> list[str]:
    """Return the names of the robots in ``config/``."""
    return sorted(path.stem for path in (share_directory() / "config").glob("*.urdf"))


def robot_file(robot: str) -> RobotFile:
    """Return the absolute path of a robot's description, with the arguments of its xacro.

    ``robot``: one of ``robot_names()``, or the path of a URDF or xacro file, which the xacro's
    arguments may follow: ``ur.urdf.xacro name:=ur5e ur_type:=ur5e``.
    """
    name, arguments = split_source(robot)
    if name in robot_names():
        return robot_source(share_directory() / "config" / f"{name}.urdf", arguments)
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise UnknownNameError("robot or file", name, robot_names())
    return robot_source(path, arguments)


def robot_parameters(robot: str) -> Path | None:
    """Return the parameter file of a robot in ``config/``, None for any other robot."""
    path = share_directory() / "config" / f"{robot}.yaml"
    return path if robot in robot_names() and path.is_file() else None
