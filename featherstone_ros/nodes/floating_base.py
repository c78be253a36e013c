"""A simulated arm's floating base: its parameters, and the topics of its motion.

``~/odom`` (nav_msgs/Odometry) and the transform on ``/tf`` (tf2_msgs), where these packages are
installed. Poses are in the frame ``world_frame``, twists in the axes of the base link.
"""

from __future__ import annotations

import importlib

from rclpy.publisher import Publisher

from featherstone_ros.message_templates import BaseMessage, odometry, tf_message
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
    log, parameters = node.get_logger(), node.parameters
    base, world = node.model.base_link, str(parameters["world_frame"])
    if not node.model.floating:
        for name in parameters:
            if name.startswith("initial_base") and parameters[name] != parameters.default(name):
                log.warning(f"{name} is without effect: the base is fixed")
        return []
    if world in ("", base):
        raise ValueError(
            f"world_frame is {world!r}, expected the name of a frame other than the base link's"
        )
    log.info(
        "the base floats; a controller that assumes a fixed base is wrong: docs/floating_base.md"
    )
    offered = [("nav_msgs", "Odometry", "~/odom", RELIABLE, odometry)]
    if parameters["publish_tf"]:
        offered.append(("tf2_msgs", "TFMessage", "/tf", TRANSFORMS, tf_message))
    topics = []
    for package, kind, topic, qos, message in offered:
        try:
            messages = importlib.import_module(f"{package}.msg")
        except ImportError:
            log.info(f"{package} is not installed: nothing of the base on {topic}")
            continue
        publisher = node.create_publisher(getattr(messages, kind), topic, qos)
        topics.append((publisher, message(world, base)))
    return topics
