"""A node's loop: a compiled cycle in a thread that runs without the interpreter.

Requests go in through ``runner`` (``request``, ``post``), and the cycle reports by records, which
are delivered in the executor's thread.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock as ClockMessage

from featherstone_ros._loop import RclLoop
from featherstone_ros.nodes.topics import CLOCK_PERIOD, TIME, DetachedGroup
from featherstone_ros.realtime.loop_timing import LoopTiming
from featherstone_ros.realtime.scheduling import Scheduling

Record = tuple[int, int, int, tuple[float, float, float, float], int]

LARGEST_MESSAGE = 65536  # [bytes]
HEARTBEAT_PERIOD = 0.2  # [s] between signs of life of the executor; each costs it 0.5 ms
DELIVERY_PERIOD = 0.005  # [s] between two deliveries of records
MARGIN = 1.0  # [s] that a thread may need to end
MIDDLEWARE = ("rcl", "rmw_fastrtps_cpp", "rmw_fastrtps_shared_cpp")


class ThreadLoop:
    """A cycle in a thread of its own, which Python cannot delay.

    Attributes:
        runner: For requests, and its counters.
        timing: Its latency and jitter.
        scheduling: The thread's scheduling in words.
        follows_ros_time: Whether the cycle's time is ROS time.
    """

    def __init__(
        self,
        node: Any,
        cycle: Any,
        subscriptions: Sequence[Subscription],
        publishers: Sequence[Publisher],
        deliver: Callable[[list[Record]], None],
        *,
        scheduling: Scheduling,
        at_once: bool = True,
        is_stamped: bool = False,
        owns_time: bool = False,
        largest_message: int = LARGEST_MESSAGE,
    ) -> None:
        """Prepare the threads; messages are queued from now on.

        Args:
            node: The node, which can ``defer`` an action to its executor's thread.
            cycle: What is run; its ``capsule`` is a PyCapsule "featherstone_ros.Cycle" (cycle.pxd).
            subscriptions: Of a ``DetachedGroup``, in the order of the cycle's inputs.
            publishers: In the order of the cycle's outputs.
            deliver: Called in the executor's thread with records of the cycle and of the loop.
            scheduling: Of the thread.
            at_once: Answer messages when they come; False: at the latest just before the next tick.
            is_stamped: Messages of the first input have a stamp, which tells ROS time, too.
            owns_time: The cycle goes by the steady clock even where the node has use_sim_time.
            largest_message: Larger ones are dropped [bytes].

        Raises:
            MiddlewareError: The middleware or rclpy's handles are not as expected.
        """
        for name in MIDDLEWARE:  # a line for every message would wait for the log's reader
            set_logger_level(name, LoggingSeverity.INFO)
        self.runner = RclLoop(
            cycle,
            subscriptions,
            publishers,
            node.get_clock(),
            at_once=at_once,
            is_stamped=is_stamped,
            largest_message=largest_message,
        )
        self.timing = LoopTiming(self.runner)
        self.scheduling = ""
        self.follows_ros_time = False
        self._node = node
        self._deliver = deliver
        self._wanted = scheduling
        self._thread = Thread(target=self._run, name="loop", daemon=True)
        self._records_thread = Thread(target=self._carry_records, name="records", daemon=True)
        self._is_over, self._owns_time = False, owns_time
        self._clock_topic: Subscription | None = None
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(HEARTBEAT_PERIOD, self._beat, clock=steady)
        self._follow_ros_time()

    @property
    def has_ended(self) -> bool:
        """Whether the cycle no longer runs, or not yet."""
        return not self._thread.is_alive()

    def start(self) -> None:
        """Start; if the process ends without ``stop``, the loop still ends first."""
        atexit.register(self._finish)
        self._thread.start()
        self._records_thread.start()

    def stop(self, within: float = 1.0) -> bool:
        """End the cycle when it is safe, and wait for that; then rclpy's handles are free.

        False if the middleware holds the thread up.
        """
        atexit.unregister(self._finish)
        if not self._finish(within):
            return False
        self._stop_records_thread()
        self._node.destroy_timer(self._timer)
        self.runner.close()
        if self._clock_topic is not None:
            self._node.destroy_subscription(self._clock_topic)
        self._deliver(self.runner.records())
        return True

    def _beat(self) -> None:
        self.runner.beat()
        self._follow_ros_time()

    def _follow_ros_time(self) -> None:
        """Have the cycle go by ROS time while the node's clock does (use_sim_time)."""
        follows = self._node.get_clock().ros_time_is_active and not self._owns_time
        if follows and self._clock_topic is None:
            self._clock_topic = self._node.create_subscription(
                ClockMessage,
                "/clock",
                lambda _: self.runner.listen_again(),
                TIME,
                callback_group=DetachedGroup(),
                raw=True,
            )
        if follows != self.follows_ros_time:
            self.runner.follow_ros_time(self._clock_topic if follows else None)
            self.follows_ros_time = follows
            period = CLOCK_PERIOD if follows else HEARTBEAT_PERIOD
            self._timer.timer_period_ns = round(1e9 * period)

    def _finish(self, within: float = 1.0) -> bool:
        self.runner.stop(within)
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
            # Written to again when these are taken. A signal that the kernel hands to this thread
            # interrupts os.eventfd_read, which does not begin again, as os.read does.
            os.read(self.runner.records_fd, 8)
            if self._is_over:
                return
            self._node.defer(self._take_records)
            time.sleep(DELIVERY_PERIOD)

    def _take_records(self) -> None:
        if records := self.runner.records():
            self._deliver(records)
