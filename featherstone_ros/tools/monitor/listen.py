"""Keeps a status table up to date from /diagnostics; needs rclpy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from featherstone_ros.errors import GET_ROS, FeatherstoneError
from featherstone_ros.tools.monitor.node_status import StatusTable
from featherstone_ros.tools.signals import held

if TYPE_CHECKING:
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.executors import Executor


class Listener:
    """Fills a status table from /diagnostics while ``hear`` runs.

    Attributes:
        table: The last status of every node heard.
    """

    def __init__(self, executor: Executor) -> None:
        """Start with an empty table; ``hear`` spins the executor."""
        self.table = StatusTable()
        self._executor = executor

    def take(self, message: DiagnosticArray) -> None:
        """Take one diagnostic_msgs/DiagnosticArray."""
        self.table.hear(message.status, time.monotonic())

    def hear(self, duration: float) -> None:
        """Listen for some time [s]."""
        from featherstone_ros.tools.rclpy_calls import spin

        spin(self._executor, duration)


@contextmanager
def listening() -> Iterator[Listener]:
    """Join the ROS domain and listen while the context lasts.

    Raises:
        FeatherstoneError: rclpy is missing, or ROS refuses to take part.
    """
    try:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from rclpy.signals import SignalHandlerOptions
    except ImportError as error:
        raise FeatherstoneError(f"/diagnostics needs ROS 2 ({error}): {GET_ROS}") from None
    from featherstone_ros.nodes.execution import is_start_error, one_line

    try:
        with held(until_next=True):
            rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
            node = rclpy.create_node("monitor", start_parameter_services=False, enable_rosout=False)
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            listener = Listener(executor)
            qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
            node.create_subscription(DiagnosticArray, "/diagnostics", listener.take, qos)
    except Exception as error:  # no keys, no permission, no such middleware
        rclpy.try_shutdown()
        if not is_start_error(error):
            raise
        raise FeatherstoneError(one_line(error)) from None
    try:
        yield listener
    finally:
        with held():
            rclpy.try_shutdown()
