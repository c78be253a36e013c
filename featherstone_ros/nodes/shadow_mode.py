"""Mode ``shadow`` of the digital twin: topics of ``featherstone_ros.observer``.

The loop's thread takes messages without the interpreter, but what it does with them is Python:
states that come meanwhile wait, and none is lost, as long as the interpreter is busy for less than
``BEST_EFFORT``'s depth of them.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping
from functools import partial
from threading import Lock
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from featherstone_ros._cdr import Float64MultiArrayDecoder, JointStateDecoder
from featherstone_ros._loop import TOO_LARGE_RECORD, PythonCycle
from featherstone_ros.errors import FeatherstoneError, MalformedMessageError, MessageError
from featherstone_ros.model import Model
from featherstone_ros.nodes import payload_service, realtime_loop, realtime_path
from featherstone_ros.nodes.diagnostics import ERROR, WARN, Report
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.messages import joint_state
from featherstone_ros.nodes.parameters import Commit, Setting, Value, default_of, number, per_joint
from featherstone_ros.nodes.refusals import Refusals
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.observer.effort_contract import CONTRACTS
from featherstone_ros.observer.settings import EFFORT_SOURCES, default_threshold
from featherstone_ros.observer.shadow import Prediction, Residual
from featherstone_ros.observer.timeline import NANOSECONDS
from featherstone_ros.observer.verdict import ContractState, ContractVerdict

QUEUE = QoSProfile(depth=10)  # reliable
BEST_EFFORT = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
TOPICS = ("joint_states", "~/commands")
RESTART_MEMORY = 10.0  # [s] that the diagnostics warn of a lost thread

SETTINGS = (
    Setting(
        "prediction_horizon",
        ShadowSettings.prediction_horizon,
        "how far ahead of the measured state ~/predicted_joint_states is [s]",
        0.0,
        1.0,
    ),
    Setting(
        "prediction_effort",
        ShadowSettings.prediction_effort,
        "torque assumed until then: measured, or the last one on ~/commands",
        choices=EFFORT_SOURCES,
    ),
    Setting(
        "effort_contract",
        ShadowSettings.effort_contract,
        "what the effort in joint_states is: the joint torque, or that without what the drives "
        "add against gravity, or without friction (a sensor behind the gears), or motor current",
        choices=CONTRACTS,
    ),
    Setting(
        "sliding_speed",
        ShadowSettings.sliding_speed,
        "speed at which Coulomb friction is taken to act in full [rad/s or m/s]",
        1e-6,
        1.0,
    ),
    Setting("wrench_link", "", "link with the external wrench; empty: that of the last joint"),
    Setting(
        "wrench_damping",
        ShadowSettings.wrench_damping,
        "of the pseudo-inverse of the Jacobian: singular values below it are not trusted",
        1e-6,
        1.0,
    ),
    Setting(
        "max_gap",
        ShadowSettings.max_gap,
        "longest time between joint states that follow on each other [s]; then start anew",
        1e-3,
        10.0,
    ),
    *payload_service.SETTINGS,
)


def joint_settings(model: Model) -> Iterable[Setting]:
    """Return the observer's gain, the effort's gain and the contact threshold of every joint."""
    for joint, threshold in zip(model.joint_names, default_threshold(model), strict=True):
        yield from (
            Setting(
                f"observer_gain.{joint}",
                default_of(ShadowSettings.observer_gain),
                "of the momentum observer [1/s]: the inverse of its time constant",
                0.1,
                1000.0,
            ),
            Setting(
                f"effort_gain.{joint}",
                default_of(ShadowSettings.effort_gain),
                "joint torque per unit of effort, under effort_contract motor_current",
                check=nonzero,
            ),
            Setting(
                f"contact.{joint}.threshold",
                float(threshold),
                "external torque above which there is contact [N m or N]",
                0.0,
            ),
            Setting(
                f"contact.{joint}.hysteresis",
                default_of(ShadowSettings.contact_hysteresis),
                "share of the threshold by which the torque must fall below it to end a contact",
                0.0,
                1.0,
            ),
        )


def nonzero(value: float) -> str | None:
    """Say why a gain is refused."""
    return None if value else "expected a gain other than 0"


class ShadowMode:
    """Listens to an arm's joint states and tells what the model does not explain.

    Nothing is published on a topic that nobody listens to: it would cost a fifth of the time.
    """

    def __init__(self, node: ModelNode) -> None:
        """Make the shadow and the topics it publishes on; the node has a model.

        Raises:
            ValueError: Parameters that do not fit the model.
        """
        self._node = node
        model = node.model
        self._shadow = Shadow(model, shadow_settings(node.parameters, model))
        self._lock = Lock()  # of the shadow: settings come in the executor's thread
        self._joints = JointStateDecoder(model.joint_names)
        self._torques = Float64MultiArrayDecoder(None)
        self._loop: realtime_loop.Loop | None = None
        self._names = frozenset(model.joint_names)
        self._refusals = Refusals(node)
        self._states = self._unstamped = 0
        self._received = self._activated = self._now()
        self._lost_thread, self._lost_time = "", -RESTART_MEMORY
        self._predicted, *self._predicted_values = joint_state(model.joint_names)
        self._residual, *self._residual_values = joint_state(model.joint_names)
        self._wrench = WrenchStamped()
        self._payload = payload_service.PayloadService(node)
        self._publishers = {
            topic: node.create_publisher(kind, f"~/{topic}", QUEUE)
            for kind, topic in (
                (JointState, "predicted_joint_states"),
                (JointState, "residual"),
                (WrenchStamped, "external_wrench_estimate"),
                (Bool, "contact"),
            )
        }

    # Lifecycle.

    def activate(self) -> None:
        """Listen."""
        node, group = self._node, realtime_loop.DetachedGroup()
        self._activated = self._now()
        self._shadow.restart()
        self._subscriptions_made = [
            node.create_subscription(
                kind, topic, realtime_loop.ignore, BEST_EFFORT, callback_group=group, raw=True
            )
            for kind, topic in zip((JointState, Float64MultiArray), TOPICS, strict=True)
        ]
        self._loop = realtime_loop.make_loop(
            node,
            PythonCycle(self._take, self._fail),
            group,
            self._subscriptions_made,
            [],
            self._deliver,
            scheduling=realtime_path.scheduling(node.parameters),
            in_thread=node.parameters["realtime.path"] != realtime_path.EXECUTOR,
        )
        self._loop.start()

    def deactivate(self) -> None:
        """Stop listening."""
        self.halt()
        for subscription in self._subscriptions_made:
            self._node.destroy_subscription(subscription)

    def halt(self) -> None:
        """End the threads."""
        self._payload.stop()
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    @property
    def _running(self) -> realtime_loop.Loop:
        """The loop: there is one while the mode is active."""
        if self._loop is None:
            raise RuntimeError("the loop is not running")
        return self._loop

    def cleanup(self) -> None:
        """Stop publishing."""
        self._payload.destroy()
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Prepare the shadow for new settings; its observer starts anew."""
        apply = self._shadow.prepare(shadow_settings(values, self._node.model))

        def take() -> None:
            with self._lock:
                apply()

        return take

    def _now(self) -> float:
        """Real time by the steady clock [s]."""
        return self._node.steady_clock.now().nanoseconds * 1e-9

    # Messages, in the loop's thread.

    def _take(self, topic: int, message: bytes) -> None:
        try:
            with self._lock:
                (self._on_state, self._on_commands)[topic](message)
        except (FeatherstoneError, ValueError) as error:
            self._refusals.refuse(TOPICS[topic], error)

    def _fail(self, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))
        self._node.defer(lambda: self._node.give_up(f"unexpected exception in the loop:\n{text}"))

    def _on_state(self, message: bytes) -> None:
        state = self._joints
        try:
            state.decode(message)
        except MalformedMessageError:
            raise
        except MessageError:
            if self._names.isdisjoint(state.names):
                return  # of a gripper or another arm
            raise
        q, qd, effort = state.position, state.velocity, state.effort
        if not (state.has_velocity and state.has_effort):
            missing = "effort" if state.has_velocity else "velocity"
            raise MessageError(f"{missing} is empty, expected {len(q)} values and more")
        time = self._time_of(state.sec, state.nanosec)
        update = self._shadow.update(time, q, qd, effort)
        if update is None:
            return
        self._states += 1
        self._received = self._now()
        if self._payload.searching:
            self._payload.feed(time, q, qd, self._shadow.torque(q, qd, effort))
        if update.lost_thread:
            self._report_lost_thread(update.lost_thread)
        if update.residual is not None:
            self._publish_residual(update.residual, time)
        if update.prediction is not None:
            self._publish_prediction(update.prediction, time)
        if update.verdict is not None:
            self._report_verdict(update.verdict)

    def _time_of(self, sec: int, nanosec: int) -> int:
        """Return when a state was measured [ns]: its stamp, or its arrival if stamps stay 0.

        A single 0 may be the beginning of a simulation or a recording.
        """
        time = sec * NANOSECONDS + nanosec
        self._unstamped = 0 if time else self._unstamped + 1
        if self._unstamped < 2:
            return time
        if self._unstamped == 2:
            self._shadow.restart()
        return self._node.get_clock().now().nanoseconds

    def _on_commands(self, message: bytes) -> None:
        self._torques.decode(message)
        self._shadow.command(self._torques.values)

    def _publish_prediction(self, prediction: Prediction, time: int) -> None:
        horizon = round(self._shadow.settings.prediction_horizon * NANOSECONDS)
        self._predicted.header.stamp = stamp_of(time + horizon)
        position, velocity, effort = self._predicted_values
        position[:], velocity[:] = prediction.position, prediction.velocity
        effort[:] = prediction.torque
        self._publish("predicted_joint_states", self._predicted)

    def _publish_residual(self, residual: Residual, time: int) -> None:
        stamp = stamp_of(time)
        position, velocity, effort = self._residual_values
        position[:], velocity[:], effort[:] = residual.position, residual.velocity, residual.torque
        self._residual.header.stamp = stamp
        self._publish("residual", self._residual)
        header, wrench = self._wrench.header, self._wrench.wrench
        header.stamp, header.frame_id = stamp, self._shadow.wrench_link
        figures = residual.wrench.tolist()
        wrench.force.x, wrench.force.y, wrench.force.z = figures[:3]
        wrench.torque.x, wrench.torque.y, wrench.torque.z = figures[3:]
        self._publish("external_wrench_estimate", self._wrench)
        self._publish("contact", Bool(data=residual.contact))

    def _publish(self, topic: str, message: Any) -> None:
        publisher = self._publishers[topic]
        if publisher.get_subscription_count():
            publisher.publish(message)

    # What is said of it, in the executor's thread.

    def _deliver(self, records: list[realtime_loop.Record]) -> None:
        for kind, index, _, value, _ in records:
            if kind == TOO_LARGE_RECORD:
                self._refusals.refuse(TOPICS[index], realtime_loop.too_large(value[0]))

    def _report_lost_thread(self, reason: str) -> None:
        self._lost_thread, self._lost_time = reason, self._now()
        self._node.defer(lambda: self._node.log.warning(f"{reason}: the observer starts anew"))

    def _report_verdict(self, verdict: ContractVerdict) -> None:
        def tell() -> None:
            log = self._node.get_logger()
            if verdict.finding is ContractState.BROKEN:
                log.error(verdict.text)
            elif verdict.finding is ContractState.UNEXPLAINED:
                log.warning(verdict.text)
            else:
                log.info(verdict.text)
            self._node.publish_diagnostics()

        self._node.defer(tell)

    def diagnose(self) -> Report:
        """Return the effort contract's checks, contact, gaps and refused messages."""
        shadow, now = self._shadow, self._now()
        verdict = shadow.verdict
        in_contact = [
            name
            for name, feels in zip(shadow.model.joint_names, shadow.contact.joints, strict=True)
            if feels
        ]
        values = {
            "joint states": self._states,
            **{f"{reason} joint states": count for reason, count in shadow.passed_over.items()},
            "restarts": shadow.restarts,
            "last reason": self._lost_thread or "none",
            "effort contract": verdict.text,
            "contact at": ", ".join(in_contact) or "none",
            "payload": self._payload.text,
            "joint states lost": self._running.runner.counters()["lost"],
            "scheduling": self._running.scheduling,
            **self._refusals.values,
        }
        problems = list(self._refusals.recent)
        silence = now - max(self._received, self._activated)
        if silence > max(1.0, shadow.settings.max_gap):
            problems.append(f"no new joint state for {silence:.1f} s")
        elif now - self._lost_time < RESTART_MEMORY:
            problems.append(f"{self._lost_thread}: the observer has started anew")
        if verdict.finding is ContractState.BROKEN:
            return Report(ERROR, "; ".join([verdict.text, *problems]), values)
        if verdict.finding is ContractState.UNEXPLAINED:
            problems.insert(0, verdict.text)
        if problems:
            return Report(WARN, "; ".join(problems), values)
        return Report(values=values)


