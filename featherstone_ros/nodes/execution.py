"""Running a node as a process: signals, exit status, one line per start-up error.

Nothing of ROS is imported before ``run`` is called. From then on SIGINT and SIGTERM only write into
a pipe (``signal.set_wakeup_fd``), which a thread waits on: no KeyboardInterrupt can strike half-way
through an import or a callback, and the context is still alive when the node shuts down.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from featherstone_ros.errors import FeatherstoneError

if TYPE_CHECKING:
    from rclpy.executors import Executor

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StartError(FeatherstoneError):
    """A node cannot start: a parameter, the robot description or the command line is wrong."""


def run(node_class: str, args: Sequence[str] | None = None) -> int:
    """Run one node until SIGINT, SIGTERM or the end of its ROS context.

    To be called in the main thread of a process that ends soon after: SIGINT and SIGTERM are
    ignored from then on.

    Args:
        node_class: ``"module:class"`` of a ``ModelNode`` that is made without arguments.
        args: Command line with ``--ros-args``; None for ``sys.argv``.

    Returns:
        Exit status: 0 after a clean stop, 1 if the node could not start.
    """
    signals = catch_signals()
    module, _, name = node_class.partition(":")
    create = getattr(importlib.import_module(module), name)
    import rclpy
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions

    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = create()
    except Exception as error:
        if not is_start_error(error):
            raise
        print(f"{module.rpartition('.')[2]}: cannot start: {one_line(error)}", file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        spin_until_signal(executor, signals)
        node.stop()
    except ExternalShutdownException:
        pass
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
        # Whoever stops processes may signal twice, and Python's own end restores the default.
        for signum in STOP_SIGNALS:
            signal.signal(signum, signal.SIG_IGN)
    return 0


def catch_signals() -> int:
    """Catch the stop signals from now on; return a file descriptor that a signal makes readable."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for signum in STOP_SIGNALS:
        signal.signal(signum, lambda *_: None)
    return readable


def spin_until_signal(executor: Executor, signals: int) -> None:
    """Spin until the file descriptor ``signals`` becomes readable or the context ends."""
    stop = threading.Event()

    def wait_for_signal() -> None:
        os.read(signals, 1)
        stop.set()
        executor.wake()

    threading.Thread(target=wait_for_signal, name="signals", daemon=True).start()
    while executor.context.ok() and not stop.is_set():
        executor.spin_once()


def is_start_error(error: Exception) -> bool:
    """Tell a user's mistake, which one line explains, from a bug, which needs its traceback."""
    from rclpy.exceptions import InvalidNamespaceException, InvalidNodeNameException
    from rclpy.impl.implementation_singleton import rclpy_implementation

    mistakes = (
        StartError,
        InvalidNamespaceException,
        InvalidNodeNameException,
        rclpy_implementation.RCLError,
        rclpy_implementation.RCLInvalidROSArgsError,
        rclpy_implementation.UnknownROSArgsError,
    )
    return isinstance(error, mistakes)


def one_line(error: Exception) -> str:
    """Return the error's message without line breaks."""
    return " ".join(str(error).split())
