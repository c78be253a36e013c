"""A simulated arm's floating base: its parameters, and the topics of its motion.

``~/odom`` (nav_msgs/Odometry) where nav_msgs is installed, ``~/base_pose`` and ``~/base_twist``
(geometry_msgs) where it is not; and the transform on ``/tf`` where tf2_msgs is installed. Poses are
in the frame ``world_frame``, twists in the axes of the base link.
"""

from __future__ import annotations

import importlib.util

from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.publisher import Publisher

from featherstone_ros.message_templates import (
    BaseMessage,
    odometry,
    pose_stamped,
    tf_message,
    twist_stamped,
)
from featherstone_ros.model.model import BASES
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.topics import RELIABLE, TRANSFORMS
from featherstone_ros.parameter import Parameter

PARAMETERS = (
    Parameter(
        "base",
        "fixed",
        "fixed: the base link does not move; floating: it is a free body, as a boat or a satellite",
        choices=BASES,
        read_only=True,
    ),
    Parameter("world_frame", "world", "frame in which a floating base moves", read_only=True),
    Parameter(
        "publish_tf",
        True,
        "publish a floating base's transform on /tf, if tf2_msgs is installed",
        read_only=True,
    ),
)


def base_topics(node: ModelNode) -> list[tuple[Publisher, BaseMessage]]:
    """Return the topics of a floating base, each with its message; none where the base is fixed."""
    base, world = node.model.base_link, str(node.parameters["world_frame"])
    if not node.model.floating:
        _warn_of_what_is_idle(node)
        return []
    if world in ("", base):
        raise ValueError(
            f"world_frame is {world!r}, expected the name of a frame other than the base link's"
        )
    node.get_logger().info(
        "the base floats; a controller that assumes a fixed base is wrong: docs/floating_base.md"
    )
    topics: list[tuple[Publisher, BaseMessage]] = []
    if importlib.util.find_spec("nav_msgs"):
        from nav_msgs.msg import Odometry

        publisher = node.create_publisher(Odometry, "~/odom", RELIABLE)
        topics.append((publisher, odometry(world, base)))
    else:
        node.get_logger().info("nav_msgs is not installed: ~/base_pose and ~/base_twist, no ~/odom")
        pose = node.create_publisher(PoseStamped, "~/base_pose", RELIABLE)
        twist = node.create_publisher(TwistStamped, "~/base_twist", RELIABLE)
        topics.append((pose, pose_stamped(world)))
        topics.append((twist, twist_stamped(base)))
    if node.parameters["publish_tf"]:
        topics += _transform(node, world, base)
    return topics


def _transform(node: ModelNode, world: str, base: str) -> list[tuple[Publisher, BaseMessage]]:
    if not importlib.util.find_spec("tf2_msgs"):
        node.get_logger().info("tf2_msgs is not installed: no transform of the base on /tf")
        return []
    from tf2_msgs.msg import TFMessage

    publisher = node.create_publisher(TFMessage, "/tf", TRANSFORMS)
    return [(publisher, tf_message(world, base))]


def _warn_of_what_is_idle(node: ModelNode) -> None:
    for name in node.parameters:
        if name.startswith("initial_base"):
            if node.parameters[name] != node.parameters.default(name):
                node.get_logger().warning(f"{name} is without effect: the base is fixed")
