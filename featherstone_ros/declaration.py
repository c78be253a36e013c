"""Settings that are parameters of a node, declared once: where the algorithm reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, TypeVar

import numpy as np

from featherstone_ros.arrays import Floats

T = TypeVar("T")


def declared(
    default: T,
    description: str,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    choices: tuple[str, ...] = (),
    read_only: bool = False,
) -> T:
    """Return a field of a dataclass that is a parameter of the same name.

    Args:
        default: Its type is the parameter's: bool, float, str or an enumeration of words.
        description: One line with the unit in brackets.
        minimum: Smallest value that the node accepts.
        maximum: Largest one.
        choices: The words that it accepts; an enumeration brings its own.
        read_only: Fixed at start-up.
    """
    metadata = {
        "description": description,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "read_only": read_only,
    }
    return field(default=default, metadata=metadata)


def per_joint(values: Mapping[str, Any], pattern: str, joints: Iterable[str]) -> Floats:
    """Return (n,) numbers, one per joint.

    Args:
        values: Of all parameters.
        pattern: The parameters' names, with ``{}`` for the joint's.
        joints: n names.
    """
    return np.array([values[pattern.format(joint)] for joint in joints], dtype=float)
