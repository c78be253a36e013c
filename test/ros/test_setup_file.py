"""What `featherstone-ros setup` writes is loaded by both nodes, which do not complain about it."""

from support import status_values  # skips this module where ROS is missing
from urdf_text import chain

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from rig import CONTROLLER, Rig

from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools import cli
from featherstone_ros.tools.robot_setup import load


def test_both_nodes_start_from_the_file_without_a_warning_and_follow(ros):
    """An arm of continuous joints without limits, with dots in their names."""
    friction = '<dynamics damping="0.1" friction="0.01"/>'
    robot = str(ros.folder / "arm.urdf")
    ros.folder.joinpath("arm.urdf").write_text(
        chain("arm 1.a", "arm 1.b", kind="continuous", axis="0 1 0", inside=friction)
    )
    file = ros.folder / "arm.yaml"
    assert cli.main(["setup", robot, "--output", str(file)]) == 0
    joints = list(load(robot).model.joint_names)
    start = read_parameters(file)["digital_twin"]
    text = robot_file(robot).read_text()
    rig = Rig(ros, text, "--params-file", str(file), pace=2.0, twin={"rate": 500.0})
    rig.wait_until_held()
    status = ros.status(node=CONTROLLER, phase="running")
    assert status_values(status)["gains"] == "nothing found"
    rig.lead([start[f"initial_positions.{joint}"] + 0.1 for joint in joints], 0.5)
    ros.status("running: hold", level=DiagnosticStatus.OK)
    for node in rig.nodes.values():
        said = [line for line in node.output.splitlines() if "[INFO]" not in line]
        assert not said, node.output
