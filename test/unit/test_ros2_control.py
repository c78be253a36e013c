"""The twin as the robot of ros2_control: what the URDF and the parameter file say."""

from xml.etree import ElementTree

import pytest

from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file
from featherstone_ros.model.ros2_control import manager_parameters, with_twin

TEXT = robot_file("ur5e").read_text()
JOINTS = Model.from_urdf(TEXT).joint_names
PLUGIN = "topic_based_ros2_control/TopicBasedSystem"
START = {joint: 0.1 * k - 0.2 for k, joint in enumerate(JOINTS)}


def test_the_hardware_is_the_twin_and_nothing_else():
    real = "<ros2_control name='real' type='system'><joint name='elbow_joint'/></ros2_control>"
    text = TEXT.replace("</robot>", f"{real}</robot>")
    robot = ElementTree.fromstring(with_twin(text, PLUGIN, "/arm/digital_twin", "effort", START))
    (system,) = robot.findall("ros2_control")
    hardware = {p.get("name"): p.text for p in system.findall("hardware/param")}
    assert system.findtext("hardware/plugin") == PLUGIN
    assert hardware["joint_commands_topic"] == "/arm/digital_twin/joint_commands"
    assert hardware["joint_states_topic"] == "/arm/digital_twin/joint_states"
    assert float(hardware["trigger_joint_command_threshold"]) < 0.0
    for joint in system.findall("joint"):
        (command,) = joint.findall("command_interface")
        assert command.get("name") == "effort"
        (initial,) = joint.findall("state_interface[@name='position']/param")
        assert initial.get("name") == "initial_value"
        assert float(initial.text) == START[joint.get("name")]
    assert [joint.get("name") for joint in system.findall("joint")] == list(JOINTS)


@pytest.mark.parametrize("interface", ["effort", "position"])
def test_the_arm_is_the_same_with_the_twin_as_its_hardware(interface):
    text = with_twin(TEXT, PLUGIN, "/digital_twin", interface, START)
    assert Model.from_urdf(text).joint_names == JOINTS
    assert (
        Model.from_urdf(text).inertial_parameters == Model.from_urdf(TEXT).inertial_parameters
    ).all()


@pytest.mark.parametrize(
    ("interface", "name"),
    [("effort", "effort_controller"), ("position", "joint_trajectory_controller")],
)
def test_the_manager_knows_the_controller_of_the_interface(interface, name):
    file = manager_parameters(JOINTS, interface, 500)
    manager = file["/**/controller_manager"]["ros__parameters"]
    assert manager["update_rate"] == 500
    assert manager[name]["type"].split("/")[0] in ("forward_command_controller", name)
    own = file[f"/**/{name}"]["ros__parameters"]
    assert own["joints"] == list(JOINTS)
    assert own.get("interface_name", "position") == interface
