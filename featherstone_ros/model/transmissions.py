"""Inertia of the drives, where a robot description has it beside the format: as armature.

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
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from featherstone_ros.errors import ModelError

INERTIAS = ("rotor_inertia", "motorInertia", "motor_inertia")
RATIOS = ("gear_ratio",)
POSITION_INTERFACE = "PositionJointInterface"
REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")


def armatures(root: Element) -> dict[str, float]:
    """Return joint name to armature [kg m^2 or kg], of joints of which the description tells it."""
    found: dict[str, float] = {}
    for name, value in (*_of_mujoco(root), *_of_transmissions(root), *_of_ros2_control(root)):
        if value > 0:
            found.setdefault(name, value)
    return found


def reductions(root: Element) -> dict[str, float]:
    """Return joint name to the reduction of its transmission, where that is other than 1."""
    found = {
        name: abs(_reduction(joint, actuator, name))
        for joint, actuator, name in _simple(_below(root, "transmission"))
    }
    return {name: ratio for name, ratio in found.items() if ratio not in (0.0, 1.0)}


def commanded_by_position(root: Element) -> set[str]:
    """Return the joints whose ros2_control hardware takes positions and no efforts."""
    found: dict[str, set[str]] = {}
    for system in _below(root, "ros2_control"):
        for joint in (part for part in system if _tag(part) == "joint"):
            given = {part.get("name", "") for part in joint if _tag(part) == "command_interface"}
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
        if _tag(part) == "hardwareInterface" and (part.text or "").endswith(POSITION_INTERFACE)
    }


def _of_mujoco(root: Element) -> Iterator[tuple[str, float]]:
    for element in _below(root, "modify_element"):
        text = element.get("armature")
        if element.get("type") == "joint" and text is not None:
            name = element.get("name", "")
            yield name, _number(text, name, "armature")


def _of_transmissions(root: Element) -> Iterator[tuple[str, float]]:
    for joint, actuator, name in _simple(_below(root, "transmission")):
        parts = {_tag(part): part.get("value") or part.text or "" for part in actuator}
        inertia = next((key for key in INERTIAS if key in parts), None)
        if inertia is not None:
            ratio = _ratio(parts, _reduction(joint, actuator, name), name)
            yield name, _reflected(parts[inertia], inertia, ratio, name)


def _of_ros2_control(root: Element) -> Iterator[tuple[str, float]]:
    for system in _below(root, "ros2_control"):
        transmissions = [part for part in system if _tag(part) == "transmission"]
        ways = {name: (joint, actuator) for joint, actuator, name in _simple(transmissions)}
        for element in (part for part in system if _tag(part) == "joint"):
            name, parts = element.get("name", ""), _parameters(element)
            if "armature" in parts:
                yield name, _number(parts["armature"], name, "armature")
            elif "rotor_inertia" in parts:
                reduction = _reduction(*ways[name], name) if name in ways else 1.0
                ratio = _ratio(parts, reduction, name)
                yield name, _reflected(parts["rotor_inertia"], "rotor_inertia", ratio, name)


def _simple(transmissions: list[Element]) -> Iterator[tuple[Element, Element, str]]:
    """Yield joint, actuator and the joint's name of transmissions that couple one of each."""
    for transmission in transmissions:
        joints = [part for part in transmission if _tag(part) == "joint"]
        actuators = [part for part in transmission if _tag(part) == "actuator"]
        if len(joints) == len(actuators) == 1:
            yield joints[0], actuators[0], joints[0].get("name", "")


def _reduction(joint: Element, actuator: Element, name: str) -> float:
    texts = [part.text or "" for part in (*joint, *actuator) if _tag(part) in REDUCTIONS]
    return math.prod(_number(text, name, "mechanical reduction", -math.inf) for text in texts)


def _ratio(parts: dict[str, str], reduction: float, name: str) -> float:
    given = next((key for key in RATIOS if key in parts), None)
    return reduction if given is None else _number(parts[given], name, given, -math.inf)


def _reflected(text: str, what: str, ratio: float, name: str) -> float:
    armature = _number(text, name, what) * ratio * ratio
    if not math.isfinite(armature):
        raise ModelError(
            f"joint {name!r}: {what} {text.strip()[:40]!r} times the square of the gear ratio "
            f"{ratio:g} is {armature:g}, expected a finite number"
        )
    return armature


def _number(text: str, name: str, what: str, least: float = 0.0) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (least <= value and math.isfinite(value)):
        expected = "a finite number" + (" >= 0" if least == 0 else "")
        raise ModelError(f"joint {name!r}: {what} is {text.strip()[:40]!r}, expected {expected}")
    return value


def _parameters(element: Element) -> dict[str, str]:
    own = (part for part in element if _tag(part) == "param")
    return {part.get("name", ""): part.text or "" for part in own}


def _below(root: Element, name: str) -> list[Element]:
    return [element for element in root.iter() if _tag(element) == name]


def _tag(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
