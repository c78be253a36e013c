"""The topic ~/controller_state, for clients of ros2_control, where control_msgs is installed.

While there are subscribers, Python asks the loop for one snapshot after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from control_msgs.msg import JointTrajectoryControllerState
from trajectory_msgs.msg import JointTrajectoryPoint

from featherstone_ros.control.phases import RUNNING, Phase
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.nodes.controller_loop import ControllerLoop
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.topics import RELIABLE

CHECK_PERIOD = 0.5  # [s] between two checks whether anybody listens; each costs half a millisecond


class ControllerState:
    """Publishes the desired state, the measured state and the command, all of the same cycle."""

    def __init__(self, node: ModelNode, loop: ControllerLoop, rate: float) -> None:
        """Make the topic; ``rate`` in Hz."""
        self._node, self._loop = node, loop
        self._publisher = node.create_publisher(
            JointTrajectoryControllerState, "~/controller_state", RELIABLE
        )
        self._timer = node.create_timer(1.0 / rate, self._publish, clock=node.rate_clock)
        self._timer.cancel()  # a needless wake-up of the executor delays others
        self._check_timer = node.create_timer(
            CHECK_PERIOD, self._publish_if_heard, clock=node.steady_clock
        )

    def _publish_if_heard(self) -> None:
        """Begin to publish once there is a subscriber."""
        if self._timer.is_canceled() and self._publisher.get_subscription_count():
            self._timer.reset()

    def destroy(self) -> None:
        """Take the topic away."""
        self._node.destroy_timer(self._check_timer)
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _publish(self) -> None:
        if not self._publisher.get_subscription_count():
            self._timer.cancel()
            return
        try:
            snapshot = self._loop.snapshot()
        except TrajectoryError:  # the loop is busy
            return
        if Phase(snapshot.phase) in RUNNING:
            self._publisher.publish(state_message(snapshot, self._loop.space.names))


def state_message(snapshot: Any, names: tuple[str, ...]) -> JointTrajectoryControllerState:
    """Return the message for a snapshot, with the fields of joint_trajectory_controller's."""
    message = JointTrajectoryControllerState(joint_names=list(names), speed_scaling_factor=1.0)
    message.header.stamp.sec, message.header.stamp.nanosec = snapshot.stamp
    message.reference, message.feedback, message.error = points(snapshot)
    message.reference.effort = snapshot.model_torque
    message.output.effort = snapshot.command
    return message


def points(snapshot: Any) -> list[JointTrajectoryPoint]:
    """Return what is desired, what is measured, and the error between them.

    All at the snapshot's time of the trajectory, 0 without one.
    """
    time = max(snapshot.elapsed, 0.0) if snapshot.path else 0.0
    since = Duration(sec=int(time), nanosec=int(time % 1.0 * 1e9))
    desired, measured = snapshot.desired[:3], np.stack([snapshot.q, snapshot.qd])
    names = ("positions", "velocities", "accelerations")
    return [
        JointTrajectoryPoint(time_from_start=since, **dict(zip(names, state, strict=False)))
        for state in (desired, measured, desired[:2] - measured)
    ]
