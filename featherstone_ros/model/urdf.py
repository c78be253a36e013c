"""Reads URDF text into plain, checked data, without dynamics.

The text may come over the network (``robot_description``), so its size is bounded and entities are
refused. Only ``<link>`` and ``<joint>`` directly under ``<robot>`` are read, and the inertia of the
drives; visuals, materials, ``<gazebo>`` and the like are ignored.

Versions of the format are urdfdom's: 1.1 (urdfdom 5.1, 2026) adds ``quat_xyzw`` to <origin> and
<capsule> to <geometry>; 1.2 (urdfdom 6.0, 2026) ``acceleration``, ``deceleration`` and ``jerk`` to
<limit>. They are read whatever version the file declares: who writes them means them. But urdfdom
reads them from that version on alone, so that a file of another one is told of.

The armature of a joint is its drive's inertia reflected to the joint: that of the rotor times the
square of the gear ratio. These tell it, and of several the first that a joint has counts:

1. mujoco_ros2_control: ``<modify_element type="joint" name="..." armature="...">``;
2. drake and others: in a ``<transmission>`` of one joint and one actuator, ``<rotor_inertia>`` and
   ``<gear_ratio>`` of the ``<actuator>``, with any prefix;
3. ``<motorInertia>`` there, with the ``<mechanicalReduction>`` of actuator and joint;
4. ros2_control: ``<param>`` ``armature``, or ``rotor_inertia`` and ``gear_ratio``, of a
   ``<joint>``, with the ``<mechanical_reduction>`` of its transmission where no ratio is given.

A ratio that is not given is 1. Ratios alone tell nothing of inertia.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError
from xml.parsers.expat import errors

import numpy as np
from defusedxml import DefusedXmlException, ElementTree

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError
from featherstone_ros.model.finding import WARNING, Finding, Rule
from featherstone_ros.model.robot_description import (
    Inertial,
    Joint,
    Link,
    Mimic,
    RobotDescription,
    assemble,
    split_planar_joints,
)
from featherstone_ros.model.rotations import (
    rotation_from_quaternion,
    rotation_from_rpy,
    unit_vector,
)

MAX_SIZE = 10_000_000  # [byte] of XML text
JOINT_TYPES = ("revolute", "continuous", "prismatic", "planar", "floating", "fixed")
SEVERAL = {"planar": "three", "floating": "six"}  # degrees of freedom
SHOWN = 60  # characters of a line
OLDEST, NEWEST = (1, 0), (1, 2)
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
# Elements that matter to the dynamics: their attributes, and since which version.
ORIGIN = {"xyz": OLDEST, "rpy": OLDEST, "quat_xyzw": (1, 1)}
LIMIT = {
    **dict.fromkeys(("lower", "upper", "effort", "velocity"), OLDEST),
    **dict.fromkeys(("acceleration", "deceleration", "jerk"), (1, 2)),
}
KNOWN: dict[tuple[str, ...], dict[str, tuple[int, int]]] = {
    ("link", "inertial"): {},
    ("link", "inertial", "origin"): ORIGIN,
    ("link", "inertial", "mass"): {"value": OLDEST},
    ("link", "inertial", "inertia"): dict.fromkeys(INERTIA, OLDEST),
    ("joint", "origin"): ORIGIN,
    ("joint", "limit"): LIMIT,
}
# A loop of links is no tree, and URDF has none; descriptions close loops by extensions.
CLOSING = ("constraint", "loop", "loop_joint")
CLOSED_LOOP = Rule(
    "closed-loop",
    "closes a loop of links, which is not read",
    "the loop is open here: joints that others move are taken as driven, torques are wrong; see "
    "docs/urdf.md",
)
ROTORS = ("rotor_inertia", "motorInertia", "motor_inertia")
REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")
POSITION_INTERFACE = "PositionJointInterface"
REMEDIES = {
    errors.XML_ERROR_UNBOUND_PREFIX: "a prefix (as 'x' in <x:name>) is not declared: write "
    'xmlns:x="..." into <robot>, as xmlns:xacro="http://www.ros.org/wiki/xacro", or remove what '
    "has the prefix",
    errors.XML_ERROR_UNDEFINED_ENTITY: "only &amp; &lt; &gt; &quot; &apos; and &#...; are known: "
    "write the character itself",
}


def parse(text: str | bytes) -> RobotDescription:
    """Return the links and joints of a URDF, checked to form one tree of finite values.

    A planar joint ``j`` is replaced by three: ``j/x`` and ``j/y`` (prismatic) and ``j/theta``
    (continuous), with massless links ``j/x`` and ``j/y`` between them. The encoding that XML
    declares applies to bytes and is ignored in a str.
    """
    return read_robot(read_xml(text))


def read_robot(root: Element) -> RobotDescription:
    """Read the element <robot>, see ``parse``."""
    if tag(root) != "robot":
        raise ModelError(f"root element is <{tag(root)}>, expected <robot>")
    for kind in ("link", "joint"):  # a prefix on <robot> alone: links and joints would be lost
        if tag(root) != root.tag and root.find(kind) is not None:
            raise ModelError(
                f"<robot> is in the XML namespace {root.tag[1:].partition('}')[0]!r} and <{kind}> "
                "in none, expected the same"
            )
    odd = tuple(_oddities(root))
    links = tuple(map(_read_link, children(root, "link")))
    armatures = _armatures(root)
    joints = tuple(
        joint if joint.type in SEVERAL else replace(joint, armature=armatures.get(joint.name, 0.0))
        for joint in map(_read_joint, children(root, "joint"))
    )
    robot = assemble(root.get("name", ""), links, joints, odd)
    types = {joint.name: joint.type for joint in joints}
    for joint in joints:
        if joint.mimic is not None and (kind := types.get(joint.mimic.leader, "")) in SEVERAL:
            raise ModelError(
                f"joint {joint.name!r}: <mimic joint> is {joint.mimic.leader!r}, which is {kind}, "
                "expected a joint with one position"
                + (f", such as '{joint.mimic.leader}/x'" if kind == "planar" else "")
            )
    return split_planar_joints(robot)


def read_xml(text: str | bytes) -> Element:
    """Return the root element of the text of a URDF, see ``parse``."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(f"URDF text must be str or bytes, got {type(text).__name__}")
    data = text.encode(errors="replace") if isinstance(text, str) else bytes(text)
    if len(data) > MAX_SIZE:
        raise ModelError(f"URDF text is {len(data)} bytes long, expected at most {MAX_SIZE}")
    try:  # triple-quoted strings tend to begin with a line break, which XML does not allow
        root: Element = ElementTree.fromstring(text.lstrip())
        return root
    except DefusedXmlException as error:
        raise ModelError(f"URDF declares XML entities, expected none: {error}") from error
    except (ParseError, ValueError, LookupError) as error:
        fault = xml_fault(data, error) if isinstance(error, ParseError) else error
        raise ModelError(f"URDF is not well-formed XML: {fault}") from error


