"""Parameter files of both nodes, as ROS reads them.

A node ignores parameters that it does not have, with a warning in its log. A command that reads a
file to tell something about the arm refuses them (``check_names``): what it would tell is about
another arm.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import yaml

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.bounded_yaml import YamlError, read_yaml
from featherstone_ros.model.drive_units import WITHOUT_FRICTION, WITHOUT_GRAVITY, DriveUnits
from featherstone_ros.model.robots import PARAMETERS, mistaken, share_directory
from featherstone_ros.text import plain

TWIN, CONTROLLER = NODES = ("digital_twin", "feedforward_controller")
NODES_OF = {"/**": NODES, **{f"/**/{node}": (node,) for node in NODES}}  # keys of a file
OF_EVERY_NODE = ("use_sim_time", "start_type_description_service", "qos_overrides.")
JOINT = "<joint>"  # in the names of parameters that each joint has
PAYLOAD = "<payload>"  # likewise, of those of each payload that PAYLOAD_NAMES lists
LOCKED = "<locked>"  # likewise, of those of each joint that does not move
PAYLOAD_NAMES = "payload.names"
SHOWN, LONGEST = 20, 200  # unknown names in a message, and characters of one
MAX_LIST = 10_000  # values: ROS's reader copies a list for each, 300,000 take it minutes
LISTED = {bool, int, float, str}  # types of the values in a list; any one of them
SIMILAR = 0.85  # of a section's name to that of a node, to be taken for it
DIGITS = 6  # of what is written
Value = TypeVar("Value")


class ParameterFileError(FeatherstoneError, ValueError):
    """A parameter file that cannot be used; the message names the file and the parameter."""


class NodeParameters(dict[str, object]):
    """The parameters of one node, nested names joined by dots.

    Each method raises ``ParameterFileError`` if the value is not of the type that it returns.
    """

    def __init__(self, values: Mapping[str, object], source: object) -> None:
        """Hold parameters."""
        super().__init__(values)
        self.source = source

    def number(self, name: str, default: float) -> float:
        """Return a number, ``default`` where it is not given."""
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(name, "a number")
        return float(value)

    def numbers(self, pattern: str, joints: Iterable[str], default: Iterable[float]) -> Floats:
        """Return (n,) numbers, one per joint."""
        pairs = zip(joints, default, strict=True)
        return np.array([self.number(pattern.format(joint), value) for joint, value in pairs])

    def joints(self) -> list[str] | None:
        """Return the names of the joints that the node moves; None: all of them."""
        return self._names("joints") or None

    def payloads(self) -> list[str]:
        """Return the names of the payloads that have parameters of their own."""
        return self._names(PAYLOAD_NAMES)

    def _names(self, name: str) -> list[str]:
        value = self.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._error(name, "a list of names")
        return [one for one in value if one]

    def _error(self, name: str, expected: str) -> ParameterFileError:
        value = plain(repr(self[name]))
        return ParameterFileError(f"{self.source}: {name} is {value}, expected {expected}")


def read_parameters(*paths: Path) -> dict[str, NodeParameters]:
    """Return the parameters of each node, by its name, from ROS parameter files.

    Their keys are ``/**`` (both nodes), ``/**/digital_twin`` and so on; what a later file sets
    overrides the earlier ones. What ROS cannot read is refused; its reader names no parameter.
    """
    source = paths[0] if len(paths) == 1 else " and ".join(map(str, paths))
    merged = {node: NodeParameters({}, source) for node in NODES}
    for path in paths:
        nodes = _nodes(path)
        for key, of in NODES_OF.items():
            for node in of:
                merged[node].update(_section(nodes, key, path))
    return merged


def controller_parameters(*paths: Path) -> NodeParameters:
    """Return the controller's parameters in files, as ``read_parameters`` reads them."""
    values = read_parameters(*paths)[CONTROLLER]
    if not values:
        raise ParameterFileError(
            f"{values.source} has no ros__parameters under /** or /**/feedforward_controller"
        )
    return values


def effort_gains(path: Path | None) -> dict[str, float]:
    """Return the torque per unit of recorded effort of joints whose drives have one in a file."""
    values = {} if path is None else controller_parameters(path)
    drives = {name: value for name, value in values.items() if name.startswith("drives.")}
    joints = dict.fromkeys(name.partition(".")[2].rpartition(".")[0] for name in drives)
    try:
        units = DriveUnits.of(drives, joints)
    except ValueError as error:
        raise ParameterFileError(f"{path}: {error}") from None
    gains = {}
    for joint, word, gain in zip(joints, units.effort, units.effort_gain.tolist(), strict=True):
        if word in (WITHOUT_GRAVITY, WITHOUT_FRICTION):
            raise ParameterFileError(
                f"{path}: drives.{joint}.effort is {word}, expected torque, current or percent of "
                "what is recorded"
            )
        if gain != 1.0:
            gains[joint] = gain
    return gains


def check_names(path: Path, joints: Collection[str]) -> None:
    """Check that a parameter file names nothing that neither node knows.

    ``joints``: all joints of the arm that can move, also those that are locked.
    """
    nodes = _nodes(path)
    payloads = read_parameters(path)[CONTROLLER].payloads()
    wrong = [
        f"{key[:LONGEST]!r} is no node: expected /**/{alike[0]}"
        for key in nodes
        if (name := key.rpartition("/")[2]) not in NODES
        if (alike := get_close_matches(name[:LONGEST], NODES, 1, SIMILAR))
    ]
    count = len(wrong)
    for key, of in NODES_OF.items():
        known = {n for node in of for n in parameter_names(node, joints, payloads, joints)}
        values = _section(nodes, key, path)
        unknown = [n for n in values if n not in known and not n.startswith(OF_EVERY_NODE)]
        wrong += [f"no parameter {misspelt(name, known)}" for name in unknown[:SHOWN]]
        count += len(unknown)
    if wrong:
        rest = f"; and {count - SHOWN} more" if count > SHOWN else ""
        raise ParameterFileError(f"{path}: {'; '.join(wrong[:SHOWN])}{rest}")


