"""The next trajectory on a topic; needs rclpy."""

from __future__ import annotations

import sys

from rclpy.qos import ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.tools.rclpy_calls import Participant


def receive(topic: str) -> JointTrajectory:
    """Wait for a message, without a time limit."""
    received: list[JointTrajectory] = []
    with Participant("preflight") as ros:
        # Reliable, since the message may be the only one and come while DDS is still making the
        # connection; best effort beside it, since only that is served by such publishers.
        for reliability in (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT):
            ros.subscribe(JointTrajectory, topic, received.append, 1, reliability)
        print(f"waiting for a trajectory on {topic}", file=sys.stderr, flush=True)
        while not received:
            ros.wait()
    return received[0]
