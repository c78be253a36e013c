"""The next trajectory on a topic; needs rclpy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from featherstone_ros.errors import FeatherstoneError

if TYPE_CHECKING:
    from trajectory_msgs.msg import JointTrajectory


def receive(topic: str) -> JointTrajectory:
    """Wait for a message, without a time limit.

    Raises:
        FeatherstoneError: rclpy is missing, or ROS refuses the name.
    """
    try:
        import rclpy
        from rclpy.event_handler import SubscriptionEventCallbacks
        from rclpy.exceptions import InvalidTopicNameException
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from rclpy.signals import SignalHandlerOptions
        from trajectory_msgs.msg import JointTrajectory
    except ImportError as error:
        raise FeatherstoneError(
            f"a topic needs ROS 2 ({error}): source a workspace, or give a YAML file"
        ) from None
    received: list[JointTrajectory] = []
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node("preflight")
        try:
            # Reliable, since the message may be the only one and come while DDS is still making the
            # connection; best effort beside it, since only that is served by such publishers.
            for reliability in (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT):
                node.create_subscription(
                    JointTrajectory,
                    topic,
                    received.append,
                    QoSProfile(depth=1, reliability=reliability),
                    event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
                )
        except InvalidTopicNameException as error:
            raise FeatherstoneError(" ".join(str(error).split())) from None
        print(f"waiting for a trajectory on {topic}", file=sys.stderr, flush=True)
        while not received:
            rclpy.spin_once(node, timeout_sec=0.1)
    finally:
        rclpy.try_shutdown()
    return received[0]
