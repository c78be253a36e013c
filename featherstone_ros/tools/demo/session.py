"""The ROS half of the demo: sends the motion, sets parameters, records messages.

Recording leaves the processor to the nodes: messages wait in the middleware's queues, are taken out
as bytes now and then, and are decoded after the run. Their time stamps are the middleware's.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.client import Client
from rclpy.duration import Duration
from rclpy.qos import ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.arrays import Floats
from featherstone_ros.control.diagnostics import following, phase_text
from featherstone_ros.control.phases import Phase
from featherstone_ros.nodes.qos import AHEAD
from featherstone_ros.tools.demo.measure import DemoRecording
from featherstone_ros.tools.multi_sine import POINT_SPACING, MultiSine
from featherstone_ros.tools.processes import DemoError
from featherstone_ros.tools.rclpy_calls import Participant, Question, decode, take_waiting
from featherstone_ros.tools.signals import held
from featherstone_ros.tools.trajectory_files import from_arrays, to_message

_QUEUE = AHEAD.depth  # messages that may wait between two looks at them
_POLL_PERIOD = 0.02  # [s]
_START_DEADLINE = 30.0  # [s] until both nodes must talk
_ANSWER_DEADLINE = 30.0  # [s] for a service, or a change of phase
_STANDSTILL = 20.0  # [s] without a joint state in simulated time
_LATE = 5.0  # [s] for which desired positions may still come after the states of a motion
_BREATH = 0.002  # [s] between two looks at them
_SETTLING = 0.5  # [s] in which the controller takes the arm over
LEAD = 1.0  # [s] from sending a trajectory to its start: time to go there and come to rest

Message = tuple[bytes, int, int]  # serialized, sent and received [ns]


class DemoNode(Participant):
    """One node that talks to twin and controller in the demo's namespace; a context manager."""

    def __init__(
        self, namespace: str, domain: int, watch: Callable[[], None], simulated: bool
    ) -> None:
        """Join the domain.

        Args:
            namespace: Of both nodes.
            domain: ROS domain.
            watch: Called often; raises if a node has died.
            simulated: Time is: no message is to be lost, whatever that costs the nodes.
        """
        self._watch = watch
        reliability = (ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE)[simulated]
        self._phase = ""  # of the controller, by its diagnostics
        with held(until_next=True):
            super().__init__("demo", namespace, domain)
            self._subscriptions = [
                self.queue(kind, topic, _QUEUE, reliability)
                for kind, topic in (
                    (JointState, "joint_states"),
                    (Float64MultiArray, "feedforward_controller/commands"),
                    (JointState, "feedforward_controller/desired"),
                )
            ]
            self._trajectory = self.node.create_publisher(
                JointTrajectory, "feedforward_controller/joint_trajectory", 1
            )
            self._life, self._pause = self._clients = [
                self.node.create_client(kind, name)
                for kind, name in (
                    (ChangeState, "feedforward_controller/change_state"),
                    (SetBool, "digital_twin/pause"),
                )
            ]
            self.subscribe(DiagnosticArray, "/diagnostics", self._hear_diagnostics, depth=10)

    def take_arm_over(self) -> None:
        """Have the controller hold the arm, in real time.

        Raises:
            DemoError: Something is missing after half a minute; says what.
        """
        self._wait_until_connected()
        self._change_controller("activate")
        self._await_phase(Phase.HOLDING)
        self._wait(_SETTLING)

    def take_arm_over_in_no_time(self) -> None:
        """Have the controller hold the arm while simulated time stands.

        What the arm does from then on depends on the messages alone, not on when they come.

        Raises:
            DemoError: Something is missing after half a minute; says what.
        """
        self._wait_until_connected()
        self._call(self._pause, SetBool.Request(data=True))
        self._change_controller("activate")
        self._await_phase(Phase.HOLDING)

    def drive(
        self, names: Sequence[str], motion: MultiSine, progress: Callable[[float], None]
    ) -> DemoRecording:
        """Send the motion, record in real time until it is over.

        Args:
            names: Of the motion's joints.
            motion: What to follow; starts about a second after the call.
            progress: Called with the time since the call [s].

        Returns:
            The messages, joints in the order of ``names``.
        """
        begin = self.node.get_clock().now()
        start = begin + Duration(seconds=LEAD)
        self._send(trajectory_message(names, motion, start))
        messages: list[list[Message]] = [[] for _ in self._subscriptions]
        end = start + Duration(seconds=motion.duration + 0.1)
        while (now := self.node.get_clock().now()) < end:
            self._collect(messages)
            progress((now - begin).nanoseconds * 1e-9)
            self._idle()
        self._collect(messages)
        return _decode(messages, names, start.nanoseconds)

    def drive_in_no_time(
        self, names: Sequence[str], motion: MultiSine, progress: Callable[[float], None]
    ) -> DemoRecording:
        """Send the motion while time stands, then let it go on; record until the motion is over.

        Args:
            names: Of the motion's joints.
            motion: What to follow; starts at ``LEAD``.
            progress: Called with the simulated time [s].

        Returns:
            The messages, joints in the order of ``names``.
        """
        start = Time(seconds=LEAD)
        self._send(trajectory_message(names, motion, start))
        self._await_phase(Phase.TRAJECTORY)
        messages: list[list[Message]] = [[] for _ in self._subscriptions]
        self._collect(messages)  # those of before
        messages = [[] for _ in self._subscriptions]
        self._call(self._pause, SetBool.Request(data=False))
        states, _, desired = messages
        now, end = 0.0, LEAD + motion.duration
        deadline = time.monotonic() + _STANDSTILL
        while now < end or _newest(desired) < end:
            self._watch()
            self._collect(messages)
            if now < min(heard := _newest(states), end):
                now = heard
                deadline = time.monotonic() + (_STANDSTILL if now < end else _LATE)
            if time.monotonic() > deadline:
                if now >= end:
                    break  # what has not come is lost; the run is judged by the rest
                raise DemoError(f"simulated time stands at {now:.3f} s; the nodes' logs say why")
            progress(now)
            time.sleep(_BREATH)
        return _decode(messages, names, start.nanoseconds)

    def _wait_until_connected(self) -> None:
        """Configure the controller; wait for joint states, and who listens to trajectories."""
        heard = False
        deadline = time.monotonic() + _START_DEADLINE
        while not self._life.service_is_ready():
            if time.monotonic() > deadline:
                raise DemoError(f"no service {self._life.service_name}: see the controller's log")
            self._idle()
        self._change_controller("configure")
        while not (
            heard
            and all(client.service_is_ready() for client in self._clients)
            and self._trajectory.get_subscription_count()
        ):
            heard = heard or bool(take_waiting(self._subscriptions[0]))
            if time.monotonic() > deadline:
                topic = self._subscriptions[0].topic_name
                what = "not all services are there" if heard else f"no message on {topic}"
                raise DemoError(f"{what} within {_START_DEADLINE:g} s of the start")
            self._idle()

    def _hear_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {item.key: item.value for item in status.values}
            if "following" in values:
                running = values["phase"] == phase_text(Phase.HOLDING)
                self._phase = values["following"] if running else values["phase"]

    def _await_phase(self, phase: Phase) -> None:
        """Wait until the controller says that it is in a phase."""
        deadline = time.monotonic() + _ANSWER_DEADLINE
        while self._phase != following(phase):
            if time.monotonic() > deadline:
                raise DemoError(
                    f"the controller is in phase {self._phase or 'unknown'}, expected "
                    f"{following(phase)}; its log says more"
                )
            self._idle()

    def _send(self, message: JointTrajectory) -> None:
        with held():
            self._trajectory.publish(message)

    def _call(self, client: Client, request: Any) -> Any:
        """Call a service; return its answer, or None if it was carried out and only that lost."""
        question = Question(client, request)
        deadline = time.monotonic() + _ANSWER_DEADLINE
        while (answer := question.answer()) is None:
            if time.monotonic() > deadline:
                raise DemoError(f"no answer of the service {client.service_name}")
            self._idle()
        return answer if answer.success or question.asked == 1 else None

    def _change_controller(self, transition: str) -> None:
        request = ChangeState.Request(transition=Transition(label=transition))
        answer = self._call(self._life, request)
        if answer and not answer.success:
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


def _newest(messages: list[Message]) -> float:
    """Return the stamp of the last joint state [s], 0 if there is none."""
    if not messages:
        return 0.0
    return 1e-9 * Time.from_msg(decode(messages[-1][0], JointState).header.stamp).nanoseconds


def _decode(messages: list[list[Message]], names: Sequence[str], start: int) -> DemoRecording:
    """Turn bytes into arrays, with times since ``start`` [ns].

    A state that a lockstep has repeated is the same to the bit, and counts once.
    """
    states, commands, desired = messages
    states = list({message[0]: message for message in states}.values())
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
