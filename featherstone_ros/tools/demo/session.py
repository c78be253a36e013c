"""The ROS half of the demo: sends the motion, sets parameters, records messages.

Recording leaves the processor to the nodes: messages wait in the middleware's queues, are taken out
as bytes now and then, and are decoded after the run. Their time stamps are the middleware's.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.client import Client
from rclpy.qos import ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.arrays import Floats
from featherstone_ros.control.diagnostics import following, phase_text
from featherstone_ros.control.phases import Phase
from featherstone_ros.model.parameter_files import CONTROLLER, TWIN
from featherstone_ros.nodes.qos import AHEAD
from featherstone_ros.tools.demo.measure import DemoRecording
from featherstone_ros.tools.diagnostics_listener import DiagnosticsListener
from featherstone_ros.tools.multi_sine import POINT_SPACING, MultiSine
from featherstone_ros.tools.processes import ProcessError
from featherstone_ros.tools.rclpy_calls import Question, decode, take_waiting
from featherstone_ros.tools.signals import held
from featherstone_ros.tools.trajectory_files import from_arrays, to_message

_QUEUE = AHEAD.depth  # messages that may wait between two looks at them
POLL_PERIOD = 0.02  # [s] between two looks at them in real time
_STANDSTILL = 20.0  # [s] without a joint state
_LATE = 5.0  # [s] for which desired positions may still come after the states of a motion
_BREATH = 0.002  # [s] in simulated time
_SETTLING = 0.5  # [s] in which the controller takes the arm over
LEAD = 1.0  # [s] from sending a trajectory to its start: time to go there and come to rest

Message = tuple[bytes, int, int]  # serialized, sent and received [ns]


class DemoNode(DiagnosticsListener):
    """One node that talks to twin and controller in the demo's namespace; a context manager."""

    def __init__(
        self, namespace: str, domain: int, watch: Callable[[], None], simulated: bool
    ) -> None:
        """Join the domain.

        ``simulated``: time is: no message is to be lost, whatever that costs the nodes.
        """
        self._watch, self._simulated = watch, simulated
        self._controller = f"{namespace}/{CONTROLLER}"
        reliability = (ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE)[simulated]
        with held(until_next=True):
            super().__init__("demo", namespace, domain)
            self._subscriptions = [
                self.queue(kind, topic, _QUEUE, reliability)
                for kind, topic in (
                    (JointState, "joint_states"),
                    (Float64MultiArray, f"{CONTROLLER}/commands"),
                    (JointState, f"{CONTROLLER}/desired"),
                )
            ]
            self._trajectory = self.node.create_publisher(
                JointTrajectory, f"{CONTROLLER}/joint_trajectory", 1
            )
            self._life, self._pause = (
                self.node.create_client(kind, name)
                for kind, name in (
                    (ChangeState, f"{CONTROLLER}/change_state"),
                    (SetBool, f"{TWIN}/pause"),
                )
            )

    def take_arm_over(self) -> None:
        """Have the controller hold the arm; in simulated time, while that stands.

        What the arm does from then on depends on the messages alone, not on when they come.
        """
        states, *_ = self._subscriptions
        self._change_controller("configure")
        self._await(lambda: take_waiting(states), f"message on {states.topic_name}")
        self._await(self._trajectory.get_subscription_count, "listener to trajectories")
        if self._simulated:
            self._call(self._pause, SetBool.Request(data=True))
        self._change_controller("activate")
        self._await_phase(Phase.HOLDING)
        if not self._simulated:
            self.spin(_SETTLING)

    def drive(
        self, names: Sequence[str], motion: MultiSine, progress: Callable[[float], None]
    ) -> DemoRecording:
        """Send the motion, in simulated time while that stands; record until it is over.

        ``motion``: what to follow; starts ``LEAD`` seconds after the call. ``progress``: called
        with the time since the call [s]. Returns the messages, joints in the order of ``names``.
        """
        begin = 0 if self._simulated else self.node.get_clock().now().nanoseconds
        start = begin + round(1e9 * LEAD)
        message = trajectory_message(names, motion, Time(nanoseconds=start))
        with held():
            self._trajectory.publish(message)
        messages: list[list[Message]] = [[] for _ in self._subscriptions]
        if self._simulated:
            self._await_phase(Phase.TRAJECTORY)
            self._collect([[] for _ in messages])  # those of before
            self._call(self._pause, SetBool.Request(data=False))
        states, _, desired = messages
        now, end = 0.0, LEAD + motion.duration
        deadline = time.monotonic() + _STANDSTILL
        while now < end or _newest(desired, begin) < end:
            self._watch()
            self._collect(messages)
            if now < min(heard := _newest(states, begin), end):
                now = heard
                deadline = time.monotonic() + (_STANDSTILL if now < end else _LATE)
            if time.monotonic() > deadline:
                if now >= end:
                    break  # what has not come is lost; the run is judged by the rest
                raise ProcessError(f"no joint state after {now:.3f} s; the nodes' logs say why")
            progress(now)
            time.sleep(_BREATH if self._simulated else POLL_PERIOD)
        return _decode(messages, names, start)

    def _await_phase(self, phase: Phase) -> None:
        """Wait until the controller says that it is in a phase."""
        said = {
            "phase": phase_text(Phase.HOLDING),  # of all that it runs in
            "following": following(phase),
        }

        def is_there() -> bool:
            status = self.status_of(self._controller)
            return status is not None and said.items() <= status.values.items()

        self._await(is_there, f"controller that follows {following(phase)!r}")

    def _call(self, client: Client, request: Any) -> Any:
        """Call a service; return its answer, or None if it was carried out and only that lost."""
        self._await(client.service_is_ready, f"service {client.service_name}")
        question = Question(client, request)
        answer = self._await(question.answer, f"answer of {client.service_name}")
        return answer if answer.success or question.asked == 1 else None

    def _change_controller(self, transition: str) -> None:
        request = ChangeState.Request(transition=Transition(label=transition))
        answer = self._call(self._life, request)
        if answer and not answer.success:
            raise ProcessError(f"the controller refused to {transition}; its log says why")

    def _await(self, condition: Callable[[], Any], what: str) -> Any:
        return self.until(condition, what, lambda _: self._watch())

    def _collect(self, messages: list[list[Message]]) -> None:
        for subscription, taken in zip(self._subscriptions, messages, strict=True):
            taken.extend(
                (data, info["source_timestamp"], info["received_timestamp"])
                for data, info in take_waiting(subscription)
            )


def trajectory_message(names: Sequence[str], motion: MultiSine, start: Time) -> JointTrajectory:
    """Return a motion as the controller takes it; a start at time 0 is now."""
    message = to_message(from_arrays(names, *motion.samples(POINT_SPACING)))
    message.header.stamp = start.to_msg()
    return message


def _newest(messages: list[Message], begin: int) -> float:
    """Return the last stamp of joint states since ``begin`` [ns], in seconds; 0: there is none."""
    if not messages:
        return 0.0
    stamp = decode(messages[-1][0], JointState).header.stamp
    return 1e-9 * (Time.from_msg(stamp).nanoseconds - begin)


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
