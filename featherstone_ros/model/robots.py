"""The robots that come with the package, by name."""

from pathlib import Path

from featherstone_ros.errors import UnknownNameError
from featherstone_ros.model.share import share_directory
from featherstone_ros.model.xacro_files import RobotFile, robot_source, split_source


def robot_names() -> list[str]:
    """Return the names of the robots in ``config/``."""
    return sorted(path.stem for path in (share_directory() / "config").glob("*.urdf"))


def robot_file(robot: str) -> RobotFile:
    """Find a robot's description.

    Args:
        robot: One of ``robot_names()``, or the path of a URDF or xacro file, which the xacro's
            arguments may follow: ``ur.urdf.xacro name:=ur5e ur_type:=ur5e``.

    Returns:
        The absolute path of the file, with the arguments.

    Raises:
        UnknownNameError: It is neither; the message lists the names.
        ModelError: Arguments are given to what is not xacro, or are not of that form.
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
