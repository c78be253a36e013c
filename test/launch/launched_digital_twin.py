"""digital_twin.launch.py, on one of our robots, in a namespace, on a topic of another name."""

from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

TORQUES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def generate_test_description():
    return describe("digital_twin", robot="ur5e", namespace="arm", commands="torques")


class Twin(WhileRunning):
    def test_applies_the_command(self):
        states = self.ros.collect(JointState, "/arm/joint_states")
        commands = self.ros.publisher(Float64MultiArray, "/arm/torques")
        self.ros.wait_for(lambda: states, "joint state")
        commands.publish(Float64MultiArray(data=TORQUES))
        self.ros.wait_for(lambda: list(states[-1].effort) == TORQUES, "commanded effort")
