"""Running a node as a process: signals, exit status, one line per start-up error.

ROS is not imported before ``run`` is called. From then on signals only request an orderly end
(``signals``), output never blocks (``output_pump``), and no exception in the executor ends the
process, since the node may be holding an arm. Before the process ends, the arm is brought to rest.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from featherstone_ros.errors import GET_ROS, FeatherstoneError
from featherstone_ros.nodes.output_pump import nonblocking_output
from featherstone_ros.nodes.signals import Signals

if TYPE_CHECKING:
    from featherstone_ros.nodes.lifecycle import ModelNode

BROKEN = 5.0  # [s] without a successful round after which the executor counts as broken
LONGEST_END = 10.0  # [s] after that for an orderly end, before it is forced
REST_CHECK_PERIOD = 0.01  # [s] between two checks whether the arm has come to rest
FAILURES_ALLOWED = 10  # failures in a row: one alone may take long, e.g. until memory is out
RENEWAL = 3  # failures in a row after which the executor is replaced
FAILED, STUCK, MOVING = 3, 4, 5  # exit statuses


class StartError(FeatherstoneError):
    """A node cannot start: a parameter, the robot description or the command line is wrong."""


def run(node_class: str, args: Sequence[str] | None = None) -> int:
    """Run one node until a signal, or the end of its ROS context.

    Must be called in the main thread of a process that ends soon afterwards: from then on signals
    are ignored.

    Args:
        node_class: ``"module:class"`` of a ``ModelNode`` that is made without arguments.
        args: Command line with ``--ros-args``; None for ``sys.argv``.

    Returns:
        Exit status: 0 after a clean stop, 1 if the node could not start, ``FAILED`` if nothing in
        it worked any more, ``STUCK`` if it did not end by itself, ``MOVING`` if its arm still moved
        when the commands ended; after unusual signals, see ``signals``.
    """
    with nonblocking_output():
        signals = Signals()
        limit_allocations()
        return run_node(node_class, args, signals)


def limit_allocations() -> None:
    """Limit what messages can make the middleware allocate; before any library of ROS is loaded.

    See ``cython_core/ros/allocation_limits.pyx``.
    """
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | os.RTLD_GLOBAL)
    try:
        importlib.import_module("featherstone_ros._allocation_limits")
    finally:
        sys.setdlopenflags(flags)


def run_node(node_class: str, args: Sequence[str] | None, signals: Signals) -> int:
    """Run the node as ``run`` does, with signals already caught."""
    module, _, name = node_class.partition(":")
    program = module.rpartition(".")[2]
    try:
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        create = getattr(importlib.import_module(module), name)
    except ImportError as error:
        if (error.name or "").startswith("featherstone_ros"):  # not compiled, say
            raise
        print(f"{program}: cannot start: {one_line(error)}: {GET_ROS}", file=sys.stderr)
        return 1
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = create()
    except Exception as error:
        if not is_start_error(error):
            raise
        print(f"{program}: cannot start: {one_line(error)}", file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    rounds = ExecutorRounds(node)
    moving = ""
    try:
        signals.watch(rounds.end)
        failed = rounds.spin()
        had_arm = rounds.come_to_rest()
        node.stop()
        moving = node.motion_left() if had_arm else ""
        if moving:
            node.get_logger().error(f"the commands have ended while the arm moves: {moving}")
    finally:
        signals.ignore()
        rounds.close()
        rclpy.try_shutdown()
    if failed:
        return FAILED
    return MOVING if moving else signals.exit_status


class ExecutorRounds:
    """Runs the executor round by round: an exception is logged, and the next round follows."""

    def __init__(self, node: ModelNode) -> None:
        """Prepare to spin a node."""
        from rclpy.executors import SingleThreadedExecutor

        self._node = node
        self._ending = threading.Event()
        self._ended = threading.Event()
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._failures = 0  # in a row
        self._forget_error = error_eraser()

    def spin(self) -> bool:
        """Spin until ``end`` is called or the context ends; return whether nothing works."""
        sound = monotonic()
        while self._node.context.ok() and not self._ending.is_set():
            if self._spin_once():
                sound = monotonic()
            elif monotonic() - sound > BROKEN and self._failures > FAILURES_ALLOWED:
                self._node.get_logger().fatal(
                    f"the executor has failed for {BROKEN:g} s: the node is ended"
                )
                return True
        return False

    def come_to_rest(self) -> bool:
        """Bring the arm to rest; the node's services are still answered meanwhile.

        Returns:
            Whether there was an arm to bring to rest.
        """
        node = self._node
        if node.is_at_rest():
            return False
        if node.context.ok():
            node.begin_rest()
        end = monotonic() + node.REST_PATIENCE
        while not node.is_at_rest() and node.context.ok():
            if monotonic() > end:
                node.get_logger().error(f"no rest within {node.REST_PATIENCE:g} s")
                break
            self._spin_once(REST_CHECK_PERIOD)
        return True

    def end(self, _: int) -> None:
        """Make ``spin`` return; called by another thread, which ensures that the process ends.

        If the executor's thread does not return, this one brings the arm to rest.
        """
        self._ending.set()
        self._executor.wake()
        if not self._ended.wait(self._node.REST_PATIENCE + LONGEST_END):
            self._node.come_to_rest(self._node.REST_PATIENCE)
            os._exit(STUCK)

    def close(self) -> None:
        """Destroy the node, and its executor."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._ended.set()

    def _spin_once(self, timeout: float | None = None) -> bool:
        """Do one round; return whether it went well."""
        from rclpy.executors import ExternalShutdownException

        try:
            self._executor.spin_once(timeout)
        except ExternalShutdownException:
            return True
        except Exception as error:
            self._failures += 1
            self._survive(error)
            return False
        finally:
            self._forget_error()
        self._failures = 0
        return True

    def _survive(self, error: Exception) -> None:
        """Log an exception, and make sure that its callback can be called again."""
        culprit = release(error)
        text = "".join(traceback.format_exception(error))
        self._node.log.error(f"unexpected exception in {culprit}:\n{text}")
        if self._failures % RENEWAL == 0:
            self._executor.remove_node(self._node)
            self._executor.shutdown()
            self._executor = type(self._executor)(context=self._node.context)
            self._executor.add_node(self._node)


def error_eraser() -> Callable[[], object]:
    """Return a function that clears the error state of rcutils.

    A request that cannot be decoded leaves one; the next such request would print both, in a dozen
    lines, and so on for thousands of them.
    """
    with suppress(OSError, AttributeError), open("/proc/self/maps") as maps:
        path = next((line.split()[-1] for line in maps if "/librcutils" in line), None)
        return ctypes.PyDLL(path).rcutils_reset_error
    return lambda: None


def release(error: Exception) -> str:
    """Name the callback, or the topic or service, from which rclpy's executor raised an exception.

    It also makes the entity and its callback group ready again: rclpy marks them busy before it
    takes a message, and would not remove the marks after an exception.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    entity = next((f.f_locals["entity"] for f in frames if f.f_code.co_name == "handler"), None)
    if entity is not None and getattr(entity, "_executor_event", False):
        entity._executor_event = False
        with suppress(AssertionError):
            entity.callback_group.ending_execution(entity)
    for attribute in ("topic_name", "service_name", "callback"):
        name = getattr(entity, attribute, None)
        if name is not None:
            return str(getattr(name, "__qualname__", name))
    return "the executor" if entity is None else type(entity).__name__


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


def one_line(error: Exception) -> str:
    """Return the error's message without line breaks."""
    return " ".join(str(error).split())
