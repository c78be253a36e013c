"""A node's loop: a compiled cycle, run by a thread without the interpreter or by rclpy's executor.

In both, requests go in through ``runner`` (``request``, ``post``), and the cycle reports by
records, which are delivered in the executor's thread.
"""

from __future__ import annotations

import atexit
import os
import select
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, Protocol

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from featherstone_ros._loop import ExecutorRunner, RclLoop
from featherstone_ros.errors import MessageError, MiddlewareError
from featherstone_ros.realtime.loop_timing import LoopTiming
from featherstone_ros.realtime.scheduling import Scheduling, scheduling_in_force

Record = tuple[int, int, int, tuple[float, float, float, float], int]

LARGEST_MESSAGE = 65536  # [bytes]
HEARTBEAT_PERIOD = 0.2  # [s] between signs of life of the executor; each costs it 0.5 ms
DELIVERY_PERIOD = 0.005  # [s] between two deliveries of records
POLL_PERIOD = 0.005  # [s] between two readings of the time by the executor
MARGIN = 1.0  # [s] that a thread may need to end
MIDDLEWARE = ("rcl", "rmw_fastrtps_cpp", "rmw_fastrtps_shared_cpp")


class DetachedGroup(MutuallyExclusiveCallbackGroup):
    """Callback group that no executor serves while it ``is_detached``: a loop takes its messages.

    Their events too: to wait for those would wake the executor for every message (rmw_fastrtps).
    """

    def __init__(self) -> None:
        """Make a group like any other."""
        super().__init__()
        self.is_detached = False

    def can_execute(self, entity: Any) -> bool:
        """Tell whether the executor is to wait for an entity, or to serve it, now."""
        return not self.is_detached and super().can_execute(entity)


class Host(Protocol):
    """The part of a node that a loop needs, besides rclpy's."""

    def defer(self, action: Callable[[], None]) -> None:
        """Have something done soon by the executor's thread."""


def make_loop(
    node: Node,
    cycle: Any,
    group: DetachedGroup,
    subscriptions: Sequence[Subscription],
    publishers: Sequence[Publisher],
    deliver: Callable[[list[Record]], None],
    *,
    scheduling: Scheduling,
    in_thread: bool = True,
    at_once: bool = True,
    largest_message: int = LARGEST_MESSAGE,
    poll_period: float = POLL_PERIOD,
) -> ThreadLoop | ExecutorLoop:
    """Return a node's loop, not started yet.

    Args:
        node: The node, a ``Host``.
        cycle: What is run; its ``capsule`` is a PyCapsule "featherstone_ros.Cycle" (cycle.pxd).
        group: The callback group of the subscriptions.
        subscriptions: Raw, in the order of the cycle's inputs.
        publishers: In the order of the cycle's outputs.
        deliver: Called in the executor's thread with records of the cycle and of the loop.
        scheduling: Of the thread.
        in_thread: False: the executor runs the loop, as it does if the middleware is unexpected.
        at_once: Answer messages when they come; False: at the latest just before the next tick.
        largest_message: Larger ones are dropped [bytes].
        poll_period: How often the executor looks at the time, if it runs the loop [s].
    """
    clock = node.get_clock()
    if in_thread:
        for name in MIDDLEWARE:  # a line for every message would wait for the log's reader
            set_logger_level(name, LoggingSeverity.INFO)
        try:
            runner = RclLoop(
                cycle,
                subscriptions,
                publishers,
                clock,
                at_once=at_once,
                largest_message=largest_message,
            )
        except MiddlewareError as error:
            node.get_logger().warning(
                f"the loop cannot run by itself ({error}): the executor runs it, as with "
                "realtime.path executor"
            )
        else:
            group.is_detached = True
            return ThreadLoop(node, runner, deliver, scheduling)
    runner = ExecutorRunner(
        cycle, len(subscriptions), publishers, clock, largest_message=largest_message
    )
    return ExecutorLoop(node, runner, deliver, subscriptions, poll_period)


