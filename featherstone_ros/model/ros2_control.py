"""ros2_control hardware and controllers for a robot simulated by the digital twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from defusedxml import ElementTree

TAG = "ros2_control"
BROADCASTER = "joint_state_broadcaster"
# Command interface to the controller's name, type and parameters.
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
    """Return a URDF whose <ros2_control> hardware is the twin, replacing any other."""
    robot = ElementTree.fromstring(text)
    for other in robot.findall(TAG):
        robot.remove(other)
    system = SubElement(robot, TAG, name="twin", type="system")
    hardware = SubElement(system, "hardware")
    SubElement(hardware, "plugin").text = plugin
    _parameter(hardware, "joint_commands_topic", f"{twin}/joint_commands")
    _parameter(hardware, "joint_states_topic", f"{twin}/joint_states")
    # Otherwise commands equal to the states are not sent, and the simulator waits for them.
    _parameter(hardware, "trigger_joint_command_threshold", "-1")
    for name, position in positions.items():
        joint = SubElement(system, "joint", name=name)
        SubElement(joint, "command_interface", name=interface)
        # The command before a controller is active.
        state = SubElement(joint, "state_interface", name="position")
        _parameter(state, "initial_value", repr(float(position)))
        for kind in ("velocity", "effort"):
            SubElement(joint, "state_interface", name=kind)
    return tostring(robot, encoding="unicode")


def _parameter(parent: Element, name: str, value: str) -> None:
    SubElement(parent, "param", name=name).text = value


def manager_parameters(joints: Sequence[str], interface: str, rate: int) -> dict[str, Any]:
    """Return the content of a parameter file for the controller manager and its controllers."""
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
