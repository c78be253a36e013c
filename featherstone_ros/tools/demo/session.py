"""The ROS half of the demo: sends the motion, sets parameters, records messages.

Recording leaves the processor to the nodes: messages wait in the middleware's queues, are taken out
as bytes now and then, and are decoded after the run. Their time stamps are the middleware's.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.arrays import Floats
from featherstone_ros.tools.demo.measure import DemoRecording
from featherstone_ros.tools.multi_sine import POINT_SPACING, MultiSine
from featherstone_ros.tools.preflight.source import from_arrays, to_message
from featherstone_ros.tools.processes import DemoError
from featherstone_ros.tools.rclpy_calls import Participant, decode, take_waiting
from featherstone_ros.tools.signals import held

_QUEUE = 5000  # messages that may wait between two looks at them
_POLL_PERIOD = 0.02  # [s]
_START_DEADLINE = 30.0  # [s] until both nodes must talk
_ANSWER_DEADLINE = 5.0  # [s] for a service
_SETTLING = 0.5  # [s] in which the controller takes the arm over
LEAD = 1.0  # [s] from sending a trajectory to its start: time to go there and come to rest

Message = tuple[bytes, int, int]  # serialized, sent and received [ns]


class DemoNode(Participant):
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
            super().__init__("demo", namespace, domain)
            self._subscriptions = [
                self.queue(kind, topic, _QUEUE)
                for kind, topic in (
                    (JointState, "joint_states"),
                    (Float64MultiArray, "feedforward_controller/commands"),
                    (JointState, "feedforward_controller/desired"),
                )
            ]
            self._trajectory = self.node.create_publisher(
                JointTrajectory, "feedforward_controller/joint_trajectory", 1
            )
            self._parameters, self._life, self._reset, self._pause = self._clients = [
                self.node.create_client(kind, name)
                for kind, name in (
                    (SetParameters, "feedforward_controller/set_parameters"),
                    (ChangeState, "feedforward_controller/change_state"),
                    (Trigger, "digital_twin/reset"),
                    (SetBool, "digital_twin/pause"),
                )
            ]

    def wait_until_running(self) -> None:
        """Wait for joint states, commands, and the controller's services.

        Raises:
            DemoError: Something is missing after half a minute; says what.
        """
        silent = list(self._subscriptions)
        deadline = time.monotonic() + _START_DEADLINE
        while silent or not (
            all(client.service_is_ready() for client in self._clients)
            and self._trajectory.get_subscription_count()
        ):
            silent = [topic for topic in silent if not take_waiting(topic)]
            if time.monotonic() > deadline:
                missing = ", ".join(topic.topic_name for topic in silent)
                what = f"no message on {missing}" if missing else "not all services are there"
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
        self, names: Sequence[str], motion: MultiSine, progress: Callable[[float], None]
    ) -> DemoRecording:
        """Send the motion, record until it is over.

        Args:
            names: Of the motion's joints.
            motion: What to follow; starts about a second after the call.
            progress: Called with the time since the call [s].

        Returns:
            The messages, joints in the order of ``names``.
        """
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
        self.wait(_POLL_PERIOD)


def trajectory_message(names: Sequence[str], motion: MultiSine, start: Time) -> JointTrajectory:
    """Return a motion as the controller takes it; a start at time 0 is now."""
    message = to_message(from_arrays(names, *motion.samples(POINT_SPACING)))
    message.header.stamp = start.to_msg()
    return message


def _decode(messages: list[list[Message]], names: Sequence[str], start: int) -> DemoRecording:
    """Turn bytes into arrays, with times since ``start`` [ns]."""
    states, commands, desired = messages
    stamp, position, effort = _columns(states, names)
    desired_stamp, desired_position, _ = _columns(desired, names)

    def seconds(times: Iterable[int]) -> Floats:
        return 1e-9 * (np.array([*times], dtype=np.int64) - start).astype(np.float64)

    return DemoRecording(
        stamp=seconds(stamp),
        position=position,
        effort=effort,
        state_sent=seconds(sent for _, sent, _ in states),
        command_sent=seconds(sent for _, sent, _ in commands),
        command_received=seconds(received for _, _, received in commands),
        desired_stamp=seconds(desired_stamp),
        desired=desired_position,
    )


def _columns(messages: list[Message], names: Sequence[str]) -> tuple[list[int], Floats, Floats]:
    """Return stamps [ns], positions and efforts of joint states, joints in the order of names."""
    states = [decode(data, JointState) for data, _, _ in messages]
    stamps = [Time.from_msg(state.header.stamp).nanoseconds for state in states]
    position, effort = np.zeros((2, len(states), len(names)))
    for k, state in enumerate(states):
        order = [state.name.index(name) for name in names]
        position[k], effort[k] = np.take(state.position, order), np.take(state.effort, order)
    return stamps, position, effort
