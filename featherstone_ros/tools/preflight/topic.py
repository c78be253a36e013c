"""The next trajectory on a topic; needs rclpy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.signals import held

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
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from rclpy.signals import SignalHandlerOptions
        from trajectory_msgs.msg import JointTrajectory
    except ImportError as error:
        raise FeatherstoneError(
            f"a topic needs ROS 2 ({error}): source a workspace, or give a YAML file"
        ) from None
    from featherstone_ros.tools.rclpy_calls import LONGEST_HOLD, spin_once

    received: list[JointTrajectory] = []
    try:
        with held():
            rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
            node = rclpy.create_node("preflight")
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
            executor = SingleThreadedExecutor()
            executor.add_node(node)
        print(f"waiting for a trajectory on {topic}", file=sys.stderr, flush=True)
        while not received:
            spin_once(executor, LONGEST_HOLD)
    except InvalidTopicNameException as error:
        raise FeatherstoneError(" ".join(str(error).split())) from None
    finally:
        with held():
            rclpy.try_shutdown()
    return received[0]
