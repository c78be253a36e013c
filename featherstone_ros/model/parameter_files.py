"""Parameter files of both nodes, as ROS reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import yaml

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError

NODES = ("digital_twin", "feedforward_controller")
Value = TypeVar("Value")


class ParameterFileError(FeatherstoneError, ValueError):
    """A parameter file that cannot be used; the message names the file and the parameter."""


class NodeParameters(dict[str, object]):
    """The parameters of one node, nested names joined by dots.

    Each method raises ``ParameterFileError`` if the value is not of the type that it returns.
    """

    def __init__(self, values: Mapping[str, object], source: object) -> None:
        """Hold parameters.

        Args:
            values: Name to value.
            source: Where they were read, for messages.
        """
        super().__init__(values)
        self.source = source

    def number(self, name: str, default: float) -> float:
        """Return a number, ``default`` where it is not given."""
        value = self.get(name, default)
        if not isinstance(value, bool) and isinstance(value, int | float | str):
            try:
                return float(value)  # text as well: YAML 1.1 reads 1e3, without a point, as text
            except ValueError:
                pass
        raise self._error(name, "a number")

    def numbers(self, pattern: str, joints: Iterable[str], default: Iterable[float]) -> Floats:
        """Return (n,) numbers, one per joint.

        Args:
            pattern: Parameter name, with ``{}`` for the joint's.
            joints: n names.
            default: n values for joints that have none.
        """
        pairs = zip(joints, default, strict=True)
        return np.array([self.number(pattern.format(joint), value) for joint, value in pairs])

    def joints(self) -> list[str] | None:
        """Return the names of the joints that the node moves; None: all of them."""
        value = self.get("joints", [])
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self._error("joints", "a list of names")
        return [name for name in value if name] or None

    def _error(self, name: str, expected: str) -> ParameterFileError:
        return ParameterFileError(f"{self.source}: {name} is {self[name]!r}, expected {expected}")


def read_parameters(path: Path) -> dict[str, NodeParameters]:
    """Read a ROS parameter file for both nodes.

    Args:
        path: A file with the keys ``/**`` (both nodes), ``/**/digital_twin`` and so on.

    Returns:
        Node name to its parameters.

    Raises:
        ParameterFileError: The file cannot be read or is not a parameter file.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ParameterFileError(f"{path} is not a parameter file: {error}") from None
    nodes = _mapping(content, "the file", path)
    sections = {
        key: _flat(_section(nodes, key, path)) for key in ("/**", *(f"/**/{n}" for n in NODES))
    }
    return {n: NodeParameters(sections["/**"] | sections[f"/**/{n}"], path) for n in NODES}


def of_joint(joint: str, values: Mapping[str, Value]) -> dict[str, Value | Mapping[str, Value]]:
    """Return the parameters of a joint as ROS reads them from a file, nested below its name.

    A name with a dot in it must not be nested: at its end, ROS's reader removes only what follows
    the dot, and loses all parameters of the next joints.
    """
    if "." in joint:
        return {f"{joint}.{name}": value for name, value in values.items()}
    return {joint: values}


def _section(nodes: Mapping[str, object], key: str, path: Path) -> Mapping[str, object]:
    node = _mapping(nodes.get(key, {}), key, path)
    return _mapping(node.get("ros__parameters", {}), f"ros__parameters of {key}", path)


def _mapping(value: object, what: str, path: Path) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ParameterFileError(
            f"{path} is not a parameter file: {what} is {value!r:.80}, expected names with values"
        )
    return {str(key): content for key, content in value.items()}


def _flat(nested: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
