"""How tools take part in ROS: nodes in a domain, what they hear, and calls no signal interrupts."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.client import Client
from rclpy.context import Context
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import InvalidTopicNameException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.nodes.execution import is_start_error
from featherstone_ros.text import one_line
from featherstone_ros.tools.interruption import held
from featherstone_ros.tools.node_status import PATIENCE, SAY, StatusTable

LONGEST_HOLD = 0.05  # [s] in which a signal may have to wait
REPEAT = 1.5  # [s] after which a service is asked again


class Participant:
    """A node of a tool, in a context of its own; a context manager.

    Attributes:
        node: Its callbacks run while ``spin`` or ``wait`` does.
    """

    def __init__(self, name: str, namespace: str = "", domain: int | None = None) -> None:
        """Join a ROS domain. ``domain``: None: ROS_DOMAIN_ID, or 0."""
        self._options: dict[str, Any] = {
            "namespace": namespace,
            "enable_rosout": False,
            "start_parameter_services": False,
        }
        self._context = Context()
        self._recorder: Node | None = None
        try:
            with held(until_next=True):
                rclpy.init(context=self._context, domain_id=domain)
                self.node = Node(name, context=self._context, **self._options)
                self._executor = SingleThreadedExecutor(context=self._context)
                self._executor.add_node(self.node)
        except Exception as error:
            self._context.try_shutdown()
            if not is_start_error(error):
                raise
            raise FeatherstoneError(one_line(error)) from None

    def __enter__(self) -> Any:
        """Return the participant."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the domain."""
        with held():
            self._executor.shutdown()
            for node in filter(None, (self.node, self._recorder)):
                node.destroy_node()
            self._context.try_shutdown()

    def subscribe(
        self,
        kind: type,
        topic: str,
        take: Callable[[Any], None],
        depth: int,
        reliability: ReliabilityPolicy = ReliabilityPolicy.BEST_EFFORT,
    ) -> None:
        """Call back with each message; ``spin`` does it."""
        qos = QoSProfile(depth=depth, reliability=reliability)
        events = SubscriptionEventCallbacks(use_default_callbacks=False)
        try:
            with held():
                self.node.create_subscription(kind, topic, take, qos, event_callbacks=events)
        except InvalidTopicNameException as error:
            raise FeatherstoneError(one_line(error)) from None

    def queue(
        self,
        kind: type,
        topic: str,
        depth: int,
        reliability: ReliabilityPolicy = ReliabilityPolicy.BEST_EFFORT,
        durability: DurabilityPolicy = DurabilityPolicy.VOLATILE,
    ) -> Subscription:
        """Let messages wait for ``take_waiting``: nothing else touches them."""
        qos = QoSProfile(depth=depth, reliability=reliability, durability=durability)
        with held():
            if self._recorder is None:  # in no executor
                name = f"{self.node.get_name()}_recorder"
                self._recorder = Node(name, context=self._context, **self._options)
            return self._recorder.create_subscription(kind, topic, lambda _: None, qos, raw=True)

    def spin(self, duration: float) -> None:
        """Run callbacks for some time [s]; to be interrupted between two of them."""
        spin(self._executor, duration)

    def wait(self, timeout: float = LONGEST_HOLD) -> None:
        """Run one callback; wait for it briefly, for ``timeout`` seconds at most."""
        spin_once(self._executor, timeout)

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait until a condition returns something true; return it. ``what``: it is then there."""
        begin, is_told = time.monotonic(), False
        while not (result := condition()):
            waited = time.monotonic() - begin
            self.while_waiting()
            if waited > SAY and not is_told:
                self.tell(f"no {what} yet")
                is_told = True
            if waited > PATIENCE:
                raise FeatherstoneError(f"no {what} within {PATIENCE:g} s{self.hint()}")
            self.wait()
        return result

    def while_waiting(self) -> None:
        """Is called often in ``until``; may raise."""

    def tell(self, what: str) -> None:
        """Is told once what ``until`` waits for, when that takes long."""

    def hint(self) -> str:
        """Return what to add when something is not there."""
        return ""

    def call(self, client: Client, request: Any) -> tuple[Any, bool]:
        """Call a service; return its answer, and whether it was asked only once.

        A server that has not yet found its client loses the request, or the answer: so it is sent
        again until it is answered. Who is asked twice may say that it is done already.
        """
        self.until(client.service_is_ready, f"service {client.service_name}")
        futures: list[Any] = []
        ask_again = 0.0

        def answer() -> Any:
            nonlocal ask_again
            if (now := time.monotonic()) > ask_again:
                with held():
                    futures.append(client.call_async(request))
                ask_again = now + REPEAT
            return next((future.result() for future in futures if future.done()), None)

        return self.until(answer, f"answer of {client.service_name}"), len(futures) == 1


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


class DiagnosticsListener(Participant):
    """Fills a status table from /diagnostics while it spins.

    Attributes:
        table: The last status of every node heard.
    """

    def __init__(self, name: str, namespace: str = "", domain: int | None = None) -> None:
        """Join a ROS domain as a node of that name and namespace, and listen."""
        self.table = StatusTable()
        with held(until_next=True):
            super().__init__(name, namespace, domain)
            self.subscribe(DiagnosticArray, "/diagnostics", self._take, depth=100)

    def _take(self, message: DiagnosticArray) -> None:
        self.table.hear(message.status, time.monotonic())


def receive(topic: str) -> JointTrajectory:
    """Wait for a message, without a time limit."""
    received: list[JointTrajectory] = []
    with Participant("preflight") as ros:
        # Reliable, since the message may be the only one and come while DDS is still making the
        # connection; best effort beside it, since only that is served by such publishers.
        for reliability in (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT):
            ros.subscribe(JointTrajectory, topic, received.append, 1, reliability)
        print(f"waiting for a trajectory on {topic}", file=sys.stderr, flush=True)
        while not received:
            ros.wait()
    return received[0]