class ThreadLoop:
    """A loop in its own thread, which Python cannot delay.

    Attributes:
        runner: For requests, and its counters.
        timing: Its latency and jitter.
        scheduling: The thread's scheduling in words.
    """

    def __init__(
        self,
        node: Any,
        runner: RclLoop,
        deliver: Callable[[list[Record]], None],
        scheduling: Scheduling,
    ) -> None:
        """Prepare the threads."""
        self.runner = runner
        self.timing = LoopTiming(runner)
        self.scheduling = ""
        self._node = node
        self._deliver = deliver
        self._wanted = scheduling
        self._thread = Thread(target=self._run, name="loop", daemon=True)
        self._records_thread = Thread(target=self._carry_records, name="records", daemon=True)
        self._is_over = False
        self._beat = node.create_timer(HEARTBEAT_PERIOD, runner.beat, clock=steady_clock())

    @property
    def has_ended(self) -> bool:
        """Whether the cycle no longer runs, or not yet."""
        return not self._thread.is_alive()

    def start(self) -> None:
        """Start; if the process ends without ``stop``, the loop still ends first."""
        atexit.register(self._finish)
        self._thread.start()
        self._records_thread.start()

    def end(self, within: float) -> None:
        """Have the cycle end when it is safe, ``within`` seconds from now at the latest."""
        self.runner.stop(within)

    def stop(self, within: float = 1.0) -> bool:
        """End the cycle when it is safe, and wait for that; then rclpy's handles are free.

        Returns:
            Whether it has ended; False if the middleware holds the thread up.
        """
        atexit.unregister(self._finish)
        if not self._finish(within):
            return False
        self._stop_records_thread()
        self._node.destroy_timer(self._beat)
        self.runner.close()
        self._deliver(self.runner.records())
        return True

    def _finish(self, within: float = 1.0) -> bool:
        self.end(within)
        if self._thread.ident is not None:
            self._thread.join(within + MARGIN)
        return self.has_ended

    def _run(self) -> None:
        for problem in self._wanted.enter():
            self._node.defer(lambda text=problem: self._node.get_logger().warning(text))
        self.scheduling = self._wanted.in_force()
        self.runner.run()

    def _stop_records_thread(self) -> None:
        self._is_over = True
        os.eventfd_write(self.runner.records_fd, 1)
        if self._records_thread.ident is not None:
            self._records_thread.join(MARGIN)

    def _carry_records(self) -> None:
        """Tell the executor of records; seldom, since its wake-up costs more than a record."""
        while True:
            await_event(self.runner.records_fd)  # the next one comes when these have been taken
            if self._is_over:
                return
            self._node.defer(self._take_records)
            time.sleep(DELIVERY_PERIOD)

    def _take_records(self) -> None:
        if records := self.runner.records():
            self._deliver(records)


class ExecutorLoop:
    """A loop that the node's executor runs, along with everything else.

    Attributes:
        runner: For requests, and its counters.
        timing: Its latency and jitter.
        scheduling: The scheduling in words.
        has_ended: Whether the cycle no longer runs.
    """

    def __init__(
        self,
        node: Node,
        runner: ExecutorRunner,
        deliver: Callable[[list[Record]], None],
        subscriptions: Sequence[Subscription],
        poll_period: float = POLL_PERIOD,
    ) -> None:
        """Prepare the loop; the subscriptions' callbacks become part of it."""
        self.runner = runner
        self.timing = LoopTiming(runner)
        self.scheduling = scheduling_in_force()
        self.has_ended = False
        self._node = node
        self._deliver = deliver
        self._timers: list[Any] = []
        self._poll_period = poll_period
        for number, subscription in enumerate(subscriptions):
            subscription.callback = self._answering(number)

    def start(self) -> None:
        """Start to tick."""
        clock = steady_clock()
        self._timers = [
            self._node.create_timer(HEARTBEAT_PERIOD, self.runner.beat, clock=clock),
            self._node.create_timer(self._poll_period, self._run_cycle, clock=clock),
        ]

    def end(self, within: float) -> None:
        """Have the cycle end when it is safe, ``within`` seconds from now at the latest."""
        self.runner.stop(within)

    def stop(self, within: float = 1.0) -> bool:
        """End the cycle when it is safe; meanwhile no messages are taken, unlike after ``end``."""
        self.end(within)
        while not self.has_ended:
            self._run_cycle()
            time.sleep(POLL_PERIOD)
        for timer in self._timers:
            self._node.destroy_timer(timer)
        return True

    def _answering(self, number: int) -> Callable[[bytes, Any], None]:
        def answer(message: bytes, info: Any) -> None:
            if not self.has_ended:
                self.runner.message(number, message, info)

        return answer

    def _run_cycle(self) -> None:
        if not self.has_ended:
            self.has_ended = not self.runner.spin_once()
        if records := self.runner.records():
            self._deliver(records)


def steady_clock() -> Clock:
    """Return a clock that does not depend on /clock."""
    return Clock(clock_type=ClockType.STEADY_TIME)


def await_event(fd: int) -> None:
    """Wait until a non-blocking eventfd(2) is readable, and read it."""
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    waiting.poll()
    with suppress(BlockingIOError):  # another thread was quicker
        os.eventfd_read(fd)


def ignore(_: bytes) -> None:
    """Do nothing with a message: callback of subscriptions whose messages the loop takes."""


def too_large(size: float) -> MessageError:
    """Return why a message of that size [bytes] was dropped."""
    return MessageError(f"{size:.0f} bytes, expected at most {LARGEST_MESSAGE}")


Loop = ThreadLoop | ExecutorLoop
