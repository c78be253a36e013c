"""What a node says about itself on ``/diagnostics``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
PERIOD = 1.0  # [s]


@dataclass(frozen=True)
class Report:
    """A node's condition.

    Attributes:
        level: ``OK``, ``WARN`` or ``ERROR`` of this module.
        message: One line for a person.
        values: Details by name; shown with ``str``.
    """

    level: bytes = OK
    message: str = "running"
    values: Mapping[str, object] = field(default_factory=dict)


class Diagnostics:
    """Publishes the report of one node once a second, by the steady clock."""

    def __init__(self, node: Node, report: Callable[[], Report]) -> None:
        """Start publishing.

        Args:
            node: The node reported on; its full name is the status name.
            report: Called for every message.
        """
        self._node = node
        self._report = report
        self._name = node.get_fully_qualified_name().lstrip("/")
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._timer = node.create_timer(
            PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def publish(self) -> None:
        """Publish the report now, e.g. because its level has changed."""
        report = self._report()
        status = DiagnosticStatus(
            level=report.level,
            name=self._name,
            message=report.message,
            values=[KeyValue(key=key, value=str(value)) for key, value in report.values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
