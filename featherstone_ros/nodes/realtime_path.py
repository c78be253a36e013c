"""How a node's loop is run: by a thread of its own, or by the executor."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rclpy.subscription import Subscription

from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.own_wait_set import HotGroup, OwnWaitSet
from featherstone_ros.nodes.parameters import Setting, Value
from featherstone_ros.realtime.loop import LoopThread
from featherstone_ros.realtime.scheduling import (
    Scheduling,
    refuse_missing_cpus,
    scheduling_in_force,
)

Result = TypeVar("Result")

OWN_WAIT_SET, EXECUTOR = "own_wait_set", "executor"
MOST_AT_ONCE = 16  # messages of one topic that wait for a tick
LONGEST_WAIT = 0.01  # [s] after which the thread looks at what others ask for

SETTINGS = (
    Setting(
        "realtime.path",
        OWN_WAIT_SET,
        "who runs the loop: a thread with its own wait set, or rclpy's executor",
        choices=(OWN_WAIT_SET, EXECUTOR),
        read_only=True,
    ),
    Setting(
        "realtime.priority",
        0,
        "SCHED_FIFO priority of that thread; 0 is the scheduling the process has",
        0,
        99,
        read_only=True,
    ),
    Setting(
        "realtime.cpu_affinity",
        [],
        "numbers of the processors that may run that thread; empty for all",
        kind=int,
        check=refuse_missing_cpus,
        read_only=True,
    ),
    Setting(
        "realtime.lock_memory",
        False,
        "keep the memory of the process in RAM",
        read_only=True,
    ),
)


class Work(Protocol):
    """What a loop does besides answering messages. Times are of the steady clock [s]."""

    @property
    def period(self) -> float:
        """How often ``tick`` is to be called [s]."""

    def due(self) -> float:
        """Return when ``tick`` is to be called next."""

    def tick(self, now: float) -> None:
        """Do what is due."""

    def rescue(self) -> None:
        """Go over to what is safe, after an unexpected exception."""


class Loop(Protocol):
    """A node's loop, as its other parts see it.

    Attributes:
        scheduling: In words.
        failed: Whether there was an unexpected exception.
    """

    scheduling: str
    failed: bool

    def start(self) -> None:
        """Start."""

    def stop(self) -> None:
        """End; nothing of it runs any more."""

    def call(self, action: Callable[[], Result]) -> Result:
        """Have an action done between two rounds, return its result or raise what it raises.

        Raises:
            TimeoutError: The loop has no time for it; it is given up.
        """

    def apply(self, action: Callable[[], Any]) -> None:
        """Have an action done between two rounds for certain; it must not raise."""


def make_loop(
    node: ModelNode,
    work: Work,
    group: HotGroup,
    subscriptions: Sequence[Subscription],
    at_once: bool = True,
) -> Loop:
    """Return a node's loop, not started yet.

    Args:
        node: The node, which has the parameters ``SETTINGS``.
        work: What the loop does.
        group: The callback group of the subscriptions.
        subscriptions: Raw; the loop runs their callbacks.
        at_once: Answer messages when they come; False: just before the next ``tick``.
    """
    if node.parameters["realtime.path"] == OWN_WAIT_SET:
        try:
            inputs = OwnWaitSet(node.context, subscriptions)
        except (AttributeError, TypeError) as error:
            node.get_logger().warning(
                f"this rclpy is not as realtime.path {OWN_WAIT_SET} needs it ({error}): the "
                f"executor runs the loop, as with realtime.path {EXECUTOR}"
            )
        else:
            group.taken_over = True
            return ThreadLoop(node, work, inputs, at_once)
    return ExecutorLoop(node, work, subscriptions)


class Failure:
    """What becomes of a loop after unexpected exceptions.

    Attributes:
        met: Whether there was one.
    """

    def __init__(self, node: ModelNode, work: Work) -> None:
        """Begin without one."""
        self.met = False
        self._node = node
        self._work = work

    def meet(self, error: Exception) -> bool:
        """After a first error lead to what is safe; return whether to go on: not after a second."""
        if not self._node.context.ok():
            return False  # nothing can be waited for or published any more
        text = "".join(traceback.format_exception(error))
        self._node.defer(lambda: self._node.give_up(f"unexpected exception in the loop:\n{text}"))
        first, self.met = not self.met, True
        if first:
            self._work.rescue()
        return first


class ThreadLoop:
    """A loop in a thread of its own."""

    def __init__(self, node: ModelNode, work: Work, inputs: OwnWaitSet, at_once: bool) -> None:
        """Prepare the thread."""
        self._node = node
        self._work = work
        self._inputs = inputs
        self._wait, self._most = (inputs.wait, 1) if at_once else (time.sleep, MOST_AT_ONCE)
        self._failure = Failure(node, work)
        self._thread = LoopThread(
            self._turn, scheduling(node.parameters), self._warn, self._failure.meet
        )
        self.call, self.apply = self._thread.call, self._thread.apply

    @property
    def scheduling(self) -> str:
        """The thread's scheduling in words."""
        return self._thread.scheduling

    @property
    def failed(self) -> bool:
        """Whether there was an unexpected exception."""
        return self._failure.met

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._thread.stop()
        self._inputs.close()

    def _turn(self) -> None:
        left = self._work.due() - time.monotonic()
        if left > 0.0:
            self._wait(min(left, LONGEST_WAIT))
        self._inputs.take(self._most)
        now = time.monotonic()
        if now >= self._work.due():
            self._work.tick(now)

    def _warn(self, problem: str) -> None:
        self._node.defer(lambda: self._node.get_logger().warning(problem))


class ExecutorLoop:
    """A loop that the node's executor runs, along with all else."""

    def __init__(self, node: ModelNode, work: Work, subscriptions: Sequence[Subscription]) -> None:
        """Prepare the loop; the subscriptions' callbacks become part of it."""
        self.scheduling = scheduling_in_force()
        self._failure = Failure(node, work)
        self._silent = False
        for subscription in subscriptions:
            subscription.callback = self._answering(subscription.callback)
        self._node = node
        self._work = work
        self._timer: Any = None
        self._period = 0.0

    @property
    def failed(self) -> bool:
        """Whether there was an unexpected exception."""
        return self._failure.met

    def start(self) -> None:
        """Start to tick."""
        self._period = self._work.period
        self._timer = self._node.create_timer(
            self._period, self._tick, clock=self._node.steady_clock
        )

    def stop(self) -> None:
        """Tick no more."""
        self._node.destroy_timer(self._timer)

    def call(self, action: Callable[[], Result]) -> Result:
        """Do it."""
        result = action()
        if self._work.period != self._period:
            self.stop()
            self.start()
        return result

    def apply(self, action: Callable[[], Any]) -> None:
        """Do it."""
        self.call(action)

    def _tick(self) -> None:
        self._run(self._work.tick, time.monotonic())

    def _answering(self, take: Callable[[bytes, Any], None]) -> Callable[[bytes, Any], None]:
        return lambda message, info: self._run(take, message, info)

    def _run(self, action: Callable[..., None], *arguments: Any) -> None:
        """Do something; an exception must not end the node while it holds an arm."""
        if self._silent:
            return
        try:
            action(*arguments)
        except Exception as error:
            self._silent = not self._failure.meet(error)


def scheduling(values: Mapping[str, Value]) -> Scheduling:
    """Return what the parameters say about the loop's scheduling."""
    return Scheduling(
        int(values["realtime.priority"]),
        tuple(values["realtime.cpu_affinity"]),
        bool(values["realtime.lock_memory"]),
    )
