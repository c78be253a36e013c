"""Reads YAML that may be anybody's: bounded in size, depth and in what its aliases expand to.

A few bytes of YAML can stand for gigabytes (aliases of aliases), contain themselves, or nest deeper
than Python recurses. The events of the parser are counted before anything is built from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import yaml

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.text import plain

MAX_SIZE = 50_000_000  # [byte] of a file
MAX_NODES = 1_000_000  # values, names and lists, each as often as aliases repeat it
MAX_DEPTH = 50
MAX_DIGITS = 100  # of a number
MAX_TAG = 100  # characters; a directive repeats one for each of its values
MAX_INTEGER = 2**63 - 1  # of ROS. Larger ones can be names with one hash: a mapping of them is slow
NUMBER = re.compile(r"[-+.:\w]*")  # what YAML 1.1 may take for one; base 60 has colons
EXPONENT = re.compile(r"[-+]?\d+[eE][-+]?\d+$")  # a number, but text in YAML 1.1
# libyaml's is five times faster, where PyYAML was built with it.
SAFE: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(FeatherstoneError, ValueError):
    """Text that is no YAML, or more than is read; the message says where and why."""


class Loader(SAFE):
    """PyYAML's safe loader, but for integers, and for 1e3, which is a number to ROS."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Return an integer, if ROS has it."""
        value = super().construct_yaml_int(node)
        if abs(value) > MAX_INTEGER:
            raise YamlError(f"{_at(node)}: {node.value[:40]} is no integer of 64 bits")
        return int(value)


Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
Loader.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, [*"-+0123456789"])


def read_yaml(path: Path) -> list[object]:
    """Return the documents of a file, empty ones left out."""
    with path.open("rb") as file:
        data = file.read(MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise YamlError(f"more than {MAX_SIZE / 1e6:g} MB, which is the most that is read")
    try:
        return parse_yaml(data.decode())
    except UnicodeDecodeError as error:
        raise YamlError(f"no UTF-8 text: {error}") from None


def parse_yaml(text: str) -> list[object]:
    """Return the documents of a YAML text, empty ones left out."""
    try:
        _check(yaml.parse(text, Loader))
        return [document for document in yaml.load_all(text, Loader) if document is not None]
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # of numbers, dates, binary data
        if isinstance(error, YamlError):
            raise
        raise YamlError(plain(str(error))) from None


def _check(events: Iterable[yaml.Event]) -> None:
    """Count what the events would become, aliases as what they stand for."""
    total, sizes = 0, dict[str, int]()
    open_nodes: list[tuple[str | None, int]] = []  # anchor, and the count where it begins
    for event in events:
        tag = getattr(event, "tag", None) or ""
        if len(tag) > MAX_TAG:
            raise YamlError(f"{_at(event)}: a tag of {len(tag)} characters, {tag[:40]}...")
        if isinstance(event, yaml.DocumentStartEvent):
            sizes = {}  # anchors are a document's own
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in (anchor for anchor, _ in open_nodes):
                raise YamlError(f"{_at(event)}: *{event.anchor[:40]} contains itself")
            total += sizes.get(event.anchor, 0)  # what is unknown is refused when it is loaded
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            if event.anchor:
                sizes[event.anchor] = 1
            value = event.value
            may_be_number = event.implicit[0] or tag
            if may_be_number and len(value) > MAX_DIGITS and NUMBER.fullmatch(value):
                if any(map(str.isdigit, value[:3])):
                    raise YamlError(f"{_at(event)}: a number of {len(value)} characters")
        elif isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, total))
            total += 1
            if len(open_nodes) > MAX_DEPTH:
                raise YamlError(f"{_at(event)}: nested deeper than {MAX_DEPTH}")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = total - before
        if total > MAX_NODES:
            raise YamlError(f"{_at(event)}: more than {MAX_NODES:,} values, aliases counted")


def _at(where: yaml.Event | yaml.Node) -> str:
    return f"line {where.start_mark.line + 1}"
