"""Keeps a status table up to date from /diagnostics; needs rclpy."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray

from featherstone_ros.tools.node_status import StatusTable
from featherstone_ros.tools.rclpy_calls import Participant
from featherstone_ros.tools.signals import held


class DiagnosticsListener(Participant):
    """Fills a status table from /diagnostics while it spins.

    Attributes:
        table: The last status of every node heard.
    """

    def __init__(self, name: str, namespace: str = "", domain: int | None = None) -> None:
        """Join a ROS domain as a node of that name and namespace, and listen."""
        self.table = StatusTable()
        with held(until_next=True):
            super().__init__(name, namespace, domain)
            self.subscribe(DiagnosticArray, "/diagnostics", self._take, depth=100)

    def _take(self, message: DiagnosticArray) -> None:
        self.table.hear(message.status, time.monotonic())
