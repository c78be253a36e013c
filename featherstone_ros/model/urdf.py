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

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element, ParseError
from xml.parsers.expat import errors

import numpy as np
from defusedxml import DefusedXmlException, ElementTree

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import ModelError
from featherstone_ros.model.finding import Finding, Rule, Severity
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
_CODES = {
    name: errors.codes[getattr(errors, f"XML_ERROR_{name}")]
    for name in ("INVALID_TOKEN", "UNBOUND_PREFIX", "UNDEFINED_ENTITY")
}
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
INERTIAS = ("rotor_inertia", "motorInertia", "motor_inertia")
REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")
POSITION_INTERFACE = "PositionJointInterface"


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
    _refuse_lost_namespace(root)
    odd = tuple(_oddities(root))
    links = tuple(_read_link(element) for element in children(root, "link"))
    rotors = _armatures(root)
    joints = tuple(
        replace(joint, armature=rotors.get(joint.name, 0.0) if joint.type not in SEVERAL else 0.0)
        for joint in map(_read_joint, children(root, "joint"))
    )
    robot = assemble(root.get("name", ""), links, joints, odd)
    _refuse_leaders_of_several_degrees(robot)
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
    except ElementTree.ParseError as error:
        raise ModelError(f"URDF is not well-formed XML: {xml_fault(data, error)}") from error
    except (ValueError, LookupError) as error:
        raise ModelError(f"URDF is not well-formed XML: {error}") from error


def _read_link(element: Element) -> Link:
    name = _name_of(element)
    inertial = _child(element, "inertial")
    return Link(name, None if inertial is None else _read_inertial(inertial, f"link {name!r}"))


