"""Versions of the URDF format, and what a file says that none of them knows.

The sources are urdfdom's: 1.1 (urdfdom 5.1, 2026) adds ``quat_xyzw`` to <origin> and <capsule> to
<geometry>; 1.2 (urdfdom 6.0, 2026) adds ``acceleration``, ``deceleration`` and ``jerk`` to <limit>.
They are read whatever version the file declares: who writes them means them. But urdfdom reads them
from that version on alone, so that a file of another one is told of.
"""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from featherstone_ros.errors import ModelError
from featherstone_ros.model.finding import Finding, Rule, Severity

OLDEST, NEWEST = (1, 0), (1, 2)
KNOWN: dict[str, dict[str, tuple[int, int]]] = {  # element: attribute, and since which version
    "origin": {"xyz": OLDEST, "rpy": OLDEST, "quat_xyzw": (1, 1)},
    "limit": {
        **dict.fromkeys(("lower", "upper", "effort", "velocity"), OLDEST),
        **dict.fromkeys(("acceleration", "deceleration", "jerk"), (1, 2)),
    },
    "inertial": {},
    "mass": {"value": OLDEST},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), OLDEST),
}
PARTS = {  # where those elements are that matter to the dynamics
    "link": ("inertial", "inertial/origin", "inertial/mass", "inertial/inertia"),
    "joint": ("origin", "limit"),
}

# A loop of links is no tree, and URDF has none; descriptions close loops by extensions.
CLOSING = ("constraint", "loop", "loop_joint")
CLOSED_LOOP = Rule(
    "closed-loop",
    "closes a loop of links, which is not read",
    "the loop is open here: joints that others move are taken as driven, torques are wrong; see "
    "docs/urdf.md",
)


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


def oddities(root: Element) -> list[Finding]:
    """Return what the file says that is not read, or that other readers do not read."""
    declared = version_of(root)
    found = [Finding(Severity.WARNING, rule, *place) for rule, place in _odd(root, declared)]
    found += closed_loops(root)
    if declared < OLDEST:
        rule = Rule(
            "urdf-version",
            f"declares version {_text(declared)} of URDF, which does not exist",
            "it is read as 1.0; urdfdom, and with it robot_state_publisher, refuses it",
        )
        found.insert(0, Finding(Severity.WARNING, rule, "robot", root.get("name", "")[:100]))
    return found


def closed_loops(root: Element) -> Iterator[Finding]:
    """Yield the extensions that close a loop: of <robot> by any prefix, and <gazebo>'s joints."""
    robot = root.get("name", "")[:100]
    for element in root:
        kind = element.tag.rpartition("}")[2]
        joints = element.iterfind("joint") if kind == "gazebo" else ()
        for closing in [element] if kind in CLOSING else joints:
            name = closing.get("name", "")[:100]
            what = f"<{kind}>" if closing is element else "<gazebo> with a <joint>"
            found = f"{what}{name and ' '}{name and repr(name)}"
            yield Finding(Severity.WARNING, CLOSED_LOOP, "robot", robot, found)


def _odd(root: Element, declared: tuple[int, int]) -> Iterator[tuple[Rule, tuple[str, str]]]:
    for kind, attribute, place in _attributes(root):
        since = KNOWN[kind].get(attribute)
        if since is None:
            yield _unknown(kind, attribute), place
        elif since > max(declared, OLDEST):
            yield _too_new(kind, attribute, since, declared), place


def _attributes(root: Element) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Yield element and attribute, and the kind and name of the link or joint that has it.

    Attributes with a prefix are extensions of others.
    """
    namespace = "".join(root.tag.rpartition("}")[:2])
    for owner, paths in PARTS.items():
        for element in root.findall(namespace + owner):
            for path in paths:
                kind = path.rpartition("/")[2]
                part = element.find("/".join(namespace + step for step in path.split("/")))
                for attribute in () if part is None else part.keys():
                    if not attribute.startswith("{"):
                        yield kind, attribute, (owner, element.get("name", ""))


def _unknown(kind: str, attribute: str) -> Rule:
    return Rule(
        "unknown-attribute",
        f"has an attribute {attribute[:40]!r} of <{kind}>, which URDF does not have",
        f"it is ignored; <{kind}> has {', '.join(KNOWN[kind]) or 'no attributes'}",
    )


def _too_new(kind: str, attribute: str, since: tuple[int, int], declared: tuple[int, int]) -> Rule:
    return Rule(
        "urdf-version",
        f"has {attribute!r} of <{kind}>, which is read, but is of URDF {_text(since)}",
        f"the file is of {_text(max(declared, OLDEST))}, from which urdfdom, and with it "
        f'robot_state_publisher, does not read it: write <robot version="{_text(since)}">',
    )


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