class Part(NamedTuple):
    """An element, or None where there is none, and how errors name it."""

    element: Element | None
    where: str

    def child(self, name: str) -> Part:
        """Return the first child with this tag in the element's own XML namespace."""
        found = [] if self.element is None else children(self.element, name)
        return Part(found[0] if found else None, f"{self.where}<{name}>")

    def get(self, attribute: str) -> str | None:
        """Return an attribute's text."""
        return None if self.element is None else self.element.get(attribute)

    def name(self, attribute: str) -> str:
        """Return a name, which must be there."""
        if not (text := self.get(attribute)):
            raise ModelError(f"{self.where} has no {attribute!r}, expected a name")
        return text

    def numbers(
        self, attribute: str, count: int, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...]:
        """Return finite numbers; no default means required."""
        if (text := self.get(attribute)) is not None:
            return _finite(text, f"{self.where} {attribute!r}", count)
        if default is None:
            expected = "a number" if count == 1 else f"{count} numbers"
            raise ModelError(f"{self.where} has no {attribute!r}, expected {expected}")
        return default

    def number(self, attribute: str, default: float | None = None) -> float:
        """Return a number, see ``numbers``."""
        return self.numbers(attribute, 1, None if default is None else (default,))[0]

    def origin(self) -> tuple[Floats, Floats]:
        """Return rotation (3, 3) and translation (3,) [m] of its <origin>."""
        origin = self.child("origin")
        xyz = np.array(origin.numbers("xyz", 3, (0.0, 0.0, 0.0)))
        if origin.get("quat_xyzw") is None:
            return rotation_from_rpy(*origin.numbers("rpy", 3, (0.0, 0.0, 0.0))), xyz
        if origin.get("rpy") is not None:
            raise ModelError(f"{origin.where} has both 'rpy' and 'quat_xyzw', expected one of them")
        quaternion = origin.numbers("quat_xyzw", 4)
        if not any(quaternion):
            raise ModelError(f"{origin.where} 'quat_xyzw' is zero, expected a rotation")
        return rotation_from_quaternion(*quaternion), xyz


