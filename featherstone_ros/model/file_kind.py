"""What a file is, where it cannot be what was asked for."""

import re
from os import PathLike
from pathlib import Path

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
    return (
        f"{path} is {kind}, expected {' or '.join(expected)}" if kind not in ("", *expected) else ""
    )
