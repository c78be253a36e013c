"""A controller with other code in its process: ``python -m shared_process``.

The other code does what a file ``now`` in the working folder names, as soon as there is one.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy

from featherstone_ros import feedforward_controller
from featherstone_ros.control.trajectory import Trajectory
from featherstone_ros.nodes.lifecycle import ModelNode

nodes: list[ModelNode] = []
process = os.getpid()


def fork(end: str) -> None:
    """Fork; the child returns from here, or exits, or is ended by a signal."""
    child = os.fork()
    if not child:
        if end == "exit":
            sys.exit(7)
        while end == "signal":
            time.sleep(1.0)
        return
    if end == "signal":
        time.sleep(0.2)
        os.kill(child, signal.SIGTERM)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"the child {child} ended with {status}", flush=True)


def in_executor(action: Callable[[], None]) -> None:
    """Act in a callback of the node."""
    nodes[0].defer(action)


def hang() -> None:
    """Never return."""
    print("hangs", flush=True)
    time.sleep(1e6)


def think() -> None:
    """Let the check of each trajectory take longer than the executor may be silent."""
    check = Trajectory.__init__

    def slow_check(*args: Any, **options: Any) -> None:
        time.sleep(2.5)
        check(*args, **options)

    Trajectory.__init__ = slow_check  # type: ignore[method-assign]
    print("thinks longer", flush=True)


ACTIONS = {
    "shutdown": rclpy.shutdown,
    "think": think,
    "hang": lambda: in_executor(hang),
    **{f"fork in thread, {end}": lambda end=end: fork(end) for end in ("return", "exit", "signal")},
    **{
        f"fork in callback, {end}": lambda end=end: in_executor(lambda: fork(end))
        for end in ("return", "exit", "signal")
    },
}


def obey(orders: Path) -> None:
    """Do what the file names, again and again."""
    while True:
        time.sleep(0.01)
        if orders.exists():
            what = orders.read_text()
            orders.unlink()
            ACTIONS[what]()
            if os.getpid() != process:
                return


if __name__ == "__main__":
    make = ModelNode.__init__

    def make_and_note(self, *args, **options):
        nodes.append(self)
        make(self, *args, **options)

    ModelNode.__init__ = make_and_note
    threading.Thread(target=obey, args=[Path("now").absolute()], daemon=True).start()
    sys.exit(feedforward_controller.main())