def stamp_of(time: int) -> Time:
    """Return a time [ns] as message."""
    return Time(sec=time // NANOSECONDS, nanosec=time % NANOSECONDS)


def shadow_settings(values: Mapping[str, Value], model: Model) -> ShadowSettings:
    """Return a shadow's settings from the node's parameters."""
    of_joints = partial(per_joint, values, joints=model.joint_names)
    return ShadowSettings(
        prediction_horizon=number(values, "prediction_horizon"),
        prediction_effort=str(values["prediction_effort"]),
        time_step=number(values, "time_step"),
        integrator=str(values["integrator"]),
        viscous=of_joints("friction.{}.viscous"),
        coulomb=of_joints("friction.{}.coulomb"),
        offset=of_joints("friction.{}.offset"),
        armature=of_joints("armature.{}"),
        sliding_speed=number(values, "sliding_speed"),
        observer_gain=of_joints("observer_gain.{}"),
        effort_contract=str(values["effort_contract"]),
        effort_gain=of_joints("effort_gain.{}"),
        wrench_link=str(values["wrench_link"]),
        wrench_damping=number(values, "wrench_damping"),
        contact_threshold=of_joints("contact.{}.threshold"),
        contact_hysteresis=of_joints("contact.{}.hysteresis"),
        max_gap=number(values, "max_gap"),
    )
