"""The controller node: parameters and messages of ``featherstone_ros.control``."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from time import monotonic

import builtin_interfaces.msg
import numpy as np
from numpy.typing import NDArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros import Dynamics
from featherstone_ros.control.feedforward import Following, Phase, TorqueController
from featherstone_ros.control.loaded_model import MODEL_NAMES, loaded_model
from featherstone_ros.control.motion import Motion
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.state import start_delay
from featherstone_ros.control.trajectory import Point, TrajectoryError
from featherstone_ros.model import Model
from featherstone_ros.nodes.controller_settings import (
    SETTINGS,
    control_settings,
    joint_settings,
    joint_space,
)
from featherstone_ros.nodes.diagnostics import ERROR, OK, WARN, Report
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.messages import JointMap, MessageError, joint_state
from featherstone_ros.nodes.parameters import Commit, Setting, Value
from featherstone_ros.preflight.arrival import Preflight, check_arrival

RELIABLE = QoSProfile(depth=10)
# Short, since what waits is delay; long enough that of states that come in bursts none is lost.
BRIEF = QoSProfile(depth=4, reliability=ReliabilityPolicy.BEST_EFFORT)
LOG_INTERVAL = 5.0  # [s] between two equal complaints in the log
SHOW_REFUSAL = 3.0  # [s] that a refused message keeps the diagnostics at WARN


class FeedforwardController(ModelNode):
    """Answers joint states with torques.

    Commands go on after ``deactivate`` until the arm is in a gravity hold and ``give_up_after`` is
    over; that is why their publisher is not a lifecycle publisher.
    """

    def __init__(self) -> None:
        """Declare the parameters."""
        super().__init__("feedforward_controller", SETTINGS)

    def joint_settings(self, model: Model) -> Iterable[Setting]:
        """Return gains, damping, friction, armature and torque rate of every joint."""
        return joint_settings(model)

    # Lifecycle.

    def configure(self) -> None:
        """Make the controller and its topics; it answers nothing yet."""
        model = self.model
        settings = control_settings(self.parameters, model)
        self._settings = settings
        self._dynamics = Dynamics(loaded_model(self.parameters, model))
        self._controller = TorqueController(
            joint_space(model), self._dynamics, settings, self.get_logger().warning
        )
        self._preflight = ""  # of the last trajectory accepted, if it asks for too much
        self._joints = JointMap(model.joint_names)
        self._names = frozenset(model.joint_names)
        self._stamp = builtin_interfaces.msg.Time()  # of the last accepted state
        self._refused: Counter[str] = Counter()
        self._refusal, self._refused_at = "", -SHOW_REFUSAL
        self._cycles = Cycles()
        self._make_publishers(model)
        self._make_inputs()
        self._watches = [
            self.create_timer(settings.period, self._on_timer, self.fast_lane, self.steady_clock),
            self.create_timer(
                1.0 / float(self.parameters["state_publish_rate"]),
                self._publish_desired,
                clock=self.steady_clock,
            ),
        ]
        self._warn_of_odd_settings(model)

    def _make_publishers(self, model: Model) -> None:
        self._commands = self.create_publisher(Float64MultiArray, "~/commands", RELIABLE)
        self._command = Float64MultiArray(data=array("d", bytes(8 * model.n)))
        self._command_values = np.frombuffer(self._command.data)
        self._desired = self.create_publisher(JointState, "~/desired", RELIABLE)
        self._desired_state = joint_state(model.joint_names)
        self._error = self.create_publisher(JointState, "~/error", RELIABLE)
        self._error_state = joint_state(model.joint_names)

    def _make_inputs(self) -> None:
        lane = self.fast_lane
        self._states = self.create_subscription(
            JointState, "joint_states", self._on_state, BRIEF, callback_group=lane
        )
        self._inputs = [
            self._states,
            self.create_subscription(
                JointTrajectory, "~/joint_trajectory", self._on_trajectory, RELIABLE
            ),
            self.create_subscription(
                JointTrajectoryPoint,
                "~/reference",
                self._on_reference,
                BRIEF,
                callback_group=lane,
            ),
        ]
        self._hold = self.create_service(Trigger, "~/hold", self._on_hold)

    def _warn_of_odd_settings(self, model: Model) -> None:
        settings = control_settings(self.parameters, model)
        if settings.mode is not Mode.GRAVITY_COMPENSATION and not settings.p.any():
            self.get_logger().warning("all gains.<joint>.p are 0: nothing corrects an error")
        for joint in np.array(model.joint_names)[settings.effort_limit == 0.0]:
            self.get_logger().warning(f"{joint} cannot be driven: its effort limit is 0")

    def activate(self) -> None:
        """Answer the next joint state."""
        self._controller.activate(monotonic())
        self.give_way(True)

    def deactivate(self) -> None:
        """Let the commands decay to the gravity hold and end."""
        self._controller.deactivate(monotonic())
        self.give_way(False)

    def cleanup(self) -> None:
        """Destroy the topics."""
        for timer in self._watches:
            self.destroy_timer(timer)
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        for publisher in (self._commands, self._desired, self._error):
            self.destroy_publisher(publisher)
        self.destroy_service(self._hold)

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
        dynamics = None
        if any(values[name] != self.parameters[name] for name in MODEL_NAMES):
            dynamics = Dynamics(loaded_model(values, self.model))

        def commit() -> None:
            self._settings = settings
            self._controller.configure(settings)
            if dynamics is not None:
                self._dynamics = dynamics
                transition_time = float(values["payload.transition_time"])
                self._controller.change_model(dynamics, transition_time)

        return commit

    # The control cycle.

    def _on_state(self, message: JointState) -> None:
        now = monotonic()
        try:
            q, qd, effort = self._joints.state(message)
        except MessageError as error:
            self._refuse_state(message, error)
            return
        stamp = message.header.stamp
        command = self._controller.accept_state(now, q, qd, effort, seconds(stamp))
        if self._controller.gate.received == now:
            self._stamp = stamp
        self._publish(command, now)

    def _on_timer(self) -> None:
        now = monotonic()
        self._publish(self._controller.update(now), now)

    def _publish(self, command: NDArray[np.float64] | None, begun: float) -> None:
        if command is None:
            return
        self._command_values[:] = command
        self._commands.publish(self._command)
        self._cycles.add(monotonic() - begun)

    def _refuse_state(self, message: JointState, error: MessageError) -> None:
        """Count a message that is not a state of this arm; one of other joints alone is normal."""
        if self._names.isdisjoint(message.name):
            return
        self._note_refusal("joint_states", error)
        self.get_logger().warning(
            f"refused a message on {self._refusal}", throttle_duration_sec=LOG_INTERVAL
        )

    # Requests.

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
        try:
            self._controller.set_trajectory(
                message.joint_names, points, self._delay(message.header.stamp), self._inspect
            )
        except TrajectoryError as error:
            self._refuse_request("joint_trajectory", error)
            return
        self.get_logger().info(f"trajectory of {len(points)} points, {points[-1].time:.3f} s")

    def _inspect(self, motion: Motion, begin: float) -> None:
        """Look whether the arm can follow, if the parameter says so.

        Raises:
            TrajectoryError: It cannot, and the parameter says to refuse that.
        """
        preflight = self.parameters["preflight"]
        if preflight == Preflight.OFF:
            self._preflight = ""
            return
        verdict = check_arrival(self._dynamics, self.model, self._settings, motion, begin)
        if preflight == Preflight.REJECT and not verdict.fits:
            raise TrajectoryError(f"the arm cannot follow: {verdict}")
        self._preflight = "" if verdict.fits else str(verdict)
        if self._preflight:
            self.get_logger().warning(f"the arm cannot follow the trajectory: {verdict}")

    def _delay(self, stamp: builtin_interfaces.msg.Time) -> float | None:
        """Return the time from the last joint state to a stamp [s], None for stamp 0."""
        start = seconds(stamp)
        if start == 0.0:
            return None
        now = self.get_clock().now().nanoseconds * 1e-9
        return start_delay(start, seconds(self._stamp), now)

    def _on_reference(self, message: JointTrajectoryPoint) -> None:
        point = Point(
            0.0, message.positions, message.velocities, message.accelerations, message.effort
        )
        try:
            self._controller.set_reference(monotonic(), point)
        except TrajectoryError as error:
            self._refuse_request("reference", error)

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._controller.hold()
        except TrajectoryError as error:
            response.success, response.message = False, str(error)
            return response
        response.success, response.message = True, "stopping and holding"
        return response

    def _refuse_request(self, what: str, error: TrajectoryError) -> None:
        self._note_refusal(what, error)
        self.get_logger().error(
            f"refused a message on ~/{self._refusal}", throttle_duration_sec=LOG_INTERVAL
        )
        self.publish_diagnostics()

    def _note_refusal(self, topic: str, error: Exception) -> None:
        self._refused[topic] += 1
        self._refusal, self._refused_at = f"{topic}: {error}", monotonic()

    # What is published about it.

    def _publish_desired(self) -> None:
        desired = self._controller.desired()
        if desired is None:
            return
        stamped = seconds(self._stamp) != 0.0
        stamp = self._stamp if stamped else self.get_clock().now().to_msg()
        message, position, velocity, effort = self._desired_state
        message.header.stamp = stamp
        position[:], velocity[:], effort[:] = desired.position, desired.velocity, desired.effort
        self._desired.publish(message)
        message, position, velocity, effort = self._error_state
        message.header.stamp = stamp
        position[:], velocity[:] = desired.position_error, desired.velocity_error
        effort[:] = desired.effort_error
        self._error.publish(message)

    def diagnose(self) -> Report:
        """Return what the controller does and what it does not like."""
        controller = self._controller
        publishers = self.get_publishers_info_by_topic(self._states.topic_name)
        lost = controller.lost()
        level, text = self._condition(len(publishers), bool(lost))
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
            **self._cycles.report(),
        }
        return Report(level, text, values)

    def _condition(self, publishers: int, saturated: bool) -> tuple[bytes, str]:
        phase = self._controller.phase
        if phase is Phase.HOLDING:
            return ERROR, "no usable joint states: gravity hold of the last good one"
        if phase is Phase.WAITING:
            return WARN, "waiting for joint states"
        if publishers > 1:
            return WARN, f"{publishers} publishers on joint_states, expected one"
        if monotonic() - self._refused_at < SHOW_REFUSAL:
            return WARN, f"refused {self._refusal}"
        if saturated:
            return WARN, "effort limits reached"
        if self._preflight and self._controller.following is Following.TRAJECTORY:
            return WARN, f"the arm cannot follow the trajectory: {self._preflight}"
        return OK, f"{phase}: {self._controller.following}"


def seconds(time: builtin_interfaces.msg.Time | builtin_interfaces.msg.Duration) -> float:
    """Return a message's time in seconds, whatever its fields hold."""
    return time.sec + 1e-9 * time.nanosec


class Cycles:
    """Counts commands and how long they took since the last report."""

    def __init__(self) -> None:
        """Begin to count."""
        self._since = monotonic()
        self._count = 0
        self._sum = self._longest = 0.0

    def add(self, duration: float) -> None:
        """Count one cycle, from the state's arrival to the command's departure [s]."""
        self._count += 1
        self._sum += duration
        self._longest = max(self._longest, duration)

    def report(self) -> dict[str, str]:
        """Return rate and durations since the last report, and begin anew."""
        elapsed = max(monotonic() - self._since, 1e-9)
        mean = self._sum / self._count if self._count else 0.0
        values = {
            "commands per second": f"{self._count / elapsed:.1f}",
            "cycle, mean [us]": f"{1e6 * mean:.0f}",
            "cycle, longest [us]": f"{1e6 * self._longest:.0f}",
        }
        self.__init__()
        return values
