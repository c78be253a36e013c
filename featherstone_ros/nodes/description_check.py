"""Inspection of the robot description: log lines and a diagnostic status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rclpy.impl.rcutils_logger import RcutilsLogger

from featherstone_ros.inspection.doctor import Inspection, examine
from featherstone_ros.model.finding import Severity, by_rule, statement
from featherstone_ros.nodes.diagnostics_publisher import ERROR, OK, WARN, Report

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
