"""The controller node: parameters and messages of ``featherstone_ros.control``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar

import builtin_interfaces.msg
import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros import Dynamics
from featherstone_ros.control.feedforward import Following, Phase, TorqueController, set_point
from featherstone_ros.control.loaded_model import MODEL_NAMES, loaded_model
from featherstone_ros.control.motion import Motion
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.state import start_delay
from featherstone_ros.control.trajectory import Point, Trajectory, TrajectoryError
from featherstone_ros.errors import FeatherstoneError, MessageError
from featherstone_ros.model import Model
from featherstone_ros.nodes import realtime_path
from featherstone_ros.nodes.control_cycle import ControlCycle, Deadline, Outputs, Stamp
from featherstone_ros.nodes.controller_settings import (
    DEADLINE_NAMES,
    SETTINGS,
    DeadlineAction,
    control_settings,
    joint_settings,
    joint_space,
)
from featherstone_ros.nodes.diagnostics import ERROR, OK, WARN, Report, Rivals
from featherstone_ros.nodes.lifecycle import LOG_INTERVAL, ModelNode
from featherstone_ros.nodes.messages import decode
from featherstone_ros.nodes.own_wait_set import HotGroup
from featherstone_ros.nodes.parameters import Commit, Setting, Value
from featherstone_ros.preflight.arrival import Preflight, check_arrival
from featherstone_ros.text import plain

Result = TypeVar("Result")

RELIABLE = QoSProfile(depth=10)
# Short, since what waits is delay; long enough that of states that come in bursts none is lost.
BRIEF = QoSProfile(depth=4, reliability=ReliabilityPolicy.BEST_EFFORT)
SHOW_REFUSAL = 3.0  # [s] that a refused message keeps the diagnostics at WARN


class FeedforwardController(ModelNode):
    """Answers joint states with torques.

    Commands go on after ``deactivate`` until the arm is in a gravity hold and ``give_up_after`` is
    over; that is why their publisher is not a lifecycle publisher.
    """

    def __init__(self) -> None:
        """Declare the parameters."""
        self._loop: realtime_path.Loop | None = None  # while configured
        super().__init__("feedforward_controller", (*SETTINGS, *realtime_path.SETTINGS))

    def joint_settings(self, model: Model) -> Iterable[Setting]:
        """Return gains, damping, friction, armature and torque rate of every joint."""
        return joint_settings(model)

    # Lifecycle.

    def configure(self) -> None:
        """Make the controller and its topics; it answers nothing yet."""
        model = self.model
        settings = control_settings(self.parameters, model)
        self._settings = settings
        loaded = loaded_model(self.parameters, model)
        self._space = joint_space(model)
        self._controller = TorqueController(self._space, Dynamics(loaded), settings, self._notify)
        self._inspected = Dynamics(loaded)  # for the executor's thread
        self._preflight = ""  # of the last trajectory accepted, if it asks for too much
        self._refused: Counter[str] = Counter()
        self._refusal, self._refused_at = "", -SHOW_REFUSAL
        self._rivals = Rivals(self)
        self._complained_at = -LOG_INTERVAL
        self._make_publishers()
        self._cycle = ControlCycle(
            self._controller,
            model.joint_names,
            Outputs(
                self._commands.publish,
                self._desired.publish,
                self._error.publish,
                self._is_watched,
            ),
            settings.period,
            1.0 / float(self.parameters["state_publish_rate"]),
            self.get_clock(),
            self._refuse_state,
        )
        self._cycle.deadline = self._deadline(self.parameters)
        self._make_inputs()
        self._warn_of_odd_settings(model)
        self._loop.start()

    def _make_publishers(self) -> None:
        self._commands = self.create_publisher(Float64MultiArray, "~/commands", RELIABLE)
        self._desired = self.create_publisher(JointState, "~/desired", RELIABLE)
        self._error = self.create_publisher(JointState, "~/error", RELIABLE)

    def _is_watched(self) -> bool:
        """Tell whether anybody listens to what the controller says about its motion."""
        publishers = (self._desired, self._error)
        return any(publisher.get_subscription_count() for publisher in publishers)

    def _make_inputs(self) -> None:
        group = HotGroup()
        self._states = self.create_subscription(
            JointState,
            "joint_states",
            self._cycle.take_state,
            BRIEF,
            callback_group=group,
            raw=True,
        )
        self._inputs = [
            self._states,
            *(
                self.create_subscription(
                    kind, f"~/{topic}", self._guard(topic, kind, callback), qos, raw=True
                )
                for kind, topic, callback, qos in (
                    (JointTrajectory, "joint_trajectory", self._on_trajectory, RELIABLE),
                    (JointTrajectoryPoint, "reference", self._on_reference, BRIEF),
                )
            ),
        ]
        self._hold = self.create_service(Trigger, "~/hold", self._on_hold)
        self._loop = realtime_path.make_loop(self, self._cycle, group, [self._states])

    def _warn_of_odd_settings(self, model: Model) -> None:
        settings = control_settings(self.parameters, model)
        if settings.mode is not Mode.GRAVITY_COMPENSATION and not settings.p.any():
            self.get_logger().warning("all gains.<joint>.p are 0: nothing corrects an error")
        for joint in np.array(model.joint_names)[settings.effort_limit == 0.0]:
            self.get_logger().warning(f"{joint} cannot be driven: its effort limit is 0")

    def activate(self) -> None:
        """Answer the next joint state."""
        if self._loop.failed:
            raise FeatherstoneError("the loop has failed; clean up and configure first")
        self._loop.apply(lambda: self._controller.activate(monotonic()))

    def deactivate(self) -> None:
        """Let the commands decay to the gravity hold and end."""
        self._loop.apply(lambda: self._controller.deactivate(monotonic()))

    def cleanup(self) -> None:
        """Destroy the topics."""
        self.halt()
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        for publisher in (self._commands, self._desired, self._error):
            self.destroy_publisher(publisher)
        self.destroy_service(self._hold)

    def halt(self) -> None:
        """Stop the loop."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def stop(self) -> None:
        """Before the process ends, lead the arm into the gravity hold."""
        if self.state_label == "active" and self._controller.phase is Phase.RUNNING:
            end = monotonic() + float(self.parameters["decay_time"])
            self.trigger_deactivate()
            while monotonic() < end and self.executor.context.ok():
                self.executor.spin_once(timeout_sec=max(end - monotonic(), 0.0))
        super().stop()

    # Parameters.

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Prepare the controller for new settings; nothing of them may be wrong."""
        settings = control_settings(values, self.model)
        self._controller.check(settings)
        loaded = None
        if any(values[name] != self.parameters[name] for name in MODEL_NAMES):
            loaded = loaded_model(values, self.model)
        dynamics = loaded and Dynamics(loaded)
        deadline = None
        if any(values[name] != self.parameters[name] for name in DEADLINE_NAMES):
            deadline = self._deadline(values)

        def take() -> None:
            if deadline is not None:
                self._cycle.deadline = deadline
            try:
                self._controller.configure(settings)
            except ValueError as error:  # commands have begun since the check
                self._notify(f"parameters not in effect: {error}")
            if dynamics is not None:
                transition_time = float(values["payload.transition_time"])
                self._controller.change_model(dynamics, transition_time)

        def commit() -> None:
            self._settings = settings
            if loaded is not None:
                self._inspected = Dynamics(loaded)
            self._loop.apply(take)

        return commit

    def _deadline(self, values: Mapping[str, Value]) -> Deadline:
        return Deadline(
            float(values["deadline.cycle_time"]),
            int(values["deadline.allowed"]),
            values["deadline.action"] == str(DeadlineAction.HOLD),
            self._notify,
        )

    # From the loop's thread.

    def _notify(self, text: str) -> None:
        self.defer(lambda: self.get_logger().warning(text))

    def _refuse_state(self, error: MessageError) -> None:
        """Count a refused joint state."""
        self._note_refusal("joint_states", error)
        if self._refused_at - self._complained_at >= LOG_INTERVAL:
            self._complained_at = self._refused_at
            self._notify(f"refused a message on {self._refusal}")

    # Requests.

    def _guard(
        self, topic: str, kind: type, callback: Callable[[Any], None]
    ) -> Callable[[bytes], None]:
        """Return the callback of a raw subscription: what another one refuses is reported."""

        def take(message: bytes) -> None:
            try:
                callback(decode(kind, message))
            except (MessageError, TrajectoryError) as error:
                self._refuse_request(topic, error)

        return take

    def _on_trajectory(self, message: JointTrajectory) -> None:
        points = [
            Point(
                seconds(point.time_from_start),
                point.positions,
                point.velocities,
                point.accelerations,
                point.effort,
            )
            for point in message.points
        ]
        trajectory = Trajectory(
            message.joint_names, points, self._space, self._settings.allow_moving_end
        )
        prospect, stamp = self._ask(lambda: (self._controller.prospect(), self._cycle.stamp))
        delay = self._delay(message.header.stamp, stamp)
        start = prospect.check(trajectory, delay, self._inspect)
        self._ask(lambda: self._controller.follow(trajectory, start))
        self.get_logger().info(f"trajectory of {len(points)} points, {points[-1].time:.3f} s")

    def _ask(self, action: Callable[[], Result]) -> Result:
        """Have the loop do something.

        Raises:
            TrajectoryError: As ``action`` does, or the loop has no time for it.
        """
        try:
            return self._loop.call(action)
        except TimeoutError as error:
            raise TrajectoryError(f"the loop is too busy: {error}") from None

    def _inspect(self, motion: Motion, begin: float) -> None:
        """Look whether the arm can follow, if the parameter says so.

        Raises:
            TrajectoryError: It cannot, and the parameter says to refuse that.
        """
        preflight = self.parameters["preflight"]
        if preflight == Preflight.OFF:
            self._preflight = ""
            return
        verdict = check_arrival(self._inspected, self.model, self._settings, motion, begin)
        if preflight == Preflight.REJECT and not verdict.fits:
            raise TrajectoryError(f"the arm cannot follow: {verdict}")
        self._preflight = "" if verdict.fits else str(verdict)
        if self._preflight:
            self.get_logger().warning(f"the arm cannot follow the trajectory: {verdict}")

    def _delay(self, stamp: builtin_interfaces.msg.Time, state: Stamp) -> float | None:
        """Return the time from the last joint state to a stamp [s], None for stamp 0."""
        start = seconds(stamp)
        if start == 0.0:
            return None
        now = self.get_clock().now().nanoseconds * 1e-9
        return start_delay(start, seconds(state), now)

    def _on_reference(self, message: JointTrajectoryPoint) -> None:
        point = Point(
            0.0, message.positions, message.velocities, message.accelerations, message.effort
        )
        knot = set_point(point, self._space)
        self._ask(lambda: self._controller.follow_reference(monotonic(), knot))

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._ask(self._controller.hold)
        except TrajectoryError as error:
            response.success, response.message = False, str(error)
            return response
        response.success, response.message = True, "stopping and holding"
        return response

    def _refuse_request(self, what: str, error: FeatherstoneError) -> None:
        self._note_refusal(what, error)
        self.get_logger().error(
            f"refused a message on ~/{self._refusal}", throttle_duration_sec=LOG_INTERVAL
        )
        self.publish_diagnostics()

    def _note_refusal(self, topic: str, error: Exception) -> None:
        self._refused[topic] += 1
        self._refusal, self._refused_at = f"{topic}: {plain(str(error))}", monotonic()

    # What is published about it.

    def diagnose(self) -> Report:
        """Return what the controller does and what it does not like."""
        controller = self._controller
        publishers = self.get_publishers_info_by_topic(self._states.topic_name)
        commanders = self.count_publishers(self._commands.topic_name)
        lost = self._lost()
        rivals = self._rivals.among(
            {"on joint_states": len(publishers), f"on {self._commands.topic_name}": commanders}
        )
        level, text = self._condition(rivals, bool(lost))
        values = {
            "mode": self.parameters["mode"],
            "phase": controller.phase,
            "following": controller.following,
            "age of the joint state [s]": f"{monotonic() - controller.gate.received:.3f}",
            "joint states accepted": controller.gate.accepted,
            **{f"joint states refused, {k}": n for k, n in controller.gate.refused.items()},
            **{f"messages refused on {topic}": n for topic, n in self._refused.items()},
            "last refusal": self._refusal,
            "publishers on joint_states": ", ".join(
                f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in publishers
            ),
            **{f"effort limit of {joint}": what for joint, what in lost.items()},
            **self._cycle.timing.report(),
            "commands saturated": controller.saturated,
            "governor interventions": controller.interventions,
            "scheduling": self._loop.scheduling,
        }
        return Report(level, text, values)

    def _lost(self) -> dict[str, str]:
        """Return what the effort limits take, unless the loop has no time to say."""
        try:
            return self._loop.call(self._controller.lost)
        except TimeoutError:
            return {}

    def _condition(self, rivals: Sequence[str], saturated: bool) -> tuple[bytes, str]:
        phase = self._controller.phase
        if phase is Phase.HOLDING:
            return ERROR, f"{self._controller.hold_reason}: gravity hold"
        if self._controller.gave_up:
            return ERROR, f"{self._controller.hold_reason}: no commands, waiting for joint states"
        if phase is Phase.WAITING:
            return WARN, "waiting for joint states"
        problems = [*rivals]
        if self._cycle.deadline.is_missed:
            problems.append("commands come too late, see deadline.cycle_time")
        if saturated:
            problems.append("effort limits reached")
        if self._preflight and self._controller.following is Following.TRAJECTORY:
            problems.append(f"the arm cannot follow the trajectory: {self._preflight}")
        if monotonic() - self._refused_at < SHOW_REFUSAL:
            problems.append(f"refused {self._refusal}")
        if problems:
            return WARN, "; ".join(problems)
        return OK, f"{phase}: {self._controller.following}"


def seconds(
    time: builtin_interfaces.msg.Time | builtin_interfaces.msg.Duration | Stamp,
) -> float:
    """Return a message's time in seconds, whatever its fields hold."""
    return time.sec + 1e-9 * time.nanosec
