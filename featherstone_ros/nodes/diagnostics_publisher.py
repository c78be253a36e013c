"""Publishes what a node reports about itself on ``/diagnostics``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

from featherstone_ros.inspection.doctor import Inspection, examine
from featherstone_ros.model.finding import Severity, by_rule, statement
from featherstone_ros.nodes.topics import RELIABLE

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


LEVELS = {None: OK, Severity.NOTE: OK, Severity.WARNING: WARN, Severity.ERROR: ERROR}
MAX_FINDINGS = 40  # findings in the diagnostic status; the log has all


def check_description(
    description: str,
    logger: RcutilsLogger,
    joints: Iterable[str] | None,
    locked: Mapping[str, float] | None,
    base: str,
) -> Report:
    """Examine a description, log what is found and return it for diagnostics.

    The joints and the base are those of the node, as for ``examine``.

    No finding or error here stops a node.
    """
    try:
        inspection = examine(description, None, joints, locked, base)
    except Exception as error:
        logger.warning(f"the robot description could not be inspected: {error!r}")
        return Report(WARN, "could not be inspected, see the log")
    for (severity, rule), found in by_rule(inspection.findings).items():
        line = f"robot description: {statement(rule, found)}; {rule.consequence}"
        if severity is Severity.ERROR:  # rclpy wants a call of its own for each severity
            logger.error(line)
        elif severity is Severity.WARNING:
            logger.warning(line)
        else:
            logger.info(line)
    return _report(inspection)


def _report(inspection: Inspection) -> Report:
    values = {
        f"{finding.severity} {number}: {finding.element}": f"{finding.rule.name}: "
        f"{finding.rule.fault}{finding.found and ': '}{finding.found}; {finding.rule.consequence}"
        for number, finding in enumerate(inspection.findings[:MAX_FINDINGS], 1)
    }
    counts = inspection.counts()
    message = f"featherstone-ros inspect: {counts}" if counts else "nothing found"
    return Report(LEVELS[inspection.worst], message, values)


def publishers_of(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish on a topic, once for each publisher."""
    found = node.get_publishers_info_by_topic(topic)
    return [f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in found]


class DuplicatePublishers:
    """Finds topics that several nodes publish on where one is expected."""

    def __init__(self, node: Node) -> None:
        """Log through this node."""
        self._node = node
        self._known: set[str] = set()

    def among(self, publishers: Mapping[str, int]) -> list[str]:
        """Return in words which topics have too many publishers; log what has changed.

        ``publishers``: their numbers by what they do, e.g. ``"on joint_states"``.
        """
        found = [
            f"{count} publishers {what}, expected one"
            for what, count in publishers.items()
            if count > 1
        ]
        for problem in sorted(set(found) - self._known):
            self._node.get_logger().warning(problem)
        self._known = set(found)
        return found
