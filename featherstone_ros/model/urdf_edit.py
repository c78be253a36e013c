"""Replaces inertial values in a URDF's text, leaving everything else unchanged byte for byte."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np

from featherstone_ros.errors import ModelError
from featherstone_ros.model import urdf
from featherstone_ros.model.robot_description import Inertial

PARTS = ("origin", "mass", "inertia")  # children of <inertial>


@dataclass
class _Tag:
    """A start tag: where it begins and ends in the bytes, and whether it is <empty/>."""

    begin: int
    end: int
    empty: bool


@dataclass
class _Link:
    """Where a <link> gives its inertia."""

    start: _Tag
    prefix: str  # of its XML namespace, colon included
    inertial: _Tag | None = None
    parts: dict[str, _Tag] = field(default_factory=dict)


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


def _find_links(data: bytes) -> dict[str, _Link]:
    """Return the place of every <link> directly under <robot>, by name."""
    blank = len(data) - len(data.lstrip())
    found: dict[str, _Link] = {}
    path: list[str] = []
    current: list[_Link] = []
    parser = expat.ParserCreate("utf-8")

    def start(tag: str, attributes: dict[str, str]) -> None:
        path.append(tag.rpartition(":")[2])
        prefix = tag[: len(tag) - len(path[-1])]
        place = _start_tag(data, blank + parser.CurrentByteIndex)
        if path[1:] == ["link"]:
            current[:] = [_Link(place, prefix)]
            found[attributes["name"]] = current[0]
        elif path[1:] == ["link", "inertial"] and current[0].inertial is None:
            current[0].inertial = place
        elif path[1:-1] == ["link", "inertial"] and path[-1] in PARTS:
            current[0].parts.setdefault(path[-1], place)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: path.pop()
    parser.Parse(data[blank:], True)
    return found


def _start_tag(data: bytes, begin: int) -> _Tag:
    """Return the start tag at an index; a > within quotes does not end it."""
    pattern = re.compile(rb"""<[^"'>]*(?:"[^"]*"[^"'>]*|'[^']*'[^"'>]*)*>""")
    match = next(pattern.finditer(data, begin))
    return _Tag(begin, match.end(), match[0].endswith(b"/>"))


def _edits(data: bytes, link: _Link, inertial: Inertial) -> list[tuple[int, int, str]]:
    values = {
        "origin": {"xyz": " ".join(map(_number, inertial.com)), "rpy": "0 0 0"},
        "mass": {"value": _number(inertial.mass)},
        "inertia": dict(
            zip(urdf.INERTIA, map(_number, inertial.inertia[np.triu_indices(3)]), strict=True)
        ),
    }
    edits, missing = [], ""
    for part, attributes in values.items():
        tag = link.parts.get(part)
        if tag is None:
            inside = "".join(f' {key}="{value}"' for key, value in attributes.items())
            missing += f"<{link.prefix}{part}{inside}/>"
        else:
            text = data[tag.begin : tag.end].decode()
            if part == "origin" and re.search(r"\squat_xyzw\s*=", text):  # not both
                attributes = {"xyz": attributes["xyz"], "quat_xyzw": "0 0 0 1"}
            edits.append((tag.begin, tag.end, _with_attributes(text, attributes)))
    if link.inertial is None:
        edits.append(_inserted(data, link.start, f"{link.prefix}inertial", missing, "\n    "))
    elif missing:
        edits.append(_inserted(data, link.inertial, "", missing, ""))
    return edits


def _inserted(
    data: bytes, parent: _Tag, element: str, inside: str, indent: str
) -> tuple[int, int, str]:
    """Return the edit that inserts text right after a start tag, opening an <empty/> one."""
    new = f"{indent}<{element}>{inside}</{element}>" if element else inside
    if not parent.empty:
        return parent.end, parent.end, new
    name = re.split(rb"[\s/>]", data[parent.begin + 1 : parent.end], maxsplit=1)[0].decode()
    slash = data.rindex(b"/", parent.begin, parent.end)
    return slash, parent.end, f">{new}</{name}>"


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
