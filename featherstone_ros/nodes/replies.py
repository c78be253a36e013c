"""Services that always answer, and replies to clients that have quit.

rmw_fastrtps waits a tenth of a second for a client that it does not know (any more) before it gives
the reply up, and rclpy holds the interpreter meanwhile: Ctrl-C in ``ros2 service call`` would hold
up the loop of a node for longer than an arm may be without commands.
"""

from __future__ import annotations

import traceback
from time import monotonic, sleep
from typing import Any

from rclpy.node import Node
from rclpy.service import Service

DISCOVERY = 0.1  # [s] that a client may be unknown yet, as long as rmw_fastrtps waits
GLANCE = 0.002  # [s]


def make_dependable(node: Node, service: Service) -> Service:
    """Let a service answer whatever happens, as far as there is anybody who waits for that.

    Returns the service; once more makes no difference.
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
    return spare_absent_clients(node, service)


def spare_absent_clients(node: Node, service: Service) -> Service:
    """Let a service reply only while it has clients; other threads go on during the wait for one.

    Of several clients one may still have quit, or been killed within the last seconds: that is not
    seen. Returns the service.
    """
    send = service.send_response

    def send_response(response: Any, header: Any) -> None:
        end = monotonic() + DISCOVERY
        while not node.count_clients(service.service_name):
            if monotonic() > end:
                return
            sleep(GLANCE)
        send(response, header)

    service.send_response = send_response
    return service
