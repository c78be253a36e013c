"""A node's loop: a compiled cycle with its topics, in a thread that runs without the interpreter.

Requests go in through ``runner`` (``request``, ``post``), and the cycle reports by records, which
are delivered in the executor's thread.
"""

from __future__ import annotations

import atexit
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock as ClockMessage

from featherstone_ros._loop import (
    ABSURD_LOCKED_RECORD,
    PUBLISH_FAILED_RECORD,
    STANDSTILL,
    TOO_LARGE_RECORD,
    UNTIMED_RECORD,
    RclLoop,
)
from featherstone_ros.model.joint_selection import absurd_text
from featherstone_ros.nodes.lifecycle import ASSUMED, ModelNode
from featherstone_ros.nodes.node_diagnostics import ERROR, OK, WARN, RecentText, Report
from featherstone_ros.nodes.topics import CLOCK_PERIOD, TIME, DetachedGroup
from featherstone_ros.parameter import values_of
from featherstone_ros.realtime.loop_timing import LoopTiming
from featherstone_ros.realtime.scheduling import Scheduling
from featherstone_ros.text import plain

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
        """Prepare the threads of a node that can ``defer`` an action to its executor's thread.

        What is not here is that of ``RclLoop``. ``subscriptions``: of a ``DetachedGroup``;
        ``deliver`` gets the records, in the executor's thread; ``owns_time``: the cycle goes by the
        steady clock even where the node has use_sim_time.
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
        self._is_over = True
        os.eventfd_write(self.runner.records_fd, 1)
        if self._records_thread.ident is not None:
            self._records_thread.join(MARGIN)
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

    def _carry_records(self) -> None:
        """Tell the executor of records; seldom, since its wake-up costs more than a record."""
        while True:
            # Written to again when these are taken. A signal that the kernel hands to this thread
            # interrupts os.eventfd_read, which does not begin again, as os.read does.
            os.read(self.runner.records_fd, 8)
            if self._is_over:
                return
            self._node.defer(lambda: self._deliver(self.runner.records()))
            time.sleep(DELIVERY_PERIOD)


LOGGED = 5  # of refusals that are alike, in ``node_diagnostics.LOG_INTERVAL``


class Refusals(RecentText):
    """The messages that are refused: the last one's topic and the reason.

    Attributes:
        counts: Their numbers by topic.
    """

    def __init__(self, node: ModelNode, memory: float) -> None:
        """Report through this node; each is shown for ``memory`` seconds."""
        super().__init__(memory)
        self._node = node
        self.counts: Counter[str] = Counter()

    def refuse(self, topic: str, reason: object, kind: str = "") -> None:
        """Report a refused message; ``kind`` is that of the log line, see ``ThrottledLog``.

        The log has the first ``LOGGED`` of each kind in a few seconds: who sends one after the
        other by hand reads why each is refused. The diagnostics count all.
        """
        self.counts[topic] += 1
        self.set(f"{topic}: {plain(str(reason))}")
        self._node.log.error(f"refused a message on {self.last}", kind, LOGGED)
        self._node.publish_diagnostics()


FAILURE_MEMORY = 3.0  # [s] that the diagnostics report a message that could not be published


class LoopMode:
    """Listens and runs a cycle from activation to deactivation; publishes until ``cleanup``.

    Attributes:
        publish_failure: The last topic on which the loop could not publish: whoever needs its
            messages gets none.
        refusals: The messages that were refused.
    """

    ANSWER_TIMEOUT = 1.0  # [s] that a request waits for the loop
    REFUSAL_MEMORY = 10.0  # [s] that the diagnostics warn of a refused message

    def __init__(self, node: ModelNode, publishers: list[Publisher]) -> None:
        """Wait for ``activate``; the publishers are in the order of the cycle's outputs."""
        self._node = node
        self._publishers = publishers
        self.publish_failure = RecentText(FAILURE_MEMORY)
        self.refusals = Refusals(node, self.REFUSAL_MEMORY)
        self._topics: list[str] = []  # of the inputs
        self._inputs: list[Subscription] = []
        self._loop: ThreadLoop | None = None
        self._clock: Callable[[], float] = monotonic
        self._known_leaps = 0

    def _run(
        self,
        cycle: Any,
        topics: Mapping[str, type],
        qos: QoSProfile,
        own_qos: Mapping[str, QoSProfile] | None = None,
        **options: Any,
    ) -> None:
        """Run a cycle, with the options of ``ThreadLoop``.

        ``topics``: types of messages in the order of the cycle's inputs; ``own_qos``: of some.
        """
        node, group, self._cycle = self._node, DetachedGroup(), cycle
        self._topics = list(topics)
        self._inputs = [
            node.create_subscription(
                kind,
                topic,
                self._listen_again,
                (own_qos or {}).get(topic, qos),
                callback_group=group,
                raw=True,
            )
            for topic, kind in topics.items()
        ]
        self._loop = ThreadLoop(
            node,
            cycle,
            self._inputs,
            self._publishers,
            self._deliver,
            scheduling=Scheduling(**values_of(Scheduling, node.parameters)),
            **options,
        )
        runner = self._loop.runner
        self._clock = lambda: runner.now
        self._loop.start()

    def _listen_again(self, _: bytes) -> None:
        """Answer a message that an executor took: one of events asks no callback group."""
        if self._loop is not None:
            self._loop.runner.listen_again()
            self._node.log.warning(
                "an executor has taken a message of the loop's; it listens again"
            )

    def deactivate(self) -> None:
        """Stop listening."""
        self.halt()
        for subscription in self._inputs:
            self._node.destroy_subscription(subscription)

    def halt(self, within: float = 1.0) -> None:
        """End the loop when it is safe, ``within`` seconds from now at the latest."""
        if self._loop is not None:
            self._loop.stop(within)
            self._loop = None

    def cleanup(self) -> None:
        """Stop publishing."""
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)

    @property
    def now(self) -> float:
        """The time by which the cycle goes, or has gone [s]: steady, or simulated."""
        return self._clock()

    @property
    def ros_time(self) -> float:
        """The time of the clock by which messages are stamped [s]."""
        time = self.running.runner.ros_time  # the node's own lags behind it
        return self._node.get_clock().now().nanoseconds * 1e-9 if time is None else time

    @property
    def running(self) -> ThreadLoop:
        """The loop: there is one while the mode is active."""
        if self._loop is None:
            raise RuntimeError("the loop is not running")
        return self._loop

    def _ask(self, request: int, payload: Any = None) -> int:
        """Ask the loop for something; return its answer."""
        address = 0 if payload is None else payload.address
        return self.running.runner.request(request, address, payload, self.ANSWER_TIMEOUT)

    def _give(self, request: int, payload: Any) -> None:
        """Give something to the cycle, which takes it now, or as soon as the loop has time."""
        self._cycle.keep(request, payload)
        try:
            self._ask(request, payload)
            self._cycle.keep(request, payload, alone=True)
        except TimeoutError:
            with suppress(TimeoutError):
                address = 0 if payload is None else payload.address
                self.running.runner.post(request, address, payload)

    def _deliver(self, records: list[Record]) -> None:
        """Turn records into text: of the loop here, of the cycle in ``_note``."""
        warning = self._node.log.warning
        for record in records:
            kind, index, _, values, _ = record
            if kind == PUBLISH_FAILED_RECORD:
                topic = self._publishers[index].topic_name
                self.publish_failure.set(f"cannot publish on {topic}")
                text = f"{self.publish_failure.last}: rcl returns {values[0]:.0f}"
                self._node.log.error(text, topic)
                self._node.publish_diagnostics()
            elif kind == TOO_LARGE_RECORD:
                most = LARGEST_MESSAGE
                self._refuse(index, f"{values[0]:.0f} bytes, expected at most {most}")
            elif kind == UNTIMED_RECORD:
                warning(
                    "the middleware's times of messages are not as expected: latency is measured "
                    "from where the loop takes a message, and lost messages are not counted"
                )
            elif kind == ABSURD_LOCKED_RECORD:
                warning(absurd_text(self._node.model.locked_joints[index], *values[:3]))
            else:
                self._note(record)

    def _refuse(self, index: int, reason: str) -> None:
        """Report a message of an input that was refused."""
        self.refusals.refuse(self._topics[index], reason, kind=self._topics[index])

    def _note(self, record: Record) -> None:
        """Turn a record of the cycle's own into text."""
        raise NotImplementedError

    @property
    def stands(self) -> bool:
        """Whether simulated time stands still, and with it the arm; any thread may ask."""
        loop = self._loop
        return loop is not None and loop.runner.stands > STANDSTILL

    def time_problem(self) -> str:
        """Return what is wrong with simulated time, by which the cycle goes; empty for nothing."""
        loop = self.running
        if not loop.follows_ros_time:
            return ""
        runner, clock = loop.runner, self._node.resolve_topic_name("/clock")
        leaps, before = runner.counters()["time_leaps"], self._known_leaps
        self._known_leaps = leaps
        publishers = self._node.count_publishers(clock)
        if publishers > 1:
            return f"{publishers} publishers on {clock}, expected one"
        if leaps > before:
            return (
                f"ROS time has leapt in {leaps - before} messages: the clock was set, or /clock "
                "and the stamps of joint states are of different clocks"
            )
        if not self.stands:
            return ""
        if runner.ros_time is None:
            return f"use_sim_time is true, but no time has come on /clock for {runner.stands:.0f} s"
        return f"simulated time stands at {runner.ros_time:.3f} for {runner.stands:.0f} s"

    def _report(
        self, values: Mapping[str, object], *problems: str, serious: bool = False
    ) -> Report:
        """Return a report on these problems, as far as not empty, and on those of every loop."""
        refused = self.refusals.recent and f"refused a message on {self.refusals.recent}"
        failure = self.publish_failure.recent
        texts = [text for text in (failure, self.time_problem(), *problems, refused) if text]
        values = {
            **values,
            "scheduling": self.running.scheduling,
            "last refusal": self.refusals.last or "none",
            ASSUMED: self._node.assumption or "none",
        }
        if not texts:
            return Report(OK, values=values)
        return Report(ERROR if failure or serious else WARN, "; ".join(texts), values)
