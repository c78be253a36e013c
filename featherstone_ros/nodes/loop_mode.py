"""What a node has a loop run: a compiled cycle with its topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from featherstone_ros._loop import (
    ABSURD_LOCKED_RECORD,
    PUBLISH_FAILED_RECORD,
    STANDSTILL,
    TOO_LARGE_RECORD,
    UNTIMED_RECORD,
)
from featherstone_ros.model.joint_selection import absurd_text
from featherstone_ros.nodes import realtime_loop
from featherstone_ros.nodes.callback_groups import DetachedGroup
from featherstone_ros.nodes.diagnostics_publisher import ERROR, OK, WARN, Report
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.realtime.scheduling import scheduling
from featherstone_ros.text import plain

LOGGED = 5  # of refusals that are alike, in ``throttled_log.LOG_INTERVAL``


class RecentText:
    """A text that the diagnostics show for a while.

    Attributes:
        last: The last one, however old.
    """

    def __init__(self, memory: float) -> None:
        """Have no text yet; each is shown for ``memory`` seconds."""
        self._memory = memory
        self.last, self._end = "", -inf

    def set(self, text: str) -> None:
        """Show a text from now on."""
        self.last, self._end = text, monotonic() + self._memory

    @property
    def recent(self) -> str:
        """The text while it is shown, then empty."""
        return self.last if monotonic() < self._end else ""


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
        self._loop: realtime_loop.ThreadLoop | None = None
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
        self._loop = realtime_loop.ThreadLoop(
            node,
            cycle,
            self._inputs,
            self._publishers,
            self._deliver,
            scheduling=scheduling(node.parameters),
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
    def running(self) -> realtime_loop.ThreadLoop:
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

    def _deliver(self, records: list[realtime_loop.Record]) -> None:
        """Turn records into text: of the loop here, of the cycle in ``_note``."""
        for record in records:
            kind, index, _, values, _ = record
            if kind == PUBLISH_FAILED_RECORD:
                topic = self._publishers[index].topic_name
                self.publish_failure.set(f"cannot publish on {topic}")
                text = f"{self.publish_failure.last}: rcl returns {values[0]:.0f}"
                self._node.log.error(text, topic)
                self._node.publish_diagnostics()
            elif kind == TOO_LARGE_RECORD:
                most = realtime_loop.LARGEST_MESSAGE
                self._refuse(index, f"{values[0]:.0f} bytes, expected at most {most}")
            elif kind == UNTIMED_RECORD:
                self._node.log.warning(
                    "the middleware's times of messages are not as expected: latency is measured "
                    "from where the loop takes a message, and lost messages are not counted"
                )
            elif kind == ABSURD_LOCKED_RECORD:
                joint = self._node.model.locked_joints[index]
                self._node.log.warning(absurd_text(joint, *values[:3]))
            else:
                self._note(record)

    def _refuse(self, index: int, reason: str) -> None:
        """Report a message of an input that was refused."""
        self.refusals.refuse(self._topics[index], reason, kind=self._topics[index])

    def _note(self, record: realtime_loop.Record) -> None:
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
        }
        if not texts:
            return Report(OK, values=values)
        return Report(ERROR if failure or serious else WARN, "; ".join(texts), values)
