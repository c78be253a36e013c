"""The robots that come with the package, by name."""

from pathlib import Path

from featherstone_ros.errors import UnknownNameError
from featherstone_ros.model.share import share_directory


def robot_names() -> list[str]:
    """Return the names of the robots in ``config/``."""
    return sorted(path.stem for path in (share_directory() / "config").glob("*.urdf"))


def robot_file(robot: str) -> Path:
    """Find a robot's description.

    Args:
        robot: One of ``robot_names()``, or the path of a URDF or xacro file.

    Returns:
        The absolute path of the file.

    Raises:
        UnknownNameError: It is neither; the message lists the names.
    """
    if robot in robot_names():
        return share_directory() / "config" / f"{robot}.urdf"
    path = Path(robot).expanduser().absolute()
    if not path.is_file():
        raise UnknownNameError("robot or file", robot, robot_names())
    return path


def robot_parameters(robot: str) -> Path | None:
    """Return the parameter file of a robot in ``config/``, None for any other robot."""
    path = share_directory() / "config" / f"{robot}.yaml"
    return path if robot in robot_names() and path.is_file() else None