def _read_inertial(element: Element, owner: str) -> Inertial:
    mass = number(_child(element, "mass"), "value", f"{owner}: <inertial><mass>")
    if mass < 0:
        raise ModelError(f"{owner}: <inertial><mass value> is {mass:g}, expected >= 0")
    rotation, com = read_origin(element, f"{owner}: <inertial>")
    inertia = _child(element, "inertia")
    if inertia is None:  # a point mass
        return Inertial(mass, com, np.zeros((3, 3)))
    where = f"{owner}: <inertial><inertia>"
    xx, yy, zz = (number(inertia, key, where) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (number(inertia, key, where, 0.0) for key in ("ixy", "ixz", "iyz"))
    about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertial(mass, com, rotation @ about_com @ rotation.T)


def _read_joint(element: Element) -> Joint:
    name = _name_of(element)
    owner = f"joint {name!r}"
    joint_type = element.get("type")
    if joint_type not in JOINT_TYPES:
        found = "missing" if joint_type is None else repr(joint_type)
        raise ModelError(f"{owner}: type is {found}, expected one of {', '.join(JOINT_TYPES)}")
    parent, child = (
        _text(_child(element, end), "link", f"{owner}: <{end}>") for end in ("parent", "child")
    )
    rotation, translation = read_origin(element, f"{owner}: ")
    place = (name, joint_type, parent, child, rotation, translation)
    mimic = None if joint_type == "fixed" else _read_mimic(element, owner)
    if mimic is not None and joint_type in SEVERAL:
        raise ModelError(
            f"{owner}: has <mimic>, expected none on a {joint_type} joint: it has "
            f"{SEVERAL[joint_type]} degrees of freedom"
        )
    if joint_type in ("fixed", "floating"):  # real files have meaningless extras
        return Joint(*place, axis=np.array([1.0, 0.0, 0.0]))
    limit, where = _child(element, "limit"), f"{owner}: <limit>"
    has_range = joint_type in ("revolute", "prismatic")
    lower, upper = _read_range(limit if has_range else None, where)
    dynamics = _child(element, "dynamics")
    acceleration = _read_rate(limit, "acceleration", where)
    return Joint(
        *place,
        axis=_read_axis(element, owner),
        lower=lower,
        upper=upper,
        velocity=number(limit, "velocity", where, math.inf),
        effort=number(limit, "effort", where, math.inf),
        acceleration=acceleration,
        deceleration=_read_rate(limit, "deceleration", where, acceleration),
        jerk=_read_rate(limit, "jerk", where),
        damping=number(dynamics, "damping", f"{owner}: <dynamics>", 0.0),
        friction=number(dynamics, "friction", f"{owner}: <dynamics>", 0.0),
        mimic=mimic,
    )


def _refuse_leaders_of_several_degrees(robot: RobotDescription) -> None:
    types = {joint.name: joint.type for joint in robot.joints}
    for joint in robot.joints:
        if joint.mimic is not None and (kind := types.get(joint.mimic.leader)) in SEVERAL:
            raise ModelError(
                f"joint {joint.name!r}: <mimic joint> is {joint.mimic.leader!r}, which is {kind}, "
                "expected a joint with one position"
                + (f", such as '{joint.mimic.leader}/x'" if kind == "planar" else "")
            )


def read_origin(element: Element, where: str) -> tuple[Floats, Floats]:
    """Read <origin> of an element: rotation (3, 3) and translation (3,) [m]."""
    origin, where = _child(element, "origin"), f"{where}<origin>"
    xyz = np.array(numbers(origin, "xyz", 3, where, (0.0, 0.0, 0.0)))
    if origin is None or origin.get("quat_xyzw") is None:
        return rotation_from_rpy(*numbers(origin, "rpy", 3, where, (0.0, 0.0, 0.0))), xyz
    if origin.get("rpy") is not None:
        raise ModelError(f"{where} has both 'rpy' and 'quat_xyzw', expected one of them")
    quaternion = numbers(origin, "quat_xyzw", 4, where)
    if not any(quaternion):
        raise ModelError(f"{where} 'quat_xyzw' is zero, expected a rotation")
    return rotation_from_quaternion(*quaternion), xyz


def _read_axis(element: Element, owner: str) -> Floats:
    axis = numbers(_child(element, "axis"), "xyz", 3, f"{owner}: <axis>", (1.0, 0.0, 0.0))
    if not any(axis):
        raise ModelError(f"{owner}: <axis xyz> is zero, expected a direction for a moving joint")
    return unit_vector(axis)


def _read_range(limit: Element | None, where: str) -> tuple[float, float]:
    """Read ``lower`` and ``upper``: no range without either; if only one is missing, it is 0.

    ros2_control does the same. The specification's default 0, taken literally, would lock every
    joint that has only effort and velocity limits.
    """
    if limit is None or (limit.get("lower") is None and limit.get("upper") is None):
        return -math.inf, math.inf
    return number(limit, "lower", where, 0.0), number(limit, "upper", where, 0.0)


def _read_rate(
    limit: Element | None, attribute: str, where: str, default: float = math.inf
) -> float:
    value = number(limit, attribute, where, default)
    if value < 0:  # as urdfdom
        raise ModelError(f"{where} {attribute!r} is {value:g}, expected >= 0")
    return value


def _read_mimic(element: Element, owner: str) -> Mimic | None:
    mimic, where = _child(element, "mimic"), f"{owner}: <mimic>"
    if mimic is None:
        return None
    return Mimic(
        leader=_text(mimic, "joint", where),
        multiplier=number(mimic, "multiplier", where, 1.0),
        offset=number(mimic, "offset", where, 0.0),
    )


def _refuse_lost_namespace(root: Element) -> None:
    """Refuse an XML namespace prefix on <robot> alone: its links and joints would be lost."""
    for kind in ("link", "joint"):
        if tag(root) != root.tag and root.find(kind) is not None:
            raise ModelError(
                f"<robot> is in the XML namespace {root.tag[1:].partition('}')[0]!r} and <{kind}> "
                "in none, expected the same"
            )


def tag(element: Element) -> str:
    """Return an element's tag without its XML namespace."""
    return str(element.tag).rpartition("}")[2]  # a comment's is a function


def children(element: Element, name: str) -> list[Element]:
    """Return the children with this tag in the element's own XML namespace."""
    namespace, brace, _ = element.tag.rpartition("}")
    return element.findall(namespace + brace + name)


def _child(element: Element, name: str) -> Element | None:
    """Return the first child with this tag in the element's own XML namespace."""
    return next(iter(children(element, name)), None)


def _name_of(element: Element) -> str:
    return _text(element, "name", f"<{tag(element)}>")


def _text(element: Element | None, attribute: str, where: str) -> str:
    text = None if element is None else element.get(attribute)
    if not text:
        raise ModelError(f"{where} has no {attribute!r}, expected a name")
    return text


def numbers(
    element: Element | None,
    attribute: str,
    count: int,
    where: str,
    default: tuple[float, ...] | None = None,
) -> tuple[float, ...]:
    """Return numbers of an element; ``where`` names it in errors, no default means required."""
    text = None if element is None else element.get(attribute)
    if text is not None:
        return _finite(text, f"{where} {attribute!r}", count)
    if default is None:
        expected = "a number" if count == 1 else f"{count} numbers"
        raise ModelError(f"{where} has no {attribute!r}, expected {expected}")
    return default


def number(
    element: Element | None, attribute: str, where: str, default: float | None = None
) -> float:
    """Return a number of an element, see ``numbers``."""
    (value,) = numbers(element, attribute, 1, where, None if default is None else (default,))
    return value


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
    hyphens in a comment, a prefix that is not declared, ``&`` in a name.

    ``data``: the text that was parsed, without what is blank at its beginning or with it.
    ``error``: as the parser raised it: lines count from the first that is not blank.
    """
    blank = data[: len(data) - len(data.lstrip())]
    line, column = error.position
    lines = data.lstrip().splitlines()
    found = lines[line - 1] if line <= len(lines) else b""
    what = str(error).partition(": line")[0]
    start = max(0, column - SHOWN // 2)
    remedy = _remedy(error.code, lines[: line - 1], found, column)
    shown = found[start : start + SHOWN].decode(errors="replace").strip()
    line += blank.count(b"\n")
    text = f"{what} in line {line}, column {column + 1}"
    return f"{text}: {shown!r}" + (f"; {remedy}" if remedy else "")


def _remedy(code: int, before: list[bytes], line: bytes, column: int) -> str:
    if code == _CODES["UNBOUND_PREFIX"]:
        return (
            "a prefix (as 'x' in <x:name>) is not declared: write xmlns:x=\"...\" into <robot>, "
            'as xmlns:xacro="http://www.ros.org/wiki/xacro", or remove what has the prefix'
        )
    if code == _CODES["UNDEFINED_ENTITY"]:
        return "only &amp; &lt; &gt; &quot; &apos; and &#...; are known: write the character itself"
    if code != _CODES["INVALID_TOKEN"]:
        return ""
    text = b"\n".join([*before, line[:column]])
    if text.rfind(b"<!--") > text.rfind(b"-->"):
        return "a comment must not have -- in it: write - -, or one hyphen"
    if b"&" in line[max(0, column - 1) : column + 1]:
        return "& stands for itself only as &amp;"
    if line[column : column + 1] == b"<":
        return "in a value, < is written &lt;; or a quote is missing before it"
    return ""


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
        yield Finding(Severity.WARNING, rule, "robot", robot)
    for owner in ("link", "joint"):
        for element in children(root, owner):
            for rule in _odd_attributes(element, owner, max(declared, OLDEST)):
                yield Finding(Severity.WARNING, rule, owner, element.get("name", ""))
    for element in root:  # extensions that close a loop, by any prefix, and <gazebo>'s joints
        kind = tag(element)
        for closing in [element] if kind in CLOSING else element.iterfind("joint"):
            if kind in (*CLOSING, "gazebo"):
                name = closing.get("name", "")[:100]
                what = f"<{kind}>" if closing is element else "<gazebo> with a <joint>"
                found = f"{what}{name and ' '}{name and repr(name)}"
                yield Finding(Severity.WARNING, CLOSED_LOOP, "robot", robot, found)


def _odd_attributes(element: Element, owner: str, declared: tuple[int, int]) -> Iterator[Rule]:
    """Yield the rules that attributes break; those with a prefix are extensions of others."""
    for path, known in KNOWN.items():
        part: Element | None = element if path[0] == owner else None
        for name in path[1:]:
            part = None if part is None else _child(part, name)
        kind = path[-1]
        for attribute in () if part is None else part.keys():
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
    for name, parts, transmission in _drives(root):
        inertia = next((key for key in ("armature", *INERTIAS) if key in parts), None)
        if inertia is None:
            continue
        (value,) = _finite(parts[inertia], f"joint {name!r}: {inertia}", least=0.0)
        if inertia != "armature":
            if "gear_ratio" in parts:
                (ratio,) = _finite(parts["gear_ratio"], f"joint {name!r}: gear_ratio")
            else:
                ratio = _reduction(name, *transmission)
            value = value * ratio * ratio
            if not math.isfinite(value):
                raise ModelError(
                    f"joint {name!r}: {inertia} {parts[inertia].strip()[:40]!r} times the square "
                    f"of the gear ratio {ratio:g} is {value:g}, expected a finite number"
                )
        if value > 0:
            found.setdefault(name, value)
    return found


def _drives(root: Element) -> Iterator[tuple[str, dict[str, str], tuple[Element, ...]]]:
    """Yield joint, what is told of its drive, and its transmission's joint and actuator, if any."""
    for element in _below(root, "modify_element"):
        text = element.get("armature")
        if element.get("type") == "joint" and text is not None:
            yield element.get("name", ""), {"armature": text}, ()
    for joint, actuator, name in _simple(_below(root, "transmission")):
        told = {tag(part): part.get("value") or part.text or "" for part in actuator}
        told.pop("armature", None)
        yield name, told, (joint, actuator)
    for system in _below(root, "ros2_control"):
        ways = {name: way for *way, name in _simple(_tagged(system, "transmission"))}
        for joint in _tagged(system, "joint"):
            name = joint.get("name", "")
            told = {p.get("name", ""): p.text or "" for p in _tagged(joint, "param")}
            yield name, told, tuple(ways.get(name, ()))


def reductions(root: Element) -> dict[str, float]:
    """Return joint name to the reduction of its transmission, where that is other than 1."""
    found = {
        name: abs(_reduction(name, joint, actuator))
        for joint, actuator, name in _simple(_below(root, "transmission"))
    }
    return {name: ratio for name, ratio in found.items() if ratio not in (0.0, 1.0)}


def commanded_by_position(root: Element) -> set[str]:
    """Return the joints whose ros2_control hardware takes positions and no efforts."""
    found: dict[str, set[str]] = {}
    for system in _below(root, "ros2_control"):
        for joint in _tagged(system, "joint"):
            given = {part.get("name", "") for part in _tagged(joint, "command_interface")}
            found.setdefault(joint.get("name", ""), set()).update(given)
    return {name for name, given in found.items() if "position" in given and "effort" not in given}


def with_position_interface(root: Element) -> set[str]:
    """Return the joints whose transmission names ROS 1's interface for positions.

    Servos' descriptions do, as do those of arms that have been driven otherwise since.
    """
    return {
        name
        for joint, actuator, name in _simple(_below(root, "transmission"))
        for part in (*joint, *actuator)
        if tag(part) == "hardwareInterface" and (part.text or "").endswith(POSITION_INTERFACE)
    }


def _simple(transmissions: list[Element]) -> Iterator[tuple[Element, Element, str]]:
    """Yield joint, actuator and the joint's name of transmissions that couple one of each."""
    for transmission in transmissions:
        joints, actuators = (_tagged(transmission, name) for name in ("joint", "actuator"))
        if len(joints) == len(actuators) == 1:
            yield joints[0], actuators[0], joints[0].get("name", "")


def _reduction(name: str, *transmission: Element) -> float:
    return math.prod(
        _finite(part.text or "", f"joint {name!r}: mechanical reduction")[0]
        for element in transmission
        for part in element
        if tag(part) in REDUCTIONS
    )


def _tagged(element: Element, name: str) -> list[Element]:
    return [part for part in element if tag(part) == name]


def _below(root: Element, name: str) -> list[Element]:
    return [element for element in root.iter() if tag(element) == name]
