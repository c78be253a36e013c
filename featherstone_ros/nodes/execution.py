"""Running a node as a process: signals, exit status, one line per start-up error.

ROS is not imported before ``run`` is called. From then on signals only request an orderly end
(below), and no exception in a callback ends the process, since the node may be holding an
arm. Before the process ends, the arm is brought to rest; if Python is blocked, by the loop alone.

Others in the process may use the default ROS context and fork: the node has a context of its own,
and a child ends without touching what it shares with the node. ``rclpy.shutdown`` requests an
orderly end, as a signal does.

A signal only writes its number into a pipe (``signal.set_wakeup_fd``), which a thread waits on: no
KeyboardInterrupt can strike half-way through an import or a callback, and the context is still
alive when the node shuts down. Forked children have the default actions.

========================================  =======================================================
SIGINT, SIGTERM, SIGHUP (terminal lost)   end in order, exit status 0, or that of an arm that still
                                          moves (``execution``); SIGHUP not under ``nohup``
others that end a process: SIGQUIT,       end in order, exit status 128 + number
SIGUSR1, SIGALRM, real-time ones, ...
SIGTSTP (Ctrl-Z), SIGTTIN, SIGTTOU        ignored: a stopped process cannot hold an arm
SIGPIPE, SIGXFSZ                          ignored, as everywhere in Python
SIGSEGV, SIGABRT, SIGTRAP, SIGSYS and     not caught: the process dies at once, as by SIGKILL.
their like                                What the memory holds then is not to be trusted with an
                                          arm. For these and for SIGKILL and SIGSTOP there is the
                                          drives' own command time-out.
========================================  =======================================================
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from featherstone_ros import __version__
from featherstone_ros.errors import GET_ROS, StartError
from featherstone_ros.text import one_line

if TYPE_CHECKING:
    from featherstone_ros.nodes.lifecycle import ModelNode

LONGEST_END = 5.0  # [s] for an orderly end after the arm has come to rest; then it is forced
REST_CHECK_PERIOD = 0.01  # [s] between two checks whether the arm has come to rest
MOVING = 5  # exit status


def run(node_class: str, args: Sequence[str] | None = None, usage: str = "") -> int:
    """Run one node until a signal, or the end of the default ROS context.

    Must be called in the main thread of a process that ends soon afterwards: from then on signals
    are ignored.

    Args:
        node_class: ``"module:class"`` of a ``ModelNode`` that is made with a ROS context alone.
        args: Command line with ``--ros-args``; None for ``sys.argv``.
        usage: What ``--help`` prints, before anything of ROS is imported.

    Returns:
        Exit status: 0 after a clean stop, 1 if the node could not start, ``MOVING`` if its arm
        still moved when the commands ended; after unusual signals, see above. A process that
        does not end by itself ends with status 4, see ``cython_core/ros/loop.pyx``.
    """
    module, _, name = node_class.partition(":")
    program = module.rpartition(".")[2]
    before_ros = list(takewhile("--ros-args".__ne__, sys.argv if args is None else args))
    if {"--help", "-h"} & {*before_ros}:
        print(usage, end="")
        return 0
    if "--version" in before_ros:
        print(f"{program} {__version__}")
        return 0
    open_standard_descriptors()
    signals = Signals()
    try:
        import rclpy
        from rclpy.context import Context
        from rclpy.signals import SignalHandlerOptions

        from featherstone_ros._loop import await_signal, skip_exit_handlers

        create = getattr(importlib.import_module(module), name)
    except ImportError as error:
        if (error.name or "").startswith("featherstone_ros"):  # not compiled, say
            raise
        print(f"{program}: cannot start: {one_line(error)}: {GET_ROS}", file=sys.stderr)
        return 1
    os.register_at_fork(after_in_child=skip_exit_handlers)
    context = Context()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        rclpy.init(args=args, context=context)
        node = create(context=context)
    except Exception as error:
        if not is_start_error(error):
            raise
        print(f"{program}: cannot start: {one_line(error)}", file=sys.stderr)
        context.try_shutdown()
        rclpy.try_shutdown()
        return 1
    rounds = ExecutorRounds(node)
    moving = ""
    try:
        rclpy.get_default_context().on_shutdown(rounds.end)
        patience = node.REST_PATIENCE + node.LONGEST_STOP
        signals.watch(lambda fd: await_signal(fd, patience, patience + LONGEST_END), rounds.end)
        rounds.spin()
        had_arm = rounds.come_to_rest()
        node.stop()
        moving = node.motion_left() if had_arm else ""
        if moving:
            node.get_logger().error(f"the commands have ended while the arm moves: {moving}")
    finally:
        signals.ignore()
        rounds.close()
        context.try_shutdown()
        rclpy.try_shutdown()
    return MOVING if moving else signals.exit_status


def open_standard_descriptors() -> None:
    """Open 0, 1 and 2 if closed: otherwise the next file or pipe would get the logs."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)


