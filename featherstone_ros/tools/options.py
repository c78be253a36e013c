"""Options shared by several commands."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from featherstone_ros.errors import GET_ROS, FeatherstoneError, needed
from featherstone_ros.model import EARTH

RECORDING = "a bag's folder, a .db3 or .mcap file, or a .csv or .npz table with named columns"


def positive(text: str) -> float:
    """Return a positive finite number."""
    value = float(text)
    if not (isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def positive_up_to(maximum: float) -> Callable[[str], float]:
    """Return a type of positive numbers that are not too large to work with."""

    def number(text: str) -> float:
        value = positive(text)
        if value > maximum:
            raise argparse.ArgumentTypeError(f"{text} is too large, expected at most {maximum:g}")
        return value

    return number


def between(minimum: float, maximum: float) -> Callable[[str], float]:
    """Return a type of numbers in a range."""

    def number(text: str) -> float:
        value = float(text)
        if not minimum <= value <= maximum:
            raise argparse.ArgumentTypeError(
                f"{text} is not a number from {minimum:g} to {maximum:g}"
            )
        return value

    return number


def not_zero(text: str) -> float:
    """Return a finite number other than 0."""
    value = float(text)
    if not isfinite(value) or value == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number other than 0")
    return value


def named(metavar: str, number: Callable[[str], float]) -> Callable[[str], tuple[str, float]]:
    """Return a type of a name with a number of some type: NAME=K, as ``metavar`` says it."""

    def pair(text: str) -> tuple[str, float]:
        name, _, value = text.rpartition("=")
        if not name:
            raise argparse.ArgumentTypeError(f"{text} is not {metavar}")
        try:
            return name, number(value)
        except (argparse.ArgumentTypeError, ValueError) as error:
            raise argparse.ArgumentTypeError(f"{text} is not {metavar}: {error}") from None

    return pair


class _Urdf(argparse.Action):
    """Take the description from its place or its option, but not from both."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option: str | None = None,
    ) -> None:
        if values is None:  # nothing in its place
            return
        if namespace.urdf is not None:
            parser.error(f"URDF is given twice: {namespace.urdf} and {values}")
        namespace.urdf = values


def add_urdf_argument(parser: argparse.ArgumentParser, what: str = "the arm") -> None:
    """Declare the description, after the command's other positional arguments or as --urdf.

    ``require_urdf`` then says if it is missing.
    """
    parser.add_argument(
        "urdf",
        nargs="?",
        action=_Urdf,
        metavar="URDF",
        help=f"{what}: a URDF or xacro file, or panda or ur5e; a xacro's arguments may follow, as "
        "name:=ur5e ur_type:=ur5e",
    )
    parser.add_argument("--urdf", action=_Urdf, metavar="URDF", help="the same, as an option")


JOINT_LIMITS = "MoveIt's joint_limits.yaml: its limits in place of the URDF's"


