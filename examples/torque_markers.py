"""Arrows for RViz: the torque of every joint, and wrenches; rviz.launch.py starts it.

    python examples/torque_markers.py --ros-args -p robot_description:=/path/to/arm.urdf

A node of its own, since efforts and wrenches come from a real arm's driver or from the twin. The
arrows are in the links' frames, so that tf does the kinematics.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from geometry_msgs.msg import Point, WrenchStamped
from rclpy.context import Context
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from featherstone_ros.arrays import Floats
from featherstone_ros.model.robot_description import Joint
from featherstone_ros.model.urdf import parse
from featherstone_ros.nodes.execution import run
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.topics import RELIABLE
from featherstone_ros.parameter import Parameter

LAST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
WRENCHES = ("external_wrench", "external_wrench_estimate")  # topics
FORCE, MOMENT = (0.80, 0.25, 0.70), (0.45, 0.35, 0.85)
CALM, BUSY, FULL = (0.25, 0.65, 0.35), (0.88, 0.63, 0.19), (0.78, 0.20, 0.16)
SHAFT, HEAD, HEAD_LENGTH = 0.02, 0.04, 0.05  # [m]

PARAMETERS = (
    Parameter("rate", 20.0, "markers per second [Hz]", 0.1, 200.0, (), True),
    Parameter(
        "frame_prefix",
        "",
        "prefix of the links' frames, as robot_state_publisher's",
        read_only=True,
    ),
    Parameter(
        "effort_length", 0.4, "length of the arrow of a joint at its effort limit [m]", 0.0, 100.0
    ),
    Parameter("force_scale", 0.01, "length of a wrench's force [m/N]", 0.0, 100.0),
    Parameter("moment_scale", 0.05, "length of a wrench's moment [m/(N m)]", 0.0, 100.0),
)


class TorqueMarkers(ModelNode):
    """Draws the effort in joint states along the joints' axes, and wrenches at their links."""

    def __init__(self, context: Context | None = None) -> None:
        """Declare the parameters."""
        super().__init__("torque_markers", PARAMETERS, context)

    def configure(self) -> None:
        """Make markers and topics."""
        names = set(self.model.joint_names)
        prefix = str(self.parameters["frame_prefix"])
        self._drawn = [joint for joint in parse(self._model_text).joints if joint.name in names]
        self._effort: dict[str, float] = {}
        self._peak = dict.fromkeys(names, 1.0)  # stands for the limit where there is none
        self._torques = {
            joint.name: arrow("torque", k, prefix + joint.child)
            for k, joint in enumerate(self._drawn)
        }
        self._wrenches: dict[str, list[Marker]] = {}
        self._markers = self.create_publisher(MarkerArray, "~/markers", RELIABLE)
        self._inputs = [
            self.create_subscription(JointState, "joint_states", self._on_state, LAST),
            *(
                self.create_subscription(
                    WrenchStamped, topic, partial(self._on_wrench, topic), LAST
                )
                for topic in WRENCHES
            ),
        ]
        self._timer = None

    def activate(self) -> None:
        """Publish at a fixed rate."""
        period = 1.0 / self.parameters["rate"]
        self._timer = self.create_timer(period, self._publish, clock=self.steady_clock)

    def deactivate(self) -> None:
        """Take the arrows away."""
        self.destroy_timer(self._timer)
        self._markers.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))

    def cleanup(self) -> None:
        """Destroy the topics."""
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        self.destroy_publisher(self._markers)

    def _on_state(self, message: JointState) -> None:
        if len(message.effort) == len(message.name):
            self._effort.update(zip(message.name, message.effort, strict=True))

    def _on_wrench(self, topic: str, message: WrenchStamped) -> None:
        """Draw a wrench until the next one on its topic."""
        if topic not in self._wrenches:
            first = 2 * WRENCHES.index(topic)
            self._wrenches[topic] = [arrow(topic, first + k, "") for k in range(2)]
        wrench = message.wrench
        parts = (wrench.force, FORCE, "force_scale"), (wrench.torque, MOMENT, "moment_scale")
        for marker, (value, colour, scale) in zip(self._wrenches[topic], parts, strict=True):
            vector = np.array([value.x, value.y, value.z]) * self.parameters[scale]
            marker.header.frame_id = str(self.parameters["frame_prefix"]) + message.header.frame_id
            point(marker, vector, colour)

    def _publish(self) -> None:
        for joint in self._drawn:
            if joint.name in self._effort:
                self._draw_torque(joint, self._effort[joint.name])
        wrenches = [marker for markers in self._wrenches.values() for marker in markers]
        visible = [marker for marker in (*self._torques.values(), *wrenches) if marker.points]
        if visible:
            self._markers.publish(MarkerArray(markers=visible))

    def _draw_torque(self, joint: Joint, effort: float) -> None:
        limit = joint.effort
        if not 0.0 < limit < np.inf:
            limit = self._peak[joint.name] = max(self._peak[joint.name], abs(effort))
        share = effort / limit
        vector = share * self.parameters["effort_length"] * joint.axis
        point(self._torques[joint.name], vector, heat(abs(share)))


def arrow(namespace: str, number: int, frame: str) -> Marker:
    """Return an arrow without direction yet; it moves along with its frame."""
    marker = Marker(ns=namespace, id=number, type=Marker.ARROW, frame_locked=True)
    marker.header.frame_id = frame
    marker.pose.orientation.w = 1.0
    marker.scale.x, marker.scale.y, marker.scale.z = SHAFT, HEAD, HEAD_LENGTH
    return marker


def point(marker: Marker, vector: Floats, colour: tuple[float, ...]) -> None:
    """Make an arrow along a vector (3,) [m] of its frame; invisible if not finite or too short."""
    length = float(np.linalg.norm(vector))
    is_visible = 1e-3 < length < np.inf
    marker.action = Marker.ADD if is_visible else Marker.DELETE
    tip = vector if is_visible else np.zeros(3)
    marker.points = [Point(), Point(x=float(tip[0]), y=float(tip[1]), z=float(tip[2]))]
    marker.scale.z = min(HEAD_LENGTH, 0.5 * length) if is_visible else HEAD_LENGTH
    red, green, blue = colour
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=0.9)


def heat(share: float) -> tuple[float, ...]:
    """Return a colour from green over yellow to red at 1 and above."""
    low, high, part = (CALM, BUSY, 2.0 * share) if share < 0.5 else (BUSY, FULL, 2.0 * share - 1.0)
    part = min(part, 1.0)
    return tuple((1.0 - part) * a + part * b for a, b in zip(low, high, strict=True))


if __name__ == "__main__":
    sys.exit(run("torque_markers:TorqueMarkers"))
