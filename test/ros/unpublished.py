"""A node that cannot publish on one topic: its publisher's context has ended.

Arguments: the node as module:class, and the topic; then those of the node.
"""

import importlib
import sys

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from featherstone_ros.nodes.execution import run

WHERE, TOPIC = sys.argv[1:3]
module, _, name = WHERE.partition(":")


class Unpublished(getattr(importlib.import_module(module), name)):
    def create_publisher(self, kind, topic, *args, **options):
        if topic != TOPIC:
            return super().create_publisher(kind, topic, *args, **options)
        context = Context()
        rclpy.init(context=context)
        self.ended = Node(self.get_name(), context=context)
        publisher = self.ended.create_publisher(kind, topic, *args)
        context.handle.shutdown()  # Context.shutdown would end the publisher, too, since Kilted
        publisher.get_subscription_count = lambda: 1  # which now raises an error
        return publisher


if __name__ == "__main__":
    sys.exit(run("__main__:Unpublished", sys.argv[:1] + sys.argv[3:]))
