"""The ROS half of the demo: sends the motion, sets parameters, records messages.

Recording leaves the processor to the nodes: messages wait in the middleware's queues, are taken out
as bytes now and then, and are decoded after the run. Their time stamps are the middleware's.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros.arrays import Floats
from featherstone_ros.tools.demo.measure import DemoRecording
from featherstone_ros.tools.multi_sine import POINT_SPACING, MultiSine
from featherstone_ros.tools.processes import DemoError
from featherstone_ros.tools.rclpy_calls import decode, spin_once, take_waiting
from featherstone_ros.tools.signals import held

_QUEUE = 5000  # messages that may wait between two looks at them
_POLL_PERIOD = 0.02  # [s]
_START_DEADLINE = 30.0  # [s] until both nodes must talk
_ANSWER_DEADLINE = 5.0  # [s] for a service
_SETTLING = 0.5  # [s] in which the controller takes the arm over
LEAD = 1.0  # [s] from sending a trajectory to its start: time to go there and come to rest

Message = tuple[bytes, int, int]  # serialized, sent and received [ns]


class DemoNode:
    """One node that talks to twin and controller in the demo's namespace; a context manager."""

    def __init__(self, namespace: str, domain: int, watch: Callable[[], None]) -> None:
        """Join the domain.

        Args:
            namespace: Of both nodes.
            domain: ROS domain.
            watch: Called often; raises if a node has died.
        """
        self._watch = watch
        with held(until_next=True):
            self._join(namespace, domain)

    def _join(self, namespace: str, domain: int) -> None:
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = Node("demo", context=self._context, namespace=namespace, enable_rosout=False)
        # The recording node is in no executor: nothing but ``_take`` touches its messages.
        self._recorder = Node(
            "demo_recorder",
            context=self._context,
            namespace=namespace,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        qos = QoSProfile(depth=_QUEUE, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscriptions = [
            self._recorder.create_subscription(kind, topic, lambda _: None, qos, raw=True)
            for kind, topic in (
                (JointState, "joint_states"),
                (Float64MultiArray, "feedforward_controller/commands"),
                (JointState, "feedforward_controller/desired"),
            )
        ]
        self._trajectory = self.node.create_publisher(
            JointTrajectory, "feedforward_controller/joint_trajectory", 1
        )
        self._parameters = self.node.create_client(
            SetParameters, "feedforward_controller/set_parameters"
        )
        self._reset = self.node.create_client(Trigger, "digital_twin/reset")
        self._pause = self.node.create_client(SetBool, "digital_twin/pause")
        self._life = self.node.create_client(ChangeState, "feedforward_controller/change_state")
        self._clients = (self._parameters, self._reset, self._pause, self._life)

    def __enter__(self) -> "DemoNode":
        """Return the session."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the domain."""
        with held():
            self._executor.shutdown()
            self.node.destroy_node()
            self._recorder.destroy_node()
            rclpy.shutdown(context=self._context)

    def wait_until_running(self) -> None:
        """Wait for joint states, commands, and the controller's services.

        Raises:
            DemoError: Something is missing after half a minute; says what.
        """
        seen = [False] * len(self._subscriptions)
        deadline = time.monotonic() + _START_DEADLINE
        while not (
            all(seen)
            and all(client.service_is_ready() for client in self._clients)
            and self._trajectory.get_subscription_count()
        ):
            for i, subscription in enumerate(self._subscriptions):
                seen[i] = bool(take_waiting(subscription)) or seen[i]
            if time.monotonic() > deadline:
                missing = [
                    s.topic_name
                    for s, found in zip(self._subscriptions, seen, strict=True)
                    if not found
                ]
                what = (
                    f"no message on {', '.join(missing)}"
                    if missing
                    else "not all services are there"
                )
                raise DemoError(f"{what} within {_START_DEADLINE:g} s of the start")
            self._idle()

    def set_controller_parameters(self, values: Mapping[str, object]) -> None:
        """Set parameters of the controller, all or none.

        Raises:
            DemoError: It refuses, or does not answer.
        """
        parameters = [Parameter(name, value=v).to_parameter_msg() for name, v in values.items()]
        request = SetParameters.Request(parameters=parameters)
        for result in self._call(self._parameters, request).results:
            if not result.successful:
                raise DemoError(f"the controller refuses {dict(values)}: {result.reason}")

    def reset_twin(self) -> None:
        """Put the arm at its initial position, at rest, with the controller holding it there.

        Time stands still and the controller is not active meanwhile: it would not believe the jump.

        Raises:
            DemoError: One of the nodes does not answer.
        """
        self._change_controller("deactivate")
        self._call(self._pause, SetBool.Request(data=True))
        self._call(self._reset, Trigger.Request())
        self._change_controller("activate")
        self._call(self._pause, SetBool.Request(data=False))
        self._wait(_SETTLING)

    def drive(
        self, joint_names: Iterable[str], motion: MultiSine, progress: Callable[[float], None]
    ) -> DemoRecording:
        """Send the motion, record until it is over.

        Args:
            joint_names: Names of the motion's joints.
            motion: What to follow; starts about a second after the call.
            progress: Called with the time since the call [s].

        Returns:
            The messages, joints in the order of ``joint_names``.
        """
        names = list(joint_names)
        begin = self.node.get_clock().now()
        start = begin + Duration(seconds=LEAD)
        message = trajectory_message(names, motion, start)
        with held():
            self._trajectory.publish(message)
        messages: list[list[Message]] = [[] for _ in self._subscriptions]
        end = start + Duration(seconds=motion.duration + 0.1)
        while (now := self.node.get_clock().now()) < end:
            self._collect(messages)
            progress((now - begin).nanoseconds * 1e-9)
            self._idle()
        self._collect(messages)
        return _decode(messages, names, start.nanoseconds)

    def _call(self, client: Client, request: Any) -> Any:
        """Call a service; return its answer."""
        with held():
            future = client.call_async(request)
        deadline = time.monotonic() + _ANSWER_DEADLINE
        while not future.done():
            if time.monotonic() > deadline:
                raise DemoError(f"no answer of the service {client.service_name}")
            self._idle()
        return future.result()

    def _change_controller(self, transition: str) -> None:
        request = ChangeState.Request(transition=Transition(label=transition))
        if not self._call(self._life, request).success:
            raise DemoError(f"the controller refused to {transition}; its log says why")

    def _wait(self, duration: float) -> None:
        until = time.monotonic() + duration
        while time.monotonic() < until:
            self._idle()

    def _collect(self, messages: list[list[Message]]) -> None:
        for subscription, taken in zip(self._subscriptions, messages, strict=True):
            taken.extend(
                (data, info["source_timestamp"], info["received_timestamp"])
                for data, info in take_waiting(subscription)
            )

    def _idle(self) -> None:
        self._watch()
        spin_once(self._executor, _POLL_PERIOD)


def trajectory_points(
    times: Floats, q: Floats, qd: Floats, qdd: Floats
) -> list[JointTrajectoryPoint]:
    """Return points (K) of a trajectory at times (K,) [s] from its start; states are (K, n)."""
    return [
        JointTrajectoryPoint(
            positions=position.tolist(),
            velocities=velocity.tolist(),
            accelerations=acceleration.tolist(),
            time_from_start=Duration(seconds=float(t)).to_msg(),
        )
        for t, position, velocity, acceleration in zip(times, q, qd, qdd, strict=True)
    ]


def trajectory_message(names: list[str], motion: MultiSine, start: Time) -> JointTrajectory:
    """Return a motion as the controller takes it; a start at time 0 is now."""
    points = trajectory_points(*motion.samples(POINT_SPACING))
    message = JointTrajectory(joint_names=names, points=points)
    message.header.stamp = start.to_msg()
    return message


def _decode(messages: list[list[Message]], names: list[str], start: int) -> DemoRecording:
    """Turn bytes into arrays, with times since ``start`` [ns]."""
    states, desired = (_States(messages[i], names, start) for i in (0, 2))
    commands = [decode(data, Float64MultiArray).data for data, _, _ in messages[1]]
    return DemoRecording(
        stamp=states.stamp,
        position=states.position,
        effort=states.effort,
        state_sent=_seconds([sent for _, sent, _ in messages[0]], start),
        command_sent=_seconds([sent for _, sent, _ in messages[1]], start),
        command_received=_seconds([received for _, _, received in messages[1]], start),
        command=_rows(commands, len(names)),
        desired_stamp=desired.stamp,
        desired=desired.position,
    )


class _States:
    """Stamps, positions and efforts of joint states, joints in a given order."""

    def __init__(self, messages: list[Message], names: list[str], start: int) -> None:
        states = [decode(data, JointState) for data, _, _ in messages]
        orders = [[state.name.index(name) for name in names] for state in states]
        stamps = [Time.from_msg(state.header.stamp).nanoseconds for state in states]
        pairs = list(zip(states, orders, strict=True))
        self.stamp = _seconds(stamps, start)
        self.position = _rows([np.take(s.position, order) for s, order in pairs], len(names))
        self.effort = _rows([np.take(s.effort, order) for s, order in pairs], len(names))


def _seconds(nanoseconds: list[int], start: int) -> Floats:
    since = np.array(nanoseconds, dtype=np.int64) - start
    return 1e-9 * since.astype(np.float64)


def _rows(values: list[Floats], width: int) -> Floats:
    return np.array(values, dtype=float).reshape(-1, width)
