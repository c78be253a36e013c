"""topic_based_ros2_control.launch.py: the torque that holds the arm came through ros2_control."""

from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support import DEADLINE


def generate_test_description():
    return describe("topic_based_ros2_control", robot="ur5e", namespace="arm")


class TwinUnderRos2Control(WhileRunning):
    def test_what_the_controller_commands_reaches_the_twin_through_ros2_control(self, proc_info):
        passed_on = self.ros.collect(JointState, "/arm/digital_twin/joint_commands")
        commands = self.ros.collect(Float64MultiArray, "/arm/effort_controller/commands")
        proc_info.assertWaitForShutdown(process="spawner", timeout=DEADLINE)

        def arrived():
            commanded = {tuple(command.data) for command in commands}
            return commanded & {tuple(message.effort) for message in passed_on if message.effort[1]}

        self.ros.wait_for(arrived, "effort that was commanded")
