"""Options shared by several commands."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.model import EARTH


def positive(text: str) -> float:
    """Return a positive finite number."""
    value = float(text)
    if not (isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def gain(text: str) -> tuple[str, float]:
    """Return joint and factor of JOINT=K."""
    joint, _, factor = text.rpartition("=")
    try:
        value = float(factor)
    except ValueError:
        value = 0.0
    if not joint or not isfinite(value) or value == 0:
        raise argparse.ArgumentTypeError(f"{text} is not JOINT=K with a number K other than 0")
    return joint, value


def add_recording_options(parser: argparse.ArgumentParser, urdf: str, joints: str) -> None:
    """Declare the options of a command that reads joint states from a bag.

    Args:
        parser: The command's.
        urdf: Help on the description.
        joints: Help on the joints.
    """
    parser.add_argument(
        "--urdf",
        required=True,
        metavar="FILE",
        help=f"{urdf}: a URDF or xacro file, or panda or ur5e",
    )
    parser.add_argument("--joints", nargs="+", metavar="NAME", help=joints)
    parser.add_argument(
        "--topic",
        help="topic of the joint states (default: the one with the most of the arm's joints)",
    )
    parser.add_argument(
        "--filter-hz",
        type=positive,
        default=2.0,
        metavar="HZ",
        help="cut-off frequency of the low-pass filter (default: 2)",
    )
    parser.add_argument(
        "--current-gain",
        type=gain,
        action="extend",
        nargs="+",
        default=[],
        metavar="JOINT=K",
        help="multiply a joint's effort, e.g. by its N m per A",
    )
    add_gravity_option(parser)


def add_gravity_option(parser: argparse.ArgumentParser) -> None:
    """Declare how the arm is mounted."""
    parser.add_argument(
        "--gravity",
        type=float,
        nargs=3,
        default=EARTH,
        metavar=("X", "Y", "Z"),
        help="gravity in the base link's frame [m/s^2], for an arm on a wall or a ceiling "
        "(default: 0 0 -9.81)",
    )


def recording_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options under the names of ``identify``'s and ``evaluate``'s."""
    return {
        "joints": args.joints,
        "topic": args.topic,
        "cut_off": args.filter_hz,
        "gains": dict(args.current_gain),
        "gravity": args.gravity,
    }


def require_matplotlib(plot: Path | None) -> None:
    """Raise FeatherstoneError if a picture is requested and matplotlib is missing."""
    if plot and not find_spec("matplotlib"):
        raise FeatherstoneError("--plot needs matplotlib: pip install matplotlib")
