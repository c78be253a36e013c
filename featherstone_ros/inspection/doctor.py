"""Examines a robot description by every rule."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from featherstone_ros.errors import ModelError
from featherstone_ros.inspection.geometry import Box, boxes, shapes
from featherstone_ros.inspection.plausibility import (
    degenerate_joints,
    gyration,
    implausible,
    missing_inertias,
    odd_sizes,
    unknown_sizes,
    weak_joints,
)
from featherstone_ros.model import Model, urdf
from featherstone_ros.model.finding import Finding, Rule, Severity
from featherstone_ros.model.joint_selection import choose
from featherstone_ros.model.robot_description import (
    Joint,
    Link,
    RobotDescription,
    without_ground,
)
from featherstone_ros.model.rules import impossible_inertias, odd_joints, odd_mimics

REFUSED = Rule(
    "refused",
    "cannot be used",
    "no model can be made; correct this and inspect again, as there may be more",
)
NOTHING_MOVES = Rule("nothing-moves", "has no joint that moves", "the nodes refuse it")


@dataclass(frozen=True)
class Inspection:
    """The result of an inspection."""

    name: str = ""  # the robot's; empty where the description could not be read
    # its links and joints; None where the description could not be read
    robot: RobotDescription | None = None
    findings: tuple[Finding, ...] = ()  # the worst first, then by rule and in document order
    drawn: dict[str, Box | str] = field(default_factory=dict)  # what ``shapes`` returns
    boxes: dict[str, Box] = field(default_factory=dict)  # of links that could be measured

    @property
    def worst(self) -> Severity | None:
        """The greatest severity; None without findings."""
        return max((finding.severity for finding in self.findings), default=None)

    def count(self, severity: Severity) -> int:
        """Return the number of findings of that severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def counts(self, least: Severity = Severity.NOTE) -> str:
        """Return in words how many findings are at least that severe; empty for none."""
        numbers = {level: self.count(level) for level in reversed(Severity) if level >= least}
        return ", ".join(f"{n} {level}{'s' * (n > 1)}" for level, n in numbers.items() if n)

    def as_dict(self) -> dict[str, Any]:
        """Return numbers in SI units, for JSON; infinite and unknown ones are None."""
        robot = self.robot
        return {
            "robot": self.name,
            "links": [self._link(link) for link in robot.links] if robot else [],
            "joints": [_joint(joint) for joint in robot.joints] if robot else [],
            "findings": [finding.as_dict() for finding in self.findings],
            "errors": self.count(Severity.ERROR),
            "warnings": self.count(Severity.WARNING),
            "notes": self.count(Severity.NOTE),
        }

    def _link(self, link: Link) -> dict[str, Any]:
        if link.inertial is None:
            return {"name": link.name, "mass": None}
        box = self.boxes.get(link.name)
        return {
            "name": link.name,
            "mass": link.inertial.mass,
            "centre_of_mass": link.inertial.com.tolist(),
            "principal_moments": [_number(m) for m in np.linalg.eigvalsh(link.inertial.inertia)],
            "radius_of_gyration": _number(gyration(link.inertial)),
            "radius_of_geometry": None if box is None else _number(box.half_diagonal),
        }


@np.errstate(over="ignore", invalid="ignore")  # of absurd values, which are then refused
def examine(
    text: str | bytes,
    folder: Path | None = None,
    joints: Iterable[str] | None = None,
    locked: Mapping[str, float] | None = None,
    base: str = "fixed",
) -> Inspection:
    """Inspect a URDF; every fault is a finding, not an exception."""
    try:
        root = urdf.read_xml(text)
        robot = urdf.read_robot(root)
    except ModelError as error:
        return Inspection(findings=(_refused("", error),))
    drawn = shapes(root, folder)
    measured = boxes(drawn)
    findings = [
        *robot.oddities,
        *missing_inertias(robot, drawn),
        *impossible_inertias(robot),
        *odd_sizes(robot, measured),
        *implausible(robot),
        *odd_mimics(robot),
        *odd_joints(robot),
        *unknown_sizes(drawn),
        *_of_the_model(robot, joints, locked, base),
    ]
    findings.sort(key=lambda finding: -finding.severity)
    return Inspection(robot.name, robot, tuple(findings), drawn, measured)


def _of_the_model(
    robot: RobotDescription,
    joints: Iterable[str] | None,
    locked: Mapping[str, float] | None,
    base: str,
) -> list[Finding]:
    if not any(joint.moves for joint in robot.joints):
        return [Finding(Severity.WARNING, NOTHING_MOVES, "robot", robot.name)]
    try:
        if base == "floating":  # it is held
            robot = without_ground(robot)
        wanted = choose(robot, joints, locked).joint_names
        model = Model.from_description(robot, joints, locked, warn=False, tolerated=1.0)
    except ModelError as error:
        return [_refused(robot.name, error)]
    idle = [joint for joint in wanted if joint not in model.joint_names]
    return [*degenerate_joints(model, idle), *weak_joints(model)]


def _refused(name: str, error: ModelError) -> Finding:
    """Return the finding for a refused URDF, on the link or joint that the message names."""
    culprit = re.search(r"\b(link|joint)s? '([^']+)'", str(error))
    kind, name = culprit.groups() if culprit else ("robot", name)
    element = f"{kind} {name!r}"  # which the finding names by itself
    found = str(error).removeprefix(f"{element}: ")
    if found.startswith(f"{element} "):
        found = f"it{found.removeprefix(element)}"
    return Finding(Severity.ERROR, REFUSED, kind, name, found)


def _joint(joint: Joint) -> dict[str, Any]:
    limits = ("lower", "upper", "velocity", "effort", "acceleration", "deceleration", "jerk")
    names = (*limits, "damping", "friction")
    values = {name: getattr(joint, name) for name in names} if joint.moves else {}
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": joint.parent,
        "child": joint.child,
        **{name: _number(value) for name, value in values.items()},
        "mimic": joint.mimic.leader if joint.mimic else None,
    }


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