def add_trajectory_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare a trajectory, and the arm that is to follow it."""
    parser.add_argument(
        "trajectory", metavar="TRAJECTORY", help="YAML file, rosbag2 recording, or /topic"
    )
    add_urdf_argument(parser)
    parser.add_argument("--topic", help="topic of the recording (default: all)")
    add_number(parser, "--number", "K", int, 1, "which trajectory, from 1")
    add_parameters(
        parser, "parameter file of the controller (default: the package's own for panda and ur5e)"
    )
    add_files(parser, joint_limits=JOINT_LIMITS)
    parser.set_defaults(status_of=_status_of_trajectory)


def _status_of_trajectory(error: FeatherstoneError) -> int:
    """Return 1 if no timing is within the limits, 2 if a trajectory cannot be read or used."""
    from featherstone_ros.control import RetimingError

    return 1 if isinstance(error, RetimingError) else 2


def require_urdf(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """End with a usage error if a command that needs a description got none.

    The last of several recordings or --joints is taken for it if --urdf is not given and it looks
    like one.
    """
    from featherstone_ros.model.robots import robot_names

    if getattr(args, "urdf", "") is not None:
        return
    for several in ("bags", "joints"):
        *others, last = getattr(args, several, None) or [""]
        if others and (last.endswith((".urdf", ".xacro")) or last in robot_names()):
            setattr(args, several, others)
            args.urdf = last
    if args.urdf is None:
        parser.error("the following arguments are required: URDF (or --urdf URDF)")


def add_xacro_arguments(args: argparse.Namespace, arguments: Sequence[str]) -> None:
    """Add NAME:=VALUE, wherever they stand in a command's line, to its description.

    Ends with a usage error if the command has none.
    """
    if not arguments:
        return
    for name in ("urdf", "robot"):
        if hasattr(args, name):
            setattr(args, name, shlex.join([getattr(args, name), *arguments]))
            return
    args.parser.error(f"{' '.join(arguments)}: this command reads no robot file")


def add_recording_options(parser: argparse.ArgumentParser, urdf: str, joints: str) -> None:
    """Declare the options of a command that reads joint states from a bag."""
    add_urdf_argument(parser, urdf)
    parser.add_argument("--joints", nargs="+", metavar="NAME", help=joints)
    parser.add_argument(
        "--topic",
        help="topic of the joint states (default: the one with the most of the arm's joints)",
    )
    add_number(
        parser, "--filter-hz", "HZ", positive, 2.0, "cut-off frequency of the low-pass filter"
    )
    parser.add_argument(
        "--current-gain",
        type=named("JOINT=K", not_zero),
        action="extend",
        nargs="+",
        default=[],
        metavar="JOINT=K",
        help="multiply a joint's effort, e.g. by its N m per A (default: as drives.<joint>.effort "
        "of the parameter file says)",
    )
    add_gravity_option(parser)


def add_number(
    parser: argparse.ArgumentParser,
    option: str,
    metavar: str,
    kind: Callable[[str], float],
    default: float | None,
    text: str,
) -> None:
    """Declare an option that takes a number; the help says its default, if it has one."""
    text += "" if default is None else f" (default: {default:g})"
    parser.add_argument(option, metavar=metavar, type=kind, default=default, help=text)


def add_files(parser: argparse.ArgumentParser, required: bool = False, **files: str) -> None:
    """Declare options that take a file."""
    for name, text in files.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=Path, required=required, metavar="FILE", help=text)


def add_outputs(parser: argparse.ArgumentParser, required: bool = False, **files: str) -> None:
    """Declare options that take a file to be written, as ``add_files`` does; a plot is a picture.

    ``require_outputs`` then looks whether they can be.
    """
    add_files(parser, required, **files)
    parser.set_defaults(outputs=[*parser.get_default("outputs"), *files])


def require_outputs(args: argparse.Namespace) -> None:
    """Raise FeatherstoneError if a file that is to be written cannot be."""
    for name in args.outputs:
        if name == "plot":
            require_matplotlib(args.plot)
        require_writable(getattr(args, name))


def add_parameters(
    parser: argparse.ArgumentParser, text: str, option: str = "--parameters"
) -> None:
    """Declare an option that takes a parameter file, and may be given for several."""
    text += "; of several a later one overrides the earlier"
    parser.add_argument(option, type=Path, action="append", metavar="FILE", help=text)


def add_controller(parser: argparse.ArgumentParser) -> None:
    """Declare which running controller a command talks to."""
    parser.set_defaults(needs_ros=True)
    parser.add_argument(
        "--controller",
        metavar="NODE",
        default="feedforward_controller",
        help="the controller, with its namespace (default: %(default)s)",
    )


def add_gravity_option(parser: argparse.ArgumentParser) -> None:
    """Declare how the arm is mounted."""
    parser.add_argument(
        "--gravity",
        type=between(-100, 100),  # as the nodes' parameter
        nargs=3,
        default=EARTH,
        metavar=("X", "Y", "Z"),
        help="gravity in the base link's frame [m/s^2], for an arm on a wall or a ceiling "
        "(default: 0 0 -9.81)",
    )


def add_joint_options(parser: argparse.ArgumentParser) -> None:
    """Declare which joints move, and where those stand that do not."""
    parser.add_argument(
        "--joints",
        nargs="+",
        metavar="NAME",
        help="joints that move, in the order of the commands; the others are locked (default: all)",
    )
    parser.add_argument(
        "--locked",
        type=named("JOINT=POSITION", between(-1e4, 1e4)),
        action="extend",
        nargs="+",
        default=[],
        metavar="JOINT=POSITION",
        help="where a joint stands that does not move with the arm, a lift or a torso [rad or m] "
        "(default of those that --joints leaves out: nearest to 0 in its range)",
    )


def recording_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options under the names of ``identify``'s and ``evaluate``'s."""
    from featherstone_ros.model.parameter_files import effort_gains

    return {
        "joints": args.joints,
        "topic": args.topic,
        "cut_off": args.filter_hz,
        "gains": effort_gains(getattr(args, "known", None)) | dict(args.current_gain),
        "gravity": args.gravity,
    }


def require_ros() -> None:
    """Raise FeatherstoneError if rclpy or its middleware is missing, or ROS_DOMAIN_ID is no domain.

    ROS's wheels may restart the interpreter when it is first imported: print nothing before.
    """
    from featherstone_ros.tools.processes import ask_middleware, ros_domain

    ros_domain()
    if os.environ.get("RMW_IMPLEMENTATION"):
        _, fault, remedy = ask_middleware(os.environ)
        if fault:
            raise FeatherstoneError(f"ROS {fault}: {remedy}")
    needed("rclpy", GET_ROS)


def require_matplotlib(picture: object) -> None:
    """Raise FeatherstoneError if a picture is wanted and matplotlib is missing."""
    if picture:
        needed("matplotlib")


def require_writable(*paths: Path | None) -> None:
    """Raise FeatherstoneError if a file cannot be written, before it has taken minutes to make."""
    for path in filter(None, paths):
        there = path if path.exists() else next(p for p in path.absolute().parents if p.exists())
        if path.is_dir():
            raise FeatherstoneError(f"{path} cannot be written: it is a folder")
        if not os.access(there, os.W_OK) or (there != path and not there.is_dir()):
            raise FeatherstoneError(f"{path} cannot be written: no permission for {there}")
