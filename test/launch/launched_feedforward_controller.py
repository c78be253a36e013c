"""feedforward_controller.launch.py, on a URDF by its path, with all its arguments."""

from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros.model.robots import robot_file

ROBOT = robot_file("ur5e")
JOINTS = [f"{joint}_joint" for joint in ("shoulder_pan", "shoulder_lift", "elbow")]
JOINTS += [f"wrist_{number}_joint" for number in (1, 2, 3)]


def generate_test_description():
    return describe(
        "feedforward_controller",
        robot=str(ROBOT),
        namespace="arm",
        mode="gravity_compensation",
        joint_states="measured",
        commands="/arm/effort_controller/commands",
    )


class Controller(WhileRunning):
    def test_answers_a_joint_state_with_a_command(self):
        self.ros.wait_for_state("/arm/feedforward_controller", "active")
        commands = self.ros.collect(Float64MultiArray, "/arm/effort_controller/commands")
        states = self.ros.publisher(JointState, "/arm/measured")

        def command_after_state():
            state = JointState(name=JOINTS, position=[0.0] * 6, velocity=[0.0] * 6)
            state.header.stamp = self.ros.node.get_clock().now().to_msg()
            states.publish(state)
            return commands

        self.ros.wait_for(command_after_state, "command")
        self.assertEqual(len(commands[0].data), 6)
        mode = self.ros.get_parameter("/arm/feedforward_controller", "mode")
        self.assertEqual(mode, "gravity_compensation")
