"""Hardware and controllers of ros2_control for a robot that is the digital twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from defusedxml import ElementTree

TAG = "ros2_control"
BROADCASTER = "joint_state_broadcaster"
# By the command interface that a controller claims: its name, its type, its own parameters.
CONTROLLERS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "effort": (
        "effort_controller",
        "forward_command_controller/ForwardCommandController",
        {"interface_name": "effort"},
    ),
    "position": (
        "joint_trajectory_controller",
        "joint_trajectory_controller/JointTrajectoryController",
        {"command_interfaces": ["position"], "state_interfaces": ["position", "velocity"]},
    ),
}


def with_twin(
    text: str, plugin: str, twin: str, interface: str, positions: Mapping[str, float]
) -> str:
    """Return a URDF whose hardware is the twin, in place of any that it has.

    Args:
        text: The URDF.
        plugin: Hardware component that talks to a simulator by topics.
        twin: Full name of the twin's node, e.g. ``"/digital_twin"``.
        interface: What commands are: ``"effort"`` or ``"position"``.
        positions: Joint name to where the twin begins [rad or m], for all joints that move.
    """
    robot = ElementTree.fromstring(text)
    for other in robot.findall(TAG):
        robot.remove(other)
    system = SubElement(robot, TAG, name="twin", type="system")
    hardware = SubElement(system, "hardware")
    SubElement(hardware, "plugin").text = plugin
    _parameter(hardware, "joint_commands_topic", f"{twin}/joint_commands")
    _parameter(hardware, "joint_states_topic", f"{twin}/joint_states")
    # Else commands that are like the states are not sent, and a simulator waits for them.
    _parameter(hardware, "trigger_joint_command_threshold", "-1")
    for name, position in positions.items():
        joint = SubElement(system, "joint", name=name)
        SubElement(joint, "command_interface", name=interface)
        # What is commanded before a controller is active.
        state = SubElement(joint, "state_interface", name="position")
        _parameter(state, "initial_value", repr(float(position)))
        for kind in ("velocity", "effort"):
            SubElement(joint, "state_interface", name=kind)
    return tostring(robot, encoding="unicode")


def _parameter(parent: Element, name: str, value: str) -> None:
    SubElement(parent, "param", name=name).text = value


def manager_parameters(joints: Sequence[str], interface: str, rate: int) -> dict[str, Any]:
    """Return the content of a parameter file for the controller manager and its controllers.

    Args:
        joints: Names, in order.
        interface: What commands are: ``"effort"`` or ``"position"``.
        rate: Of the controller manager [Hz].
    """
    name, kind, own = CONTROLLERS[interface]
    manager = {
        "update_rate": rate,
        BROADCASTER: {"type": "joint_state_broadcaster/JointStateBroadcaster"},
        name: {"type": kind},
    }
    return {
        "/**/controller_manager": {"ros__parameters": manager},
        f"/**/{name}": {"ros__parameters": {"joints": list(joints), **own}},
    }
