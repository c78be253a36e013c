"""A controller that cannot publish commands: their publisher's context has ended."""

import sys

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from featherstone_ros.nodes.execution import run
from featherstone_ros.nodes.feedforward_controller import FeedforwardController


class Unpublished(FeedforwardController):
    def create_publisher(self, kind, topic, *args, **options):
        if topic != "~/commands":
            return super().create_publisher(kind, topic, *args, **options)
        context = Context()
        rclpy.init(context=context)
        self.ended = Node(self.get_name(), context=context)
        publisher = self.ended.create_publisher(kind, topic, *args)
        context.handle.shutdown()  # Context.shutdown would end the publisher, too, since Kilted
        publisher.get_subscription_count = lambda: 1  # which now raises an error
        return publisher


if __name__ == "__main__":
    sys.exit(run("__main__:Unpublished"))