def _read_link(element: Element) -> Link:
    name = Part(element, "<link>").name("name")
    inertial = Part(element, f"link {name!r}: ").child("inertial")
    if inertial.element is None:
        return Link(name, None)
    mass = inertial.child("mass").number("value")
    if mass < 0:
        raise ModelError(f"{inertial.where}<mass value> is {mass:g}, expected >= 0")
    rotation, com = inertial.origin()
    inertia = inertial.child("inertia")
    if inertia.element is None:
        return Link(name, Inertial(mass, com, np.zeros((3, 3))))  # a point mass
    xx, yy, zz = (inertia.number(key) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
    about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Link(name, Inertial(mass, com, rotation @ about_com @ rotation.T))


def _read_joint(element: Element) -> Joint:
    name = Part(element, "<joint>").name("name")
    part = Part(element, f"joint {name!r}: ")
    kind = element.get("type")
    if kind not in JOINT_TYPES:
        found = "missing" if kind is None else repr(kind)
        raise ModelError(f"{part.where}type is {found}, expected one of {', '.join(JOINT_TYPES)}")
    parent, child = (part.child(end).name("link") for end in ("parent", "child"))
    place = (name, kind, parent, child, *part.origin())
    mimic, followed = part.child("mimic"), None
    if mimic.element is not None and kind in SEVERAL:
        raise ModelError(
            f"{part.where}has <mimic>, expected none on a {kind} joint: it has {SEVERAL[kind]} "
            "degrees of freedom"
        )
    if kind in ("fixed", "floating"):  # real files have meaningless extras
        return Joint(*place, axis=np.array([1.0, 0.0, 0.0]))
    axis = part.child("axis").numbers("xyz", 3, (1.0, 0.0, 0.0))
    if not any(axis):
        raise ModelError(f"{part.where}<axis xyz> is zero, expected a direction for a moving joint")
    limit, dynamics = part.child("limit"), part.child("dynamics")
    rates: dict[str, Any] = {
        what: limit.number(what, math.inf) for what in ("acceleration", "jerk")
    }
    rates["deceleration"] = limit.number("deceleration", rates["acceleration"])
    for what, rate in rates.items():
        if rate < 0:  # as urdfdom
            raise ModelError(f"{limit.where} {what!r} is {rate:g}, expected >= 0")
    # No range without lower and upper; if only one is missing, it is 0, as in ros2_control. The
    # specification's default 0 would lock every joint that has only effort and velocity limits.
    ends = ("lower", "upper") if kind in ("revolute", "prismatic") else ()
    if any(limit.get(end) is not None for end in ends):
        rates |= {end: limit.number(end, 0.0) for end in ends}
    if mimic.element is not None:
        multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        followed = Mimic(mimic.name("joint"), multiplier, offset)
    return Joint(
        *place,
        axis=unit_vector(axis),
        velocity=limit.number("velocity", math.inf),
        effort=limit.number("effort", math.inf),
        damping=dynamics.number("damping", 0.0),
        friction=dynamics.number("friction", 0.0),
        mimic=followed,
        **rates,
    )


def tag(element: Element) -> str:
    """Return an element's tag without its XML namespace."""
    return str(element.tag).rpartition("}")[2]  # a comment's is a function


def children(element: Element, name: str) -> list[Element]:
    """Return the children with this tag in the element's own XML namespace."""
    namespace, brace, _ = element.tag.rpartition("}")
    return element.findall(namespace + brace + name)


def _finite(text: str, where: str, count: int = 1, least: float = -math.inf) -> tuple[float, ...]:
    try:
        found = tuple(float(word) for word in text.split())
    except ValueError:
        found = ()
    is_good = all(math.isfinite(value) and value >= least for value in found)
    if len(found) != count or not is_good or "_" in text:
        expected = "a finite number" if count == 1 else f"{count} finite numbers"
        expected += " >= 0" if least == 0 else ""
        raise ModelError(f"{where} is {text[:100]!r}, expected {expected}")
    return found


def xml_fault(data: bytes, error: ParseError) -> str:
    """Return the fault of text that is not XML, its line and the remedy, if one is known.

    Some is read all the same by urdfdom, whose reader (TinyXML-2) is more lenient than XML: two
    hyphens in a comment, a prefix that is not declared, ``&`` in a name. The error's lines count
    from the first that is not blank.
    """
    text = data.lstrip()
    blank = data[: len(data) - len(text)].count(b"\n")
    line, column = error.position
    lines = [*text.splitlines(), b""]
    found = lines[line - 1]
    start = max(0, column - SHOWN // 2)
    shown = found[start : start + SHOWN].decode(errors="replace").strip()
    remedy = REMEDIES.get(errors.messages[error.code], "")
    if errors.messages[error.code] == errors.XML_ERROR_INVALID_TOKEN:
        before = b"\n".join([*lines[: line - 1], found[:column]])
        if before.rfind(b"<!--") > before.rfind(b"-->"):
            remedy = "a comment must not have -- in it: write - -, or one hyphen"
        elif b"&" in found[max(0, column - 1) : column + 1]:
            remedy = "& stands for itself only as &amp;"
        elif found[column : column + 1] == b"<":
            remedy = "in a value, < is written &lt;; or a quote is missing before it"
    what = str(error).partition(": line")[0]
    told = f"{what} in line {line + blank}, column {column + 1}: {shown!r}"
    return f"{told}; {remedy}" if remedy else told


def version_of(root: Element) -> tuple[int, int]:
    """Return the version that <robot> declares, 1.0 where it declares none."""
    text = root.get("version")
    if text is None:
        return OLDEST
    match = re.fullmatch(r"\s*(\d{1,3})(?:\.(\d{1,3}))?\s*", text)
    found = (int(match[1]), int(match[2] or 0)) if match else None
    if found is None or found > NEWEST:
        raise ModelError(
            f"<robot version> is {text[:40]!r}, expected 1.0, 1.1 or 1.2: what else it may mean is "
            "not known; write the newest of these that has all that the file uses"
        )
    return found


def _oddities(root: Element) -> Iterator[Finding]:
    """Yield what the file says that is not read, or that other readers do not read."""
    declared, robot = version_of(root), root.get("name", "")[:100]
    if declared < OLDEST:
        rule = Rule(
            "urdf-version",
            f"declares version {_dotted(declared)} of URDF, which does not exist",
            "it is read as 1.0; urdfdom, and with it robot_state_publisher, refuses it",
        )
        yield Finding(WARNING, rule, "robot", robot)
    for owner in ("link", "joint"):
        for element in children(root, owner):
            for rule in _odd_attributes(element, owner, max(declared, OLDEST)):
                yield Finding(WARNING, rule, owner, element.get("name", ""))
    for element in root:  # extensions that close a loop, by any prefix, and <gazebo>'s joints
        kind = tag(element)
        for part in [element] if kind in CLOSING else element.findall("joint"):
            if kind in (*CLOSING, "gazebo"):
                name = part.get("name", "")[:100]
                what = f"<{kind}>" if part is element else "<gazebo> with a <joint>"
                found = f"{what} {name!r}" if name else what
                yield Finding(WARNING, CLOSED_LOOP, "robot", robot, found)


def _odd_attributes(element: Element, owner: str, declared: tuple[int, int]) -> Iterator[Rule]:
    """Yield the rules that attributes break; those with a prefix are extensions of others."""
    for (first, *path), known in KNOWN.items():
        part = Part(element if first == owner else None, "")
        for kind in path:
            part = part.child(kind)
        for attribute in () if part.element is None else part.element.keys():
            since = known.get(attribute)
            if attribute.startswith("{"):
                continue
            if since is None:
                yield Rule(
                    "unknown-attribute",
                    f"has an attribute {attribute[:40]!r} of <{kind}>, which URDF does not have",
                    f"it is ignored; <{kind}> has {', '.join(known) or 'no attributes'}",
                )
            elif since > declared:
                yield Rule(
                    "urdf-version",
                    f"has {attribute!r} of <{kind}>, which is read, but is of URDF "
                    f"{_dotted(since)}",
                    f"the file is of {_dotted(declared)}, from which urdfdom, and with it "
                    "robot_state_publisher, does not read it: write "
                    f'<robot version="{_dotted(since)}">',
                )


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _armatures(root: Element) -> dict[str, float]:
    """Return joint name to armature [kg m^2 or kg], of joints of which the description tells it."""
    found: dict[str, float] = {}
    for name, told, transmission in _drives(root):
        where = f"joint {name!r}: "
        inertia = next((key for key in ("armature", *ROTORS) if key in told), None)
        if inertia is None:
            continue
        (value,) = _finite(told[inertia], where + inertia, least=0.0)
        if inertia != "armature":
            if "gear_ratio" in told:
                (ratio,) = _finite(told["gear_ratio"], f"{where}gear_ratio")
            else:
                ratio = _reduction(name, *transmission)
            value = value * ratio * ratio
            if not math.isfinite(value):
                raise ModelError(
                    f"{where}{inertia} {told[inertia].strip()[:40]!r} times the square of the gear "
                    f"ratio {ratio:g} is {value:g}, expected a finite number"
                )
        if value > 0:
            found.setdefault(name, value)
    return found


def _drives(root: Element) -> Iterator[tuple[str, dict[str, str], Sequence[Element]]]:
    """Yield joint, what is told of its drive, and its transmission's joint and actuator, if any."""
    for element in root.findall(".//{*}modify_element"):
        text = element.get("armature")
        if element.get("type") == "joint" and text is not None:
            yield element.get("name", ""), {"armature": text}, ()
    for joint, actuator, name in _simple(root.findall(".//{*}transmission")):
        told = {tag(part): part.get("value") or part.text or "" for part in actuator}
        told.pop("armature", None)
        yield name, told, (joint, actuator)
    for system in root.findall(".//{*}ros2_control"):
        ways = {name: way for *way, name in _simple(system.findall("{*}transmission"))}
        for joint in system.findall("{*}joint"):
            name = joint.get("name", "")
            told = {p.get("name", ""): p.text or "" for p in joint.findall("{*}param")}
            yield name, told, ways.get(name, ())


def reductions(root: Element) -> dict[str, float]:
    """Return joint name to the reduction of its transmission, where that is other than 1."""
    found = {
        name: abs(_reduction(name, joint, actuator))
        for joint, actuator, name in _simple(root.findall(".//{*}transmission"))
    }
    return {name: ratio for name, ratio in found.items() if ratio not in (0.0, 1.0)}


def commanded_by_position(root: Element) -> set[str]:
    """Return the joints whose ros2_control hardware takes positions and no efforts."""
    found: dict[str, set[str]] = {}
    for system in root.findall(".//{*}ros2_control"):
        for joint in system.findall("{*}joint"):
            given = {part.get("name", "") for part in joint.findall("{*}command_interface")}
            found.setdefault(joint.get("name", ""), set()).update(given)
    return {name for name, given in found.items() if "position" in given and "effort" not in given}


def with_position_interface(root: Element) -> set[str]:
    """Return the joints whose transmission names ROS 1's interface for positions.

    Servos' descriptions do, as do those of arms that have been driven otherwise since.
    """
    return {
        name
        for joint, actuator, name in _simple(root.findall(".//{*}transmission"))
        for part in (*joint, *actuator)
        if tag(part) == "hardwareInterface" and (part.text or "").endswith(POSITION_INTERFACE)
    }


def _simple(transmissions: list[Element]) -> Iterator[tuple[Element, Element, str]]:
    """Yield joint, actuator and the joint's name of transmissions that couple one of each."""
    for transmission in transmissions:
        joints, actuators = (transmission.findall(f"{{*}}{name}") for name in ("joint", "actuator"))
        if len(joints) == len(actuators) == 1:
            yield joints[0], actuators[0], joints[0].get("name", "")


def _reduction(name: str, *transmission: Element) -> float:
    return math.prod(
        _finite(part.text or "", f"joint {name!r}: mechanical reduction")[0]
        for element in transmission
        for part in element
        if tag(part) in REDUCTIONS
    )
