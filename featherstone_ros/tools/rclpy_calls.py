"""The calls of rclpy that tools make again and again; no signal interrupts one."""

from __future__ import annotations

import time
from typing import Any

from rclpy.executors import Executor
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from featherstone_ros.tools.signals import held

LONGEST_HOLD = 0.05  # [s] in which a signal may have to wait


def spin(executor: Executor, duration: float) -> None:
    """Run callbacks for some time [s]; to be interrupted between two of them."""
    end = time.monotonic() + duration
    while (left := end - time.monotonic()) > 0.0:
        spin_once(executor, left)


def spin_once(executor: Executor, timeout: float) -> None:
    """Run one callback; wait for it briefly, for ``timeout`` seconds at most."""
    with held():
        executor.spin_once(timeout_sec=min(timeout, LONGEST_HOLD))


def take_waiting(subscription: Subscription) -> list[tuple[bytes, dict[str, Any]]]:
    """Take all messages that wait for a raw subscription: serialised, and what is known of them."""
    messages = []
    with held(), subscription.handle:
        while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            messages.append(taken)
    return messages


def decode(data: bytes, kind: type) -> Any:
    """Return a message of that kind."""
    with held():
        return deserialize_message(data, kind)
