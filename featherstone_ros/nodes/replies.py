"""Services whose replies reach clients that are discovered late, without waiting for any client.

rmw_fastrtps waits a tenth of a second for a client that it does not know before it gives the reply
up, and rclpy holds the interpreter meanwhile: Ctrl-C in ``ros2 service call`` would hold up all
other Python of the node. A request may also arrive before its client's reader has been discovered:
on a busy machine by more than a tenth of a second, and the client would wait for ever.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.service import Service
from rclpy.timer import Timer

DISCOVERY = 5.0  # [s] within which a client must be discovered
CHECK_PERIOD = 0.01  # [s] between two checks whether it has been discovered
MOST_WAITING = 100  # replies that may wait for their clients


def make_dependable(node: Node, service: Service) -> Service:
    """Make a service always answer, if a client waits for the answer.

    Returns the service; a second call changes nothing.
    """
    if "send_response" in vars(service):
        return service  # it is already
    callback = service.callback

    def answer(request: Any, response: Any) -> Any:
        try:
            return callback(request, response)
        except Exception:
            what = f"unexpected exception in service {service.service_name}"
            node.log.error(f"{what}:\n{traceback.format_exc()}")
            return response

    service.callback = answer
    service.send_response = Replies(node, service, service.send_response).send
    return service


class Replies:
    """A service's replies; those to undiscovered clients wait, without blocking the executor.

    One of several clients may have quit, or not be known yet: rclpy does not tell which one asked,
    and rmw_fastrtps waits its tenth of a second.
    """

    def __init__(self, node: Node, service: Service, send: Callable[[Any, Any], None]) -> None:
        """Remember the service's own way to send."""
        self._node = node
        self._service = service
        self._send = send
        self._waiting: deque[tuple[float, Any, Any]] = deque(maxlen=MOST_WAITING)
        self._timer: Timer | None = None

    def send(self, response: Any, header: Any) -> None:
        """Send a reply now or, if the service has no client, as soon as it has one."""
        if self._has_clients():
            self._send(response, header)
            return
        self._waiting.append((monotonic() + DISCOVERY, response, header))
        if self._timer is None:
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            self._timer = self._node.create_timer(CHECK_PERIOD, self._send_waiting, clock=clock)

    def _send_waiting(self) -> None:
        known = self._has_clients()
        while self._waiting and monotonic() > self._waiting[0][0]:
            self._waiting.popleft()
        if self._waiting and known:  # one per check: it may take a tenth of a second
            _, response, header = self._waiting.popleft()
            self._send(response, header)
        if not self._waiting and self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def _has_clients(self) -> bool:
        return self._node.count_clients(self._service.service_name) > 0
