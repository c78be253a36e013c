"""Replaces inertial values in a URDF's text, leaving everything else unchanged byte for byte."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from xml.parsers import expat

import numpy as np

from featherstone_ros.errors import ModelError
from featherstone_ros.model import urdf
from featherstone_ros.model.robot_description import Inertial

PARTS = ("origin", "mass", "inertia")  # children of <inertial>
PLACES = (["link"], ["link", "inertial"], *(["link", "inertial", part] for part in PARTS))
START_TAG = re.compile(rb"""<[^"'>]*(?:"[^"]*"[^"'>]*|'[^']*'[^"'>]*)*>""")  # a quoted > is no end


class _Tag(NamedTuple):
    """A start tag, or <empty/>: its text, and where that begins and ends in the bytes."""

    text: str
    begin: int
    end: int

    @property
    def name(self) -> str:
        """The name, with the prefix of its XML namespace."""
        return re.split(r"[\s/>]", self.text[1:], maxsplit=1)[0]


def replace(text: str | bytes, inertials: Mapping[str, Inertial]) -> str:
    """Return the text of a URDF with these inertials for the links named.

    Attributes keep their order and quotes, and comments their place. A missing <inertial> is added.
    Its <origin> has rpy="0 0 0", since the values are in the link's axes.
    """
    urdf.parse(text)  # refuses entities, oversized text and duplicate names
    content = text.decode(encoding(text)) if isinstance(text, (bytes, bytearray)) else text
    data = content.encode()
    edits = []
    links = _find_links(data)
    for name, inertial in inertials.items():
        if name not in links:  # a link that a planar joint was split into
            raise ModelError(f"link {name!r} is not in the URDF, expected no inertia of its own")
        edits += _edits(data, links[name], inertial)
    for begin, end, new in sorted(edits, reverse=True):
        data = data[:begin] + new.encode() + data[end:]
    return data.decode()


def encoding(text: bytes) -> str:
    """Return the encoding that a URDF's text declares."""
    declared = re.match(rb"""\s*<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""", text)
    return "utf-8-sig" if declared is None else declared[1].decode()


def _find_links(data: bytes) -> dict[str, dict[str, _Tag]]:
    """Return of every <link> directly under <robot> its tag and those that give its inertia."""
    blank = len(data) - len(data.lstrip())
    found: dict[str, dict[str, _Tag]] = {}
    path: list[str] = []
    parser = expat.ParserCreate("utf-8")

    def start(tag: str, attributes: dict[str, str]) -> None:
        path.append(tag.rpartition(":")[2])
        if path[1:] == ["link"]:
            found[attributes["name"]] = {}
        if path[1:] in PLACES:
            match = next(START_TAG.finditer(data, blank + parser.CurrentByteIndex))
            places = next(reversed(found.values()))
            places.setdefault(path[-1], _Tag(match[0].decode(), *match.span()))

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: path.pop()
    parser.Parse(data[blank:], True)
    return found


def _edits(data: bytes, tags: Mapping[str, _Tag], inertial: Inertial) -> list[tuple[int, int, str]]:
    moments = map(_number, inertial.inertia[np.triu_indices(3)])
    values = {
        "origin": {"xyz": " ".join(map(_number, inertial.com)), "rpy": "0 0 0"},
        "mass": {"value": _number(inertial.mass)},
        "inertia": dict(zip(urdf.INERTIA, moments, strict=True)),
    }
    prefix = tags["link"].name.removesuffix("link")
    edits, missing = [], ""
    for part, attributes in values.items():
        if tag := tags.get(part):
            if part == "origin" and re.search(r"\squat_xyzw\s*=", tag.text):  # not both
                attributes = {"xyz": attributes["xyz"], "quat_xyzw": "0 0 0 1"}
            edits.append((tag.begin, tag.end, _with_attributes(tag.text, attributes)))
        else:
            inside = "".join(f' {key}="{value}"' for key, value in attributes.items())
            missing += f"<{prefix}{part}{inside}/>"
    if "inertial" not in tags:
        missing = f"\n    <{prefix}inertial>{missing}</{prefix}inertial>"
    parent = tags.get("inertial", tags["link"])
    if not missing:
        return edits
    if not parent.text.endswith("/>"):
        return [*edits, (parent.end, parent.end, missing)]
    return [*edits, (parent.end - 2, parent.end, f">{missing}</{parent.name}>")]


def _with_attributes(tag: str, attributes: Mapping[str, str]) -> str:
    """Return a start tag with these attributes set, existing ones in place."""
    for key, value in attributes.items():
        pattern = rf"""(\s{key}\s*=\s*)("[^"]*"|'[^']*')"""
        found = re.search(pattern, tag)
        if found is None:
            end = next(re.finditer(r"\s*/?>$", tag)).start()
            tag = f'{tag[:end]} {key}="{value}"{tag[end:]}'
        else:
            quote = found[2][0]
            tag = f"{tag[: found.start(2)]}{quote}{value}{quote}{tag[found.end(2) :]}"
    return tag


def _number(value: float) -> str:
    """Return the shortest text that reads as the same number."""
    return repr(float(value))
