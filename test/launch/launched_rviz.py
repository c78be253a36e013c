"""rviz.launch.py: the arrows come, whether or not there is an RViz to show them."""

from launched import AfterShutdown, WhileRunning, describe  # noqa: F401
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray


def generate_test_description():
    return describe("rviz", robot="ur5e", namespace="arm", joint_states="measured")


class Arrows(WhileRunning):
    def test_a_torque_becomes_an_arrow(self):
        markers = self.ros.collect(MarkerArray, "/arm/torque_markers/markers")
        states = self.ros.publisher(JointState, "/arm/measured")

        def drawn():
            states.publish(JointState(name=["elbow_joint"], position=[0.0], effort=[20.0]))
            return [m.header.frame_id for array in markers for m in array.markers]

        self.assertEqual(self.ros.wait_for(drawn, "arrow")[0], "forearm_link")