def misspelt(name: str, known: Collection[str]) -> str:
    """Return an unknown name, with the nearest known one, if any."""
    name = name[:LONGEST]
    section, _, rest = name.partition(".")
    payload = f"{section}.{rest.partition('.')[0]}."
    if section == "payloads" and not any(one.startswith(payload) for one in known):
        return f"{name} (expected its payload in {PAYLOAD_NAMES})"
    nearest = get_close_matches(name, known, 1)
    return f"{name} (nearest: {nearest[0]})" if nearest else name


def parameter_names(
    node: str,
    joints: Collection[str],
    payloads: Collection[str] = (),
    locked: Collection[str] = (),
) -> set[str]:
    """Return the names of all parameters of a node."""
    names = set(_documented(node))
    for place, its in ((JOINT, joints), (PAYLOAD, payloads), (LOCKED, locked)):
        patterns = {pattern for pattern in names if place in pattern}
        names -= patterns
        names |= {pattern.replace(place, name) for pattern in patterns for name in its}
    return names


@cache
def _documented(node: str) -> frozenset[str]:
    """Return the parameters in the node's file in ``config/``, which lists all that it has."""
    path = share_directory() / "config" / f"{node}.yaml"
    patterns = re.findall(
        rf"^ *#  +(\S*(?:{JOINT}|{PAYLOAD}|{LOCKED})\S*)", path.read_text(), re.MULTILINE
    )
    return frozenset([*read_parameters(path)[node], *patterns])


def of_joint(joint: str, values: Mapping[str, Value]) -> dict[str, Value | Mapping[str, Value]]:
    """Return the parameters of a joint as ROS reads them from a file, nested below its name.

    A name with a dot in it must not be nested: at its end, ROS's reader removes only what follows
    the dot, and loses all parameters of the next joints.
    """
    if "." in joint:
        return {f"{joint}.{name}": value for name, value in values.items()}
    return {joint: values}


def parameter_text(head: Iterable[str], nodes: Mapping[str, Mapping[str, object]]) -> str:
    """Return a parameter file. ``nodes``: ``/**`` or the name of a node to its parameters."""
    content = {node: {"ros__parameters": dict(values)} for node, values in nodes.items()}
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    comment = "".join(f"# {line}\n" for line in head)
    return f"{comment}\n{text}" if comment else str(text)


def each_joint(joints: Mapping[str, Mapping[str, float]]) -> dict[str, object]:
    """Return parameters that joints have, nested and rounded as they stand in a file."""
    nested: dict[str, object] = {}
    for joint, terms in joints.items():
        nested |= of_joint(joint, {name: rounded(value) for name, value in terms.items()})
    return nested


def rounded(value: float) -> float:
    """Return a value with ``DIGITS`` digits; one that is practically zero becomes 0."""
    return float(f"{value:.{DIGITS}g}") if abs(value) > 1e-9 else 0.0


def _nodes(path: Path) -> Mapping[str, object]:
    try:
        if wrong := mistaken(path, PARAMETERS):
            raise ParameterFileError(wrong)
        documents = read_yaml(path)
        if len(documents) > 1:
            raise YamlError(f"{len(documents)} documents")
    except OSError as error:
        raise ParameterFileError(f"{path} cannot be read: {error.strerror}") from None
    except YamlError as error:
        raise ParameterFileError(f"{path} is not a parameter file: {error}") from None
    nodes = _mapping(documents[0] if documents else None, "the file", path)
    if not _has_parameters(nodes):
        raise ParameterFileError(
            f"{path} has no ros__parameters, expected names with values below, as in "
            "/**: {ros__parameters: {...}}"
        )
    return nodes


def _has_parameters(nodes: Mapping[str, object]) -> bool:
    """Tell whether any node, in a namespace or not, has parameters."""
    below = (content for content in nodes.values() if isinstance(content, Mapping))
    return "ros__parameters" in nodes or any(map(_has_parameters, below))


def _section(nodes: Mapping[str, object], key: str, path: Path) -> dict[str, object]:
    """Return what ROS reads of a node's parameters, nested names joined by dots."""
    node = _mapping(nodes.get(key, {}), key, path)
    nested = _mapping(node.get("ros__parameters", {}), f"ros__parameters of {key}", path)
    values = dict(_flat(nested))
    for name, value in values.items():
        if wrong := _unreadable(value):
            raise ParameterFileError(f"{path}: {name[:LONGEST]} {wrong}")
    return values


def _unreadable(value: object) -> str:
    """Return why ROS does not read a value, empty if it does."""
    if value in (None, {}):
        return "has no value, expected one, or no such line"
    if not isinstance(value, list):
        return ""
    if len(value) > MAX_LIST:
        return f"has {len(value)} values, expected at most {MAX_LIST}"
    kinds = {type(one) for one in value}
    if kinds == {int, float}:
        shown = ", ".join(str(float(one)) for one in value)
        return (
            f"is {plain(repr(value))}, whole numbers beside others, which ROS does not read: "
            f"expected [{shown}]"
        )
    if len(kinds) > 1 or not kinds <= LISTED:
        return (
            f"is {plain(repr(value))}, which ROS does not read: expected a list of numbers, of "
            "names, or of true and false"
        )
    return ""


def _mapping(value: object, what: str, path: Path) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ParameterFileError(
            f"{path} is not a parameter file: {what} is {value!r:.80}, expected names with values"
        )
    return {str(key): content for key, content in value.items()}


def _flat(nested: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in nested.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