class ExecutorRounds:
    """Runs the executor round by round: an exception is logged, and the next round follows."""

    def __init__(self, node: ModelNode) -> None:
        """Prepare to spin a node."""
        from rclpy.executors import SingleThreadedExecutor

        self._node = node
        self._process = os.getpid()
        self._ending = threading.Event()
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)

    def spin(self) -> None:
        """Spin until ``end`` is called or the node's context ends."""
        while self._node.context.ok() and not self._ending.is_set():
            self._spin_once()

    def come_to_rest(self) -> bool:
        """Bring the arm to rest, services still answered; return whether there was an arm to."""
        node = self._node
        if node.is_at_rest():
            return False
        node.begin_end()
        while not node.is_at_rest():
            if not node.time_to_rest:
                node.get_logger().error(f"no rest within {node.rest_patience:g} s")
                break
            self._spin_once(REST_CHECK_PERIOD)
        return True

    def end(self) -> None:
        """Make ``spin`` return; any thread may call this."""
        self._ending.set()
        self._executor.wake()

    def close(self) -> None:
        """Destroy the node, and its executor."""
        self._executor.shutdown()
        self._node.destroy_node()

    def _spin_once(self, timeout: float | None = None) -> None:
        """Do one round; a child that a callback has forked ends here."""
        from rclpy.executors import ExternalShutdownException

        status: object = 0
        try:
            self._executor.spin_once(timeout)
        except ExternalShutdownException:
            return
        except SystemExit as error:
            if os.getpid() == self._process:
                raise
            status = error.code
        except Exception:
            self._node.log.error(f"unexpected exception in a callback:\n{traceback.format_exc()}")
        if os.getpid() != self._process:
            sys.stdout.flush()
            os._exit(status if isinstance(status, int) else status is not None)


def is_start_error(error: Exception) -> bool:
    """Tell a user's mistake, which one line explains, from a bug, which needs a traceback."""
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


CLEAN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
JOB_CONTROL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
OTHERS = (
    *("SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU"),
    *("SIGIO", "SIGPWR", "SIGSTKFLT"),
)
FATAL = tuple(getattr(signal, name) for name in OTHERS if hasattr(signal, name)) + tuple(
    range(signal.SIGRTMIN, signal.SIGRTMAX + 1)
)


class Signals:
    """Catches signals from its creation on.

    Attributes:
        caught: The first one that asked for the end, 0 before.
    """

    def __init__(self) -> None:
        """Catch them; to be called in the main thread."""
        self.caught = 0
        self._readable, writable = os.pipe()
        os.set_blocking(writable, False)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        for signum in [*CLEAN, *FATAL]:
            if signum != signal.SIGHUP or not ignored:
                with suppress(OSError):  # some are the C library's own
                    signal.signal(signum, lambda *_: None)
        for signum in JOB_CONTROL:
            signal.signal(signum, signal.SIG_IGN)
        os.register_at_fork(after_in_child=release)

    def watch(self, wait: Callable[[int], int], end: Callable[[], None]) -> None:
        """From now on wait for the first signal, in a thread of its own, then call ``end``.

        ``wait`` returns the first signal's number, given the file descriptor that it comes by.
        """

        def wait_and_end() -> None:
            self.caught = wait(self._readable)
            end()

        threading.Thread(target=wait_and_end, name="signals", daemon=True).start()

    @property
    def exit_status(self) -> int:
        """The exit status of a process after an orderly end."""
        return 0 if self.caught in (0, *CLEAN) else 128 + self.caught

    def ignore(self) -> None:
        """Let no signal disturb the end.

        Who stops a process may signal twice, and Python at its end restores the default actions.
        """
        for signum in [*CLEAN, *FATAL]:
            with suppress(OSError):
                signal.signal(signum, signal.SIG_IGN)


def release() -> None:
    """Give signals their default actions again: in a child, they are none of its parent's."""
    signal.set_wakeup_fd(-1)
    for signum in [*CLEAN, *FATAL, *JOB_CONTROL]:
        with suppress(OSError):
            signal.signal(signum, signal.SIG_DFL)
