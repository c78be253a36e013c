"""Publishes what a node reports about itself on ``/diagnostics``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from featherstone_ros.nodes.qos import RELIABLE

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
PERIOD = 1.0  # [s]
SOONEST = 0.1  # [s] between two reports: their causes may come in floods


@dataclass(frozen=True)
class Report:
    """A node's condition."""

    level: bytes = OK  # ``OK``, ``WARN`` or ``ERROR`` of this module
    message: str = "running"  # one line for a person
    # details by name; shown with ``str``
    values: Mapping[str, object] = field(default_factory=dict)


class DiagnosticsPublisher:
    """Publishes the reports of one node once a second, and when asked to, by the steady clock."""

    def __init__(self, node: Node, reports: Callable[[], Mapping[str, Report]]) -> None:
        """Ask for reports every second, by what is put after the node's full name.

        Without a name it is the status of the node itself.
        """
        self._node = node
        self._reports = reports
        self._name = node.get_fully_qualified_name().lstrip("/")
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", RELIABLE)
        self._published = monotonic()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(PERIOD, self._publish, clock=steady)
        self._soon = node.create_timer(SOONEST, self._publish, clock=steady)
        self._soon.cancel()  # waits for ``publish``: each wake-up of rclpy's executor is expensive

    def publish(self) -> None:
        """Publish the report as soon as possible, e.g. because its level has changed."""
        if monotonic() - self._published >= SOONEST:
            self._publish()
        elif self._soon.is_canceled():
            self._soon.reset()

    def _publish(self) -> None:
        self._soon.cancel()
        self._published = monotonic()
        array = DiagnosticArray(
            status=[self._status(name, report) for name, report in self._reports().items()]
        )
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def _status(self, name: str, report: Report) -> DiagnosticStatus:
        return DiagnosticStatus(
            level=report.level,
            name=f"{self._name}: {name}" if name else self._name,
            message=report.message,
            values=[KeyValue(key=key, value=str(value)) for key, value in report.values.items()],
        )
