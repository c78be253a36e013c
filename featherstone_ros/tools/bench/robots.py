"""The robots that are raced: three that stand for their class, and all of example-robot-data."""

import logging
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import featherstone_ros as fr
from featherstone_ros.errors import ModelError
from featherstone_ros.model import urdf
from featherstone_ros.model.robots import robot_file

# The robots that the targets are about; descriptions: ours, or of example-robot-data.
STANDARD = {
    "Panda": "panda",
    "UR10": "ur10_robot.urdf",
    "G1 humanoid": "g1_29dof_rev_1_0.urdf",
}


@dataclass(frozen=True)
class BenchRobot:
    """A robot to race with.

    Attributes:
        name: For tables.
        text: Its URDF.
        model: Ours.
    """

    name: str
    text: str
    model: fr.Model

    @classmethod
    def from_text(cls, name: str, text: str) -> "BenchRobot":
        """Make the model, without log lines about the description."""
        level = logging.root.manager.disable
        logging.disable(logging.WARNING)
        try:
            return cls(name, text, fr.Model.from_urdf(text))
        finally:
            logging.disable(level)

    def afloat(self) -> "BenchRobot":
        """Return the robot with a floating base."""
        return replace(self, model=replace(self.model, base="floating"))

    @classmethod
    def from_file(cls, name: str, path: Path) -> "BenchRobot":
        """Read a URDF file; not xacro."""
        if path.suffix == ".urdf":
            return cls.from_text(name, path.read_text())
        raise ModelError(f"{path}: the benchmark needs URDF that every peer reads, not xacro")


def example_files() -> list[Path]:
    """Return the URDFs of example-robot-data, sorted; none where it is not installed."""
    try:
        files = metadata.files("example-robot-data") or ()
    except metadata.PackageNotFoundError:
        return []
    return sorted(Path(file.locate()).resolve() for file in files if file.suffix == ".urdf")


def example_robots() -> list[BenchRobot]:
    """Return all of example-robot-data with joints; Pinocchio crashes on those without."""
    files = [path for path in example_files() if urdf.parse(path.read_bytes()).links]
    stems = [path.stem for path in files]
    robots = [
        BenchRobot.from_file(
            path.stem if stems.count(path.stem) == 1 else f"{path.parent.parent.name}/{path.stem}",
            path,
        )
        for path in files
    ]
    return [robot for robot in robots if robot.model.n > 0]


def standard_robots() -> list[BenchRobot]:
    """Return those of ``STANDARD`` whose description is there."""
    examples = {path.name: path for path in example_files()}
    return [
        BenchRobot.from_file(name, examples.get(source) or robot_file(source))
        for name, source in STANDARD.items()
        if source in examples or not source.endswith(".urdf")
    ]


def missing_robots() -> list[str]:
    """Return the names in ``STANDARD`` whose description is not there."""
    examples = {path.name for path in example_files()}
    return [
        name
        for name, source in STANDARD.items()
        if source.endswith(".urdf") and source not in examples
    ]


def chosen_robot(robot: str) -> BenchRobot:
    """Return one of ours by name, or any URDF by path."""
    path = robot_file(robot)
    return BenchRobot.from_file(path.stem, path)
