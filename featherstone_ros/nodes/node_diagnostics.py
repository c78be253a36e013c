"""What a node tells of itself: on ``/diagnostics``, and in its log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import inf
from time import monotonic
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model.finding import Severity, by_rule, statement
from featherstone_ros.nodes.topics import RELIABLE

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
PERIOD = 1.0  # [s]
SOONEST = 0.1  # [s] between two reports: their causes may come in floods


class Report(NamedTuple):
    """A node's condition: level, one line for a person, details by name."""

    level: bytes = OK
    message: str = "running"
    values: Mapping[str, object] = {}


class DiagnosticsPublisher:
    """Publishes the reports of one node once a second, and when asked to, by the steady clock."""

    def __init__(self, node: Node, reports: Callable[[], Mapping[str, Report]]) -> None:
        """Ask for reports every second, by what is put after the node's full name, or nothing."""
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
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        for name, report in self._reports().items():
            array.status.append(
                DiagnosticStatus(
                    level=report.level,
                    name=f"{self._name}: {name}" if name else self._name,
                    message=report.message,
                    values=[KeyValue(key=key, value=str(it)) for key, it in report.values.items()],
                )
            )
        self._publisher.publish(array)


LEVELS = {None: OK, Severity.NOTE: OK, Severity.WARNING: WARN, Severity.ERROR: ERROR}
MAX_FINDINGS = 40  # findings in the diagnostic status; the log has all


def check_description(
    description: str,
    logger: RcutilsLogger,
    joints: Iterable[str] | None,
    locked: Mapping[str, float] | None,
    base: str,
) -> Report:
    """Examine a description for these joints and base, log what is found and return it.

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
        """Return in words what too many publishers do, of their numbers by that; log changes."""
        found = [
            f"{count} publishers {what}, expected one"
            for what, count in publishers.items()
            if count > 1
        ]
        for problem in sorted(set(found) - self._known):
            self._node.get_logger().warning(problem)
        self._known = set(found)
        return found


class RecentText:
    """A text that the diagnostics show for a while.

    Attributes:
        last: The last one, however old.
    """

    def __init__(self, memory: float) -> None:
        """Have no text yet; each is shown for ``memory`` seconds."""
        self._memory = memory
        self.last, self._end = "", -inf

    def set(self, text: str) -> None:
        """Show a text from now on."""
        self.last, self._end = text, monotonic() + self._memory

    @property
    def recent(self) -> str:
        """The text while it is shown, then empty."""
        return self.last if monotonic() < self._end else ""


LOG_INTERVAL = 5.0  # [s] in which as many equal lines are logged as are allowed
MAX_LINES = 20  # different ones in that time
FIGURE = re.compile(r"(?<![\w.])[-+]?\d+(\.\d+)?(e[-+]?\d+)?")  # not joint_1's


class ThrottledLog:
    """Says each line ``often`` times in ``LOG_INTERVAL``, and ``MAX_LINES`` lines in that time.

    rclpy throttles per place in the code: a complaint from the same place about another joint would
    be lost. Here the text counts, without its figures; or its ``kind``, where the text depends on
    what others send. For one thread.
    """

    def __init__(self, logger: RcutilsLogger, clock: Callable[[], float] = monotonic) -> None:
        """Write to a node's logger."""
        self._logger = logger
        self._clock = clock
        self._said: list[tuple[str, float]] = []  # what and when, of the last interval's lines

    def warning(self, text: str, kind: str = "", often: int = 1) -> None:
        """Log possible problems."""
        if self._is_due(kind or text, often):
            self._logger.warning(text)

    def error(self, text: str, kind: str = "", often: int = 1) -> None:
        """Log errors."""
        if self._is_due(kind or text, often):
            self._logger.error(text)

    def _is_due(self, text: str, often: int) -> bool:
        """Tell whether a line is to be logged, up to ``often`` times in ``LOG_INTERVAL``."""
        now, kind = self._clock(), FIGURE.sub("#", text)
        self._said = [(said, time) for said, time in self._said if now - time < LOG_INTERVAL]
        before = sum(said == kind for said, _ in self._said)
        if before >= often or len(self._said) >= MAX_LINES:
            return False
        self._said.append((kind, now))
        return True
