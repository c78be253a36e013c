"""topic_based_ros2_control.launch.py: the torque that holds the arm came through ros2_control."""

from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray


def generate_test_description():
    return describe("topic_based_ros2_control", robot="ur5e", namespace="arm")


class TwinUnderRos2Control(WhileRunning):
    def test_twin_applies_what_the_controller_commands(self):
        states = self.ros.collect(JointState, "/arm/digital_twin/joint_states")
        commands = self.ros.collect(Float64MultiArray, "/arm/effort_controller/commands")

        def command_applied():
            commanded = {tuple(command.data) for command in commands}
            return commanded & {tuple(state.effort) for state in states}

        self.ros.wait_for(command_applied, "state with a commanded effort")
