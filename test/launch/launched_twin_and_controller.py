"""twin_and_controller.launch.py: both nodes are connected to each other."""

from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import MarkerArray


def generate_test_description():
    return describe("twin_and_controller", namespace="arm", use_sim_time="true", rviz="true")


class TwinAndController(WhileRunning):
    def test_twin_applies_what_the_controller_commands(self):
        commands = self.ros.collect(Float64MultiArray, "/arm/feedforward_controller/commands")
        states = self.ros.collect(JointState, "/arm/joint_states")

        def command_applied():
            commanded = {tuple(command.data) for command in commands}
            return commanded & {tuple(state.effort) for state in states}

        self.ros.wait_for(command_applied, "state with a commanded effort")

    def test_rviz_sees_the_torques(self):
        markers = self.ros.collect(MarkerArray, "/arm/torque_markers/markers")
        self.ros.wait_for(lambda: markers, "arrows")

    def test_twin_owns_the_time(self):
        clock = self.ros.collect(Clock, "/clock")
        self.ros.wait_for(lambda: clock, "clock")
        self.assertTrue(self.ros.get_parameter("/arm/feedforward_controller", "use_sim_time"))
