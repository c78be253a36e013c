"""Limits of joints in the form of MoveIt's joint_limits.yaml, in place of those of the URDF.

Each joint under ``joint_limits`` may have ``max_velocity``, ``max_acceleration``,
``max_deceleration`` (of either sign), ``max_jerk``, ``max_effort``, and ``min_position`` with
``max_position``; each counts where its ``has_..._limits`` is true or missing. Acceleration limits
hold for deceleration as well, unless that has one of its own. What is not given stays as it was.
Scaling factors are a planner's, and no limits.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError
from featherstone_ros.model.bounded_yaml import YamlError, read_yaml
from featherstone_ros.model.robot_description import name_list

logger = logging.getLogger(__name__)

SECTION = "joint_limits"
DEPTH = 5  # at which it may be in a parameter file: node, ros__parameters, robot_description_...
# Field of a ``Model``, name in a file, and what has_..._limits says of it.
FIELDS = (
    ("lower", "min_position", "position"),
    ("upper", "max_position", "position"),
    ("velocity_limit", "max_velocity", "velocity"),
    ("acceleration_limit", "max_acceleration", "acceleration"),
    ("deceleration_limit", "max_acceleration", "acceleration"),
    ("deceleration_limit", "max_deceleration", "deceleration"),
    ("jerk_limit", "max_jerk", "jerk"),
    ("effort_limit", "max_effort", "effort"),
)


def read_limits(source: str | PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return joint name to its limits, of a file or of what such a file has."""
    where = "limits" if isinstance(source, Mapping) else str(source)
    try:
        documents = [source] if isinstance(source, Mapping) else read_yaml(Path(source))
    except YamlError as error:
        raise ModelError(f"{where}: {error}") from None
    found = next(filter(None, (_section(document, DEPTH) for document in documents)), None)
    if found is None:
        raise ModelError(f"{where}: no {SECTION!r}, expected joint names and their limits below it")
    return found


def _section(content: object, depth: int) -> Mapping[str, Any] | None:
    if not isinstance(content, Mapping) or not depth:
        return None
    if isinstance(own := content.get(SECTION), Mapping):
        return own
    return next(filter(None, (_section(part, depth - 1) for part in content.values())), None)


def with_limits(
    limits: Mapping[str, Floats],
    given: Mapping[str, Any],
    joints: Sequence[str],
    others: Collection[str],
) -> dict[str, Any]:
    """Return limits, by the names that a ``Model`` has for them, with those that are given."""
    changed = {name: values.copy() for name, values in limits.items()}
    for index, joint in enumerate(joints):
        for name, value in _limits_of(joint, given.get(joint) or {}):
            changed[name][index] = value
        low, high = (changed[end][index] for end in ("lower", "upper"))
        if low > high:
            raise ModelError(
                f"joint {joint!r}: min_position is {low:g}, expected at most max_position {high:g}"
            )
    if unknown := sorted(set(map(str, given)) - set(joints) - set(others)):
        logger.warning("limits of %s are left out: no such joint", name_list(unknown))
    return changed


def _limits_of(joint: str, given: object) -> Iterator[tuple[str, float]]:
    """Yield field of a ``Model`` and limit."""
    if not isinstance(given, Mapping):
        raise ModelError(f"joint {joint!r}: limits are {given!r:.60}, expected names and numbers")
    for field, key, what in FIELDS:
        if key not in given or not given.get(f"has_{what}_limits", True):
            continue
        try:
            value = math.nan if isinstance(given[key], bool) else float(str(given[key]))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ModelError(
                f"joint {joint!r}: {key} is {given[key]!r:.40}, expected a finite number"
            )
        value = abs(value) if what == "deceleration" else value
        if value < 0 and what != "position":
            raise ModelError(f"joint {joint!r}: {key} is {value:g}, expected >= 0")
        yield field, value
