"""Quality of service of every topic that a node publishes or listens to."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy


def _best_effort(depth: int) -> QoSProfile:
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)


RELIABLE = QoSProfile(depth=10)
# What is published once, for those who come later as well.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Listeners that act on the newest: what came before it is of no use any more. A sender of either
# reliability is heard.
NEWEST = _best_effort(4)  # no more, since a waiting state is a late one; loses none of a burst
TIME = _best_effort(10)  # /clock
# Listeners that miss none, though they are held up.
EVERY = _best_effort(1000)

# Simulated time runs ahead of listeners; a reliable one that is as far behind still gets all. A
# twin in lockstep makes some 5,000 states in a second: a process may stand still for ten.
AHEAD = QoSProfile(depth=50_000)
TRANSFORMS = QoSProfile(depth=100)  # as tf2_ros publishes them
