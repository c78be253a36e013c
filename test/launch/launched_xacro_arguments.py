"""twin_and_controller.launch.py, on a xacro file with arguments, in a folder with a blank."""

import tempfile
from pathlib import Path

from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

ARM = """<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">
  <xacro:arg name="joint" default="a joint"/>
  <link name="base"/>
  <link name="tip"><inertial>
    <origin xyz="0.1 0 0"/><mass value="$(arg mass)"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="$(arg joint)" type="revolute">
    <parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="2" effort="90"/>
  </joint>
</robot>"""


def generate_test_description():
    path = Path(tempfile.mkdtemp(prefix="a clone ")) / "arm.urdf.xacro"
    path.write_text(ARM)
    return describe(
        "twin_and_controller", robot=str(path), xacro_arguments="mass:=3 joint:='the elbow'"
    )


class XacroArguments(WhileRunning):
    def test_both_nodes_move_the_arm_that_they_describe(self):
        states = self.ros.collect(JointState, "/joint_states")
        commands = self.ros.collect(Float64MultiArray, "/feedforward_controller/commands")
        self.ros.wait_for(lambda: states and commands, "joint state and command")
        self.assertEqual(states[-1].name, ["the elbow"])

        def holds_three_kilograms():
            return abs(abs(commands[-1].data[0]) - 3 * 9.81 * 0.1) < 0.3

        self.ros.wait_for(holds_three_kilograms, "torque that holds 3 kg")
