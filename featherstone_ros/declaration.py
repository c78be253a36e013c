"""Settings that are parameters of a node, declared once: where the algorithm reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    name: str = "",
    choices: tuple[str, ...] = (),
    read_only: bool = False,
    check: Callable[[Any], str | None] | None = None,
) -> T:
    """Return a field of a dataclass that is a parameter.

    Args:
        default: Its type is the parameter's: bool, int, float, str, an enumeration of words, or a
            tuple of as many numbers; None where each joint has its own, see ``name``.
        description: One line with the unit in brackets.
        minimum: Smallest value that the node accepts.
        maximum: Largest one.
        name: Of the parameter, empty for the field's own; with ``{}`` for a joint's name there is
            one for each joint, and the field is an array (n,).
        choices: The words that it accepts; an enumeration brings its own.
        read_only: Fixed at start-up.
        check: Further check of the value, returns why it is refused, or None.
    """
    metadata = {
        "description": description,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "read_only": read_only,
        "check": check,
        "name": name,
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
