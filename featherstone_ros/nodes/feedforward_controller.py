"""The controller node: parameters and messages around the compiled torque controller.

From a joint state's bytes to a command's, everything runs in a compiled loop without Python
(cython_core/control, ``realtime_loop``). This node prepares the requests to the loop, and reports
its records.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import compress
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros import Dynamics, _control
from featherstone_ros._core import BoundDynamics
from featherstone_ros._loop import PUBLISH_FAILED_RECORD, TOO_LARGE_RECORD
from featherstone_ros.control import events
from featherstone_ros.control.arrival import ArrivalWatch
from featherstone_ros.control.controller import explain, lost_of, target_request, tip_index
from featherstone_ros.control.diagnostics import Findings, following, phase_text, summary
from featherstone_ros.control.events import (
    Reason,
    RecordFormatter,
    cause_text,
    message_text,
    refusal_text,
    rejection_text,
)
from featherstone_ros.control.feasibility.checks import Preflight, check_set_point, check_trajectory
from featherstone_ros.control.gains import UNCERTAIN, NoStableGainsError
from featherstone_ros.control.goal_tolerances import Tolerances, with_others
from featherstone_ros.control.hand_arrival import HandArrival, distance
from featherstone_ros.control.motion import Motion, MotionState, stopping_position
from featherstone_ros.control.payload import MODEL_NAMES, model_with_payload
from featherstone_ros.control.phases import SILENT, TRACKING, Event, Phase
from featherstone_ros.control.rest import LastMotion, last_motion
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.tracking_error import TrackingWarning, TrackingWatch
from featherstone_ros.control.trajectory import (
    JointSpace,
    Point,
    Trajectory,
    TrajectoryError,
    set_point,
)
from featherstone_ros.control.trajectory_acceptance import PlanningContext
from featherstone_ros.control.trajectory_start import is_same_clock, start_delay
from featherstone_ros.control.unusable_messages import late_start, unusable_state
from featherstone_ros.errors import FeatherstoneError, MessageError
from featherstone_ros.model import Model
from featherstone_ros.nodes import cartesian_topics, realtime_parameters
from featherstone_ros.nodes.cartesian_parameters import offset_of
from featherstone_ros.nodes.controller_parameters import (
    DEADLINE_NAMES,
    SETTINGS,
    DeadlineAction,
    Output,
    chosen_damping,
    chosen_gains,
    control_settings,
    follows_drives,
    friction_error,
    goal_defaults,
    is_without_gains,
    joint_settings,
    with_remedy,
    without_margin,
    without_set_gains,
)
from featherstone_ros.nodes.diagnostics_publisher import Report
from featherstone_ros.nodes.drive_parameters import ASSUMED, assumption, tell_assumption
from featherstone_ros.nodes.duplicate_publishers import DuplicatePublishers, publishers_of
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.messages import decode, seconds
from featherstone_ros.nodes.parameters import Commit, Setting, Value, number, whole
from featherstone_ros.nodes.publish_failures import PublishFailures
from featherstone_ros.nodes.realtime_loop import DetachedGroup, Record, make_loop, too_large
from featherstone_ros.text import plain

RELIABLE = QoSProfile(depth=10)
# Short, since a waiting state is a late one; long enough to lose none of a burst.
SHALLOW = QoSProfile(depth=4, reliability=ReliabilityPolicy.BEST_EFFORT)
SHOW_REFUSAL = 3.0  # [s] that a refused message keeps the diagnostics at WARN
ANSWER_TIMEOUT = 0.5  # [s] in which the loop must answer
CONTROL_MSGS = importlib.util.find_spec("control_msgs") is not None
GIVEN_UP = (Event.ABANDON, Event.STATES_STOPPED, Event.FALL_BACK, Event.FAIL)  # a motion
UNUSABLE_TIME = 2.0  # [s] without a usable state until one is inspected


class PlannedTrajectory(_control.FollowRequest):
    """The request to follow a trajectory.

    Attributes:
        preflight: Why the arm cannot follow it; empty if it can, or if that is not checked.
        goal: (n,) where it ends [rad or m].
        tolerance: (n,) its goal tolerance [rad or m].
    """

    preflight = ""
    goal: Any = None
    tolerance: Any = 0.0


class FeedforwardController(ModelNode):
    """Answers joint states with torques.

    Commands go on after ``deactivate`` until the arm stands; that is why their publisher is not a
    lifecycle publisher.
    """

    def __init__(self) -> None:
        """Declare the parameters."""
        self._loop: Any = None  # while configured
        self._goals: Any = None  # likewise, where control_msgs is installed
        self._state_topic: Any = None
        self._last_motion = LastMotion("", 0.0)
        super().__init__("feedforward_controller", (*SETTINGS, *realtime_parameters.SETTINGS))

    def joint_settings(self, model: Model) -> Iterable[Setting]:
        """Return gains, damping, friction, armature and limits of every joint."""
        return joint_settings(model)

    # Lifecycle.

    def configure(self) -> None:
        """Make the controller, its topics and its loop; it answers nothing yet."""
        model = self.model
        tell_assumption(self)
        try:
            self._settings = control_settings(self.parameters, model)
        except NoStableGainsError as error:
            raise FeatherstoneError(with_remedy(error, self.parameters, model)) from None
        loaded = model_with_payload(self.parameters, model)
        self._space = JointSpace.of(model)
        self._controller = _control.CompiledController(
            model.joint_names,
            self._space.lower,
            self._space.upper,
            self._space.velocity_limit,
            self._settings,
            _control.ModelRequest(BoundDynamics(loaded)),
            1.0 / number(self.parameters, "state_publish_rate"),
            tip=tip_index(model, str(self.parameters["tip"])),
            offset=offset_of(self.parameters),
            base=model.base_link,
            continuous=self._space.continuous,
            commands_joints=self.parameters["output"] == Output.JOINT_STATE,
        )
        self._formatter = RecordFormatter(model.joint_names)
        self._inspected = Dynamics(loaded)  # for the executor's thread
        self._unstable = ""  # what the check of the gains has found
        self._tracking = TrackingWatch(self._space.names, model.upper - model.lower)
        tip, offset = str(self.parameters["tip"]), offset_of(self.parameters)
        self._arrival = ArrivalWatch(model, HandArrival(model, tip, offset) if tip else None)
        self._asked: tuple[Any, Any] = (None, 0.0)  # goal and tolerance of the last trajectory
        self._preflight = ""  # verdict on the last accepted trajectory, if it exceeds limits
        self._refused: Counter[str] = Counter()
        self._refusal, self._refused_at = "", -SHOW_REFUSAL
        self._unusable, self._unusable_at = "", -SHOW_REFUSAL
        self._unusable_since = monotonic()
        self._example: Any = None  # subscription that looks at one joint state
        self._duplicates = DuplicatePublishers(self)
        self._make_topics()
        self._warn_of_odd_settings()
        self._tell_chosen_gains()
        self._tell_chosen_damping()
        self._loop.start()
        self._set_deadline(self.parameters)
        self._serve_ros2_control()

    def _make_topics(self) -> None:
        if self.parameters["output"] == Output.JOINT_STATE:
            self._commands = self.create_publisher(JointState, "~/joint_commands", RELIABLE)
        else:
            self._commands = self.create_publisher(Float64MultiArray, "~/commands", RELIABLE)
        self._desired = self.create_publisher(JointState, "~/desired", RELIABLE)
        self._error = self.create_publisher(JointState, "~/error", RELIABLE)
        self._shown = [self._commands, self._desired, self._error]  # as the loop numbers them
        if self.parameters["tip"]:
            for kind, topic in ((PoseStamped, "current_pose"), (TwistStamped, "current_twist")):
                self._shown.append(self.create_publisher(kind, f"~/{topic}", RELIABLE))
        group = DetachedGroup()
        self._states = self.create_subscription(
            JointState, "joint_states", do_nothing, SHALLOW, callback_group=group, raw=True
        )
        self._inputs = [
            self._states,
            self._listen(JointTrajectory, "joint_trajectory", self._on_trajectory, RELIABLE),
            self._listen(JointTrajectoryPoint, "reference", self._on_reference, SHALLOW),
            self._listen(PoseStamped, "target_pose", self._on_target, SHALLOW),
            self._listen(TwistStamped, "target_twist", self._on_target, SHALLOW),
            self._listen(WrenchStamped, "target_wrench", self._on_target, SHALLOW),
        ]
        self._publish_failures = PublishFailures(self, self._shown)
        self._hold = self.create_service(Trigger, "~/hold", self._on_hold)
        self._loop = make_loop(
            self,
            self._controller,
            group,
            [self._states],
            self._shown,
            self._deliver,
            scheduling=realtime_parameters.scheduling(self.parameters),
            in_thread=self.parameters["realtime.path"] == realtime_parameters.OWN_WAIT_SET,
        )

    def _serve_ros2_control(self) -> None:
        """Offer what clients of joint_trajectory_controller expect, where control_msgs is there."""
        self._goals = self._state_topic = None
        if not CONTROL_MSGS:
            self.get_logger().info(
                "control_msgs is not installed: no action ~/follow_joint_trajectory, "
                "no ~/controller_state"
            )
            return
        from featherstone_ros.nodes.controller_state import ControllerState
        from featherstone_ros.nodes.follow_joint_trajectory import Goals

        try:
            self._goals = Goals(self, number(self.parameters, "action_monitor_rate"))
            rate = number(self.parameters, "state_publish_rate")
            self._state_topic = ControllerState(self, rate)
        except Exception as error:  # e.g. not allowed in this enclave: the arm is held all the same
            self.get_logger().error(f"no action or no ~/controller_state: {plain(str(error))}")

    def _listen(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> Any:
        """Subscribe, and report messages that the callback refuses."""

        def take(message: bytes) -> None:
            try:
                callback(decode(kind, message))
            except (MessageError, TrajectoryError) as error:
                self.note_refusal(topic, error)

        return self.create_subscription(kind, f"~/{topic}", take, qos, raw=True)

    def _warn_of_odd_settings(self) -> None:
        """Say which gains are missing, reduced or not stable; the last is on diagnostics, too."""
        settings, names = self._settings, self.model.joint_names
        if not is_without_gains(self.parameters) and not settings.p.all():
            idle = ", ".join(name for name, p in zip(names, settings.p, strict=True) if p == 0.0)
            self.get_logger().warning(f"gains.<joint>.p is 0 for {idle}: nothing corrects an error")
        self._warn_of_no_margin(without_margin(self.parameters, self.model))

    def _warn_of_no_margin(self, why: str) -> None:
        self._unstable = why
        if why:
            self.log.warning(f"with gains.period and gains.delay the loop has no margin: {why}")

    def _tell_chosen_gains(self) -> None:
        chosen = chosen_gains(self.parameters, self.model)
        if chosen is None:
            return
        names = self.model.joint_names
        taken = list(compress(names, without_set_gains(self.parameters, self.model)))
        if not taken:
            return
        whose = "" if len(taken) == len(names) else f" of {', '.join(taken)}"
        slow = ", ".join(f"{joint} {w:.2g}" for joint, w in chosen.reduced.items())
        self.get_logger().info(
            f"gains{whose} chosen from the model for {self.parameters['gains.bandwidth']:g} rad/s"
            + (f"; less where gains.period and gains.delay allow no more: {slow}" if slow else "")
            + self._error_of_friction()
        )

    def _error_of_friction(self) -> str:
        error = friction_error(self.parameters, self.model)
        worst = int(np.argmax(error))
        if not error[worst] > 0.0:
            return ""
        unit = "mm" if self.model.joint_types[worst] == "prismatic" else "mrad"
        return (
            f"; friction that is {100 * UNCERTAIN:g} % wrong leaves up to "
            f"{1e3 * error[worst]:.2g} {unit} ({self.model.joint_names[worst]})"
        )

    def _tell_chosen_damping(self) -> None:
        if follows_drives(self.parameters):
            return
        chosen = chosen_damping(self.parameters, self.model)
        less = ", ".join(
            f"{name} {chosen.value[i]:.2g} instead of {chosen.wanted[i]:.2g}"
            for i, name in enumerate(self.model.joint_names)
            if chosen.value[i] < chosen.wanted[i] and self.parameters[f"damping.{name}"] == 0.0
        )
        if less:
            self.get_logger().info(
                f"damping of the gravity hold that {chosen.timing} and state_timeout allow: {less}"
            )

    def activate(self) -> None:
        """Answer the next joint state."""
        if self._loop.has_ended:
            raise FeatherstoneError("the loop has ended; clean up and configure first")
        helpless = np.flatnonzero(self._settings.effort_limit == 0.0)
        if len(helpless):
            joints = ", ".join(self.model.joint_names[i] for i in helpless)
            raise FeatherstoneError(
                f"the effort limit of {joints} is 0: the arm cannot be held; set "
                "effort_limit.<joint> (the robot description's limit times effort_scale is used)"
            )
        self._unusable_since = monotonic()
        self._loop.runner.post(_control.ACTIVATE_REQUEST.kind)

    def deactivate(self) -> None:
        """Let the arm come to rest; then the commands end."""
        self._loop.runner.post(_control.DEACTIVATE_REQUEST.kind)

    def begin_rest(self) -> None:
        """Let the arm come to rest, whatever the node's state."""
        if self._loop is not None:
            self._loop.runner.post(_control.DEACTIVATE_REQUEST.kind)

    def is_at_rest(self) -> bool:
        """Return whether no commands hold or move an arm."""
        return self._loop is None or Phase(self._controller.phase) in SILENT

    def cleanup(self) -> None:
        """Destroy the topics."""
        for served in (self._goals, self._state_topic):
            if served is not None:
                served.destroy()
        self._goals = self._state_topic = None
        self.halt()
        if self._example is not None:
            self.destroy_subscription(self._example)
            self._example = None
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        for publisher in self._shown:
            self.destroy_publisher(publisher)
        self.destroy_service(self._hold)

    def halt(self) -> None:
        """Stop the loop, once the arm is at rest or there is no more time for it."""
        if self._loop is not None:
            self._loop.stop(self.REST_PATIENCE)
            self._loop = None
            self._last_motion = last_motion(self._controller, self.model, monotonic())

    def motion_left(self) -> str:
        """Return the joints that still moved when the loop ended, if that is known."""
        text, age = self._last_motion
        if age <= self._settings.state_timeout:
            return text
        if text:
            self.get_logger().warning(
                f"the arm was braked without joint states for {age:.2g} s; last seen: {text}"
            )
        return ""

    # Parameters.

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Prepare the controller for new settings, all of which must be valid."""
        settings = control_settings(values, self.model)
        differs = settings.hardware_adds_gravity != self._settings.hardware_adds_gravity
        if differs and not self.is_at_rest():
            raise ValueError(events.REFUSALS[events.GRAVITY_IN_USE])
        loaded = None
        if any(values[name] != self.parameters[name] for name in MODEL_NAMES):
            loaded = model_with_payload(values, self.model)
        request = loaded and _control.ModelRequest(
            BoundDynamics(loaded), number(values, "payload.transition_time")
        )
        late = any(values[name] != self.parameters[name] for name in DEADLINE_NAMES)
        unstable = without_margin(values, self.model)

        def commit() -> None:
            self._settings = settings
            self._post(_control.ConfigureRequest(settings))
            self._warn_of_no_margin(unstable)
            if loaded is not None:
                self._inspected = Dynamics(loaded)
                self._post(request)
            if late:
                self._set_deadline(values)

        return commit

    def _set_deadline(self, values: Mapping[str, Value]) -> None:
        cycle_time = number(values, "deadline.cycle_time")
        holds = values["deadline.action"] == str(DeadlineAction.HOLD)
        self._loop.runner.allowed = cycle_time
        self._post(_control.DeadlineRequest(cycle_time, whole(values, "deadline.allowed"), holds))

    # Requests.

    def _post(self, request: Any) -> None:
        """Have the loop do something that it does not refuse."""
        self._controller.keep_alive(request)
        self._loop.runner.post(request.kind, request.payload, request)

    def _ask(self, request: Any) -> None:
        """Have the loop do something.

        Raises:
            TrajectoryError: The loop refuses, has no time for it, or has ended.
        """
        if self._loop.has_ended:
            raise TrajectoryError("the loop has ended")
        self._controller.keep_alive(request)
        try:
            answer = self._loop.runner.request(
                request.kind, request.payload, request, ANSWER_TIMEOUT
            )
        except TimeoutError as error:
            self._let_go(request)
            raise TrajectoryError(f"the loop is too busy: {error}") from None
        if answer:
            self._let_go(request)
            raise TrajectoryError(self._reason(explain(request, answer)))

    def _let_go(self, request: Any) -> None:
        if isinstance(request, _control.FollowRequest):
            self._controller.release(request.path.number)

    def _reason(self, refusal: Reason) -> str:
        phase = Phase(self._controller.phase).text
        return refusal_text(refusal, self._space.names, phase, self._hold_reason())

    def snapshot(self) -> Any:
        """Return a snapshot of the loop's state.

        Raises:
            TrajectoryError: The loop has no time to answer.
        """
        snapshot = _control.SnapshotRequest(len(self._space.names))
        self._ask(snapshot)
        return snapshot

    def _on_trajectory(self, message: JointTrajectory) -> None:
        self.follow(self.plan_trajectory(message, self.tolerances))

    @property
    def tolerances(self) -> Tolerances:
        """For trajectories and goals without tolerances of their own."""
        return goal_defaults(self.parameters, self.model)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, in order."""
        return self._space.names

    def plan_trajectory(self, message: JointTrajectory, tolerances: Tolerances) -> Any:
        """Return the request to follow a trajectory.

        Args:
            message: The trajectory.
            tolerances: Its own.

        Raises:
            TrajectoryError: It is refused.
        """
        names, points = (
            message.joint_names,
            [
                Point(
                    seconds(point.time_from_start),
                    point.positions,
                    point.velocities,
                    point.accelerations,
                    point.effort,
                )
                for point in message.points
            ],
        )
        if self.parameters["allow_partial_joints_goal"]:
            rest = self._stopping_position(self.snapshot())
            names, points = with_others(names, points, self._space.names, rest)
        trajectory = Trajectory(names, points, self._space, self._settings.allow_moving_end)
        self._require_tracking()
        snapshot = self.snapshot()
        asked, stamp = seconds(message.header.stamp), snapshot.stamp[0] + 1e-9 * snapshot.stamp[1]
        now = self.get_clock().now().nanoseconds * 1e-9
        delay = start_delay(asked, stamp, now) if asked else None  # stamp 0 is now
        context = PlanningContext.of(snapshot, self._settings)
        verdict = ""

        def inspect(motion: Motion, begin: float) -> None:
            nonlocal verdict
            verdict = self._inspect(context.desired.velocity, motion, begin)

        start = context.check(trajectory, delay, inspect)
        if asked and is_same_clock(asked, stamp, now):
            start = asked - snapshot.origin  # the same to the bit, whenever it arrives
        late = late_start(delay or 0.0, now)
        if late:
            self.get_logger().warning(late)
        path = trajectory.compiled(self._settings.stop_time, tolerances.path)
        request = PlannedTrajectory(path, start)
        request.goal = trajectory.state(-1).position
        request.tolerance = tolerances.goal[0]
        request.preflight = verdict
        return request

    def follow(self, request: Any) -> None:
        """Have the loop follow what was planned.

        Raises:
            TrajectoryError: It refuses.
        """
        self._ask(request)
        if isinstance(request, PlannedTrajectory):
            self._preflight = request.preflight
            self._asked = request.goal, request.tolerance
            count, duration = len(request.path.times), request.path.duration
            self.get_logger().info(f"trajectory of {count} points, {duration:.3f} s")

    def plan_hold(self) -> Any:
        """Return the request to stop and hold.

        Raises:
            TrajectoryError: No motion of the joints can be followed now.
        """
        self._require_tracking()
        return _control.HOLD_REQUEST

    def stop_motion(self) -> None:
        """Have the arm stop and hold, without waiting for it."""
        self._post(_control.HOLD_REQUEST)

    def _stopping_position(self, snapshot: Any) -> Any:
        desired = MotionState(*snapshot.desired)
        lower, upper = self._space.lower, self._space.upper
        return stopping_position(desired, self._settings.stop_time, lower, upper)

    def _require_tracking(self) -> None:
        """Raise TrajectoryError if no motion of the joints can be followed now."""
        refusal = events.why_not(Phase(self._controller.phase))
        if not refusal and self._settings.mode is Mode.CARTESIAN_IMPEDANCE:
            refusal = events.FOLLOWS_POSES
        if refusal:
            raise TrajectoryError(self._reason(Reason(refusal, -1, 0.0, 0.0)))

    def _inspect(self, velocity: Any, motion: Motion, begin: float) -> str:
        """Return why the arm cannot follow; empty if it can, or if ``preflight`` is off.

        Raises:
            TrajectoryError: It cannot, and ``preflight`` is ``reject``.
        """
        preflight = self.parameters["preflight"]
        if preflight == Preflight.OFF:
            return ""
        verdict = check_trajectory(
            self._inspected, self.model, self._settings, motion, begin, velocity
        )
        if preflight == Preflight.REJECT and not verdict.fits:
            raise TrajectoryError(f"the arm cannot follow: {verdict}")
        if verdict.fits:
            return ""
        self.get_logger().warning(f"the arm cannot follow the trajectory: {verdict}")
        return str(verdict)

    def _on_reference(self, message: JointTrajectoryPoint) -> None:
        point = Point(
            0.0, message.positions, message.velocities, message.accelerations, message.effort
        )
        state = set_point(point, self._space, self._controller.desired[0])
        self._inspect_set_point(state)
        self._ask(_control.SetPointRequest(state.rows()))

    def _on_target(self, message: PoseStamped | TwistStamped | WrenchStamped) -> None:
        """Give the hand a target; its frame is taken at its present pose."""
        frame = message.header.frame_id
        q = self.snapshot().q if frame else np.zeros(self.model.n)
        place = cartesian_topics.frame_pose(frame, self.model, self._inspected, q)
        if isinstance(message, PoseStamped):
            request = target_request(pose=cartesian_topics.pose_of(message, place))
        elif isinstance(message, TwistStamped):
            request = target_request(twist=cartesian_topics.twist_of(message, place))
        else:
            request = target_request(wrench=cartesian_topics.wrench_of(message, place))
        self._ask(request)

    def _inspect_set_point(self, state: MotionState) -> None:
        """Check whether the motors can follow a set-point, as ``_inspect`` does."""
        preflight = self.parameters["preflight"]
        if preflight == Preflight.OFF:
            return
        problem = check_set_point(self._inspected, self.model, self._settings, state)
        if problem and preflight == Preflight.REJECT:
            raise TrajectoryError(f"the arm cannot follow: {problem}")
        if problem:
            self.log.warning(f"the arm cannot follow a set-point: {problem}")

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._ask(_control.HOLD_REQUEST)
        except TrajectoryError as error:
            response.success, response.message = False, str(error)
            return response
        response.success, response.message = True, "stopping and holding"
        return response

    def note_refusal(self, topic: str, error: Exception) -> None:
        """Report that a message on one of this node's topics was refused."""
        self._refused[topic] += 1
        self._refusal, self._refused_at = f"{topic}: {plain(str(error))}", monotonic()
        self.log.error(f"refused a message on ~/{self._refusal}")
        self.publish_diagnostics()

    # From the loop, by records.

    def _deliver(self, records: list[Record]) -> None:
        """Log the loop's records, and release objects that it no longer uses."""
        changed = False
        for kind, index, _, values, sequence in records:
            if kind == events.RELEASED:
                self._controller.release(sequence)
            elif kind == events.REJECTED:
                rejection = Reason(int(values[0]), index, *values[1:3])
                text = rejection_text(rejection, self._space.names)
                self.log.warning(f"joint_states: a state was refused: {text}")
            elif kind == events.PHASE:
                self._note_motion(Event(index), Phase(int(values[0])))
            elif kind == events.MESSAGE:
                self._note_unusable(message_text(index, values, self._space.names))
            elif kind == TOO_LARGE_RECORD:
                self._note_unusable(str(too_large(values[0])))
            elif kind == PUBLISH_FAILED_RECORD:
                self._publish_failures.note(index, values[0])
            changed |= kind in (events.PHASE, events.CAUSE)
        for line in self._formatter.lines(records):
            self.log.warning(line)
        if changed:
            self.publish_diagnostics()

    def _note_motion(self, event: Event, before: Phase) -> None:
        """Keep in mind what was asked of the arm."""
        if event is Event.FOLLOW:
            self._arrival.begin(*self._asked)
        elif event in (Event.SET_POINT, Event.HOLD):
            self._arrival.begin()
        elif event in (Event.ACTIVATE, Event.FLOAT):
            self._arrival.forget()
        elif event in GIVEN_UP and before in TRACKING:
            self._arrival.abandon()

    def _note_unusable(self, why: str) -> None:
        """Report a message on joint_states from which nothing can be read."""
        self._unusable, self._unusable_at = why, monotonic()
        self.log.warning(f"joint_states: {why}")

    def _inspect_an_example(self) -> None:
        """If unusable states arrive, say what is wrong with one of them."""
        if Phase(self._controller.phase) is not Phase.WAITING:
            self._unusable_since = monotonic()
            return
        if monotonic() - self._unusable_since < UNUSABLE_TIME or self._example is not None:
            return
        self._example = self.create_subscription(
            JointState, "joint_states", self._log_fault_of_example, SHALLOW
        )

    def _log_fault_of_example(self, message: JointState) -> None:
        text = unusable_state(message.name, message.position, message.velocity, self.model)
        if text:
            self._note_unusable(text)
        self._unusable_since = monotonic()
        example, self._example = self._example, None
        self.defer(lambda: self.destroy_subscription(example))

    # Diagnostics.

    def diagnose(self) -> Report:
        """Return the controller's condition."""
        controller = self._controller
        self._inspect_an_example()
        commanders = self.count_publishers(self._commands.topic_name)
        moment = self._moment()
        lost = lost_of(moment, self._settings, self._space.names) if moment else {}
        duplicates = self._duplicates.among(
            {
                "on joint_states": 1 + controller.has_several_publishers(monotonic()),
                f"on {self._commands.topic_name}": commanders,
            }
        )
        phase, commands = Phase(controller.phase), self._commands
        not_arrived = self._arrival.update(
            monotonic(), moment, self._settings, self.tolerances.goal[0], self._inspected
        )
        level, text = summary(
            phase,
            self._hold_reason(),
            Findings(
                duplicates=duplicates,
                unheard="" if commands.get_subscription_count() else commands.topic_name,
                answers=moment is not None,
                publish_failures=self._publish_failures.recent,
                off_path=self._off_path(moment),
                not_arrived=not_arrived,
                is_abandoned=self._arrival.is_abandoned,
                is_late=controller.is_late,
                is_saturated=bool(lost),
                is_strained=moment is not None and moment.strain > 1.0,
                preflight=self._preflight,
                refusal=self._refusal if monotonic() - self._refused_at < SHOW_REFUSAL else "",
                unusable=self._recently_unusable,
            ),
        )
        counters, refused = controller.counters(), self._state_refusal()
        values = {
            "mode": self.parameters["mode"],
            "phase": phase_text(phase),
            "following": following(phase),
            "age of the joint state [s]": f"{monotonic() - controller.received:.3f}",
            "joint states accepted": controller.accepted,
            **{f"joint states refused, {k}": n for k, n in self._rejected().items()},
            "messages refused on joint_states": counters["malformed"]
            + self._loop.runner.counters()["too_large"],
            "joint states of other joints": counters["foreign"],
            **{f"messages refused on {topic}": n for topic, n in self._refused.items()},
            "last refusal": self._refusal or (refused and f"joint_states: {refused}"),
            "publishers on joint_states": ", ".join(publishers_of(self, self._states.topic_name)),
            **{f"effort limit of {joint}": what for joint, what in lost.items()},
            **self._loop.timing.report(),
            "commands saturated": counters["saturated"],
            "governor interventions": counters["interventions"],
            "gains": self._unstable or "nothing found",
            ASSUMED: assumption(self.parameters, self.model.joint_names) or "none",
            **self._dexterity(moment),
            "scheduling": self._loop.scheduling,
        }
        return Report(bytes([level]), text, values)

    def _dexterity(self, moment: Any) -> dict[str, str]:
        """Return how far the hand is from its target and from a singular posture."""
        tip = str(self.parameters["tip"])
        if not tip or not np.isfinite(self._controller.received):
            return {}
        values = cartesian_topics.singular_values(
            self._inspected, self._controller.q, tip, offset_of(self.parameters)
        )
        values = values if len(values) == 6 else np.zeros(6)
        away = np.full(2, np.nan) if moment is None else distance(moment.hand[:2].sum(axis=0))
        return {
            "hand from its target [m]": f"{away[0]:.3g}",
            "hand from its target [rad]": f"{away[1]:.3g}",
            "manipulability": f"{np.prod(values):.3g}",
            "smallest singular value": f"{values[-1]:.3g}",
        }

    def _rejected(self) -> dict[str, int]:
        counts = zip(events.REJECTIONS, self._controller.rejected, strict=True)
        return {reason: count for reason, count in counts if count}

    def _state_refusal(self) -> str:
        """Return why the last joint states were refused; empty if they were not."""
        rejection = Reason(*self._controller.rejection)
        if rejection.code:
            return rejection_text(rejection, self._space.names)
        return self._recently_unusable

    @property
    def _recently_unusable(self) -> str:
        return self._unusable if monotonic() - self._unusable_at < SHOW_REFUSAL else ""

    def _hold_reason(self) -> str:
        """Return why the arm is held; if states are refused, also why the last one was."""
        cause = Reason(*self._controller.hold)
        text = cause_text(cause, self._space.names)
        refused = self._state_refusal()
        if cause.code == events.NO_STATES and refused:
            text += f" (refused: {refused})"
        return text

    def _moment(self) -> Any:
        """Return a snapshot of the loop's state, None if it has no time to answer."""
        try:
            return self.snapshot()
        except TrajectoryError:
            return None

    def _off_path(self, moment: Any) -> TrackingWarning:
        """Return the complaint about the tracking error; none if no motion is tracked."""
        error = None
        follows = moment is not None and Phase(moment.phase) in TRACKING
        if follows and self._settings.mode is not Mode.CARTESIAN_IMPEDANCE:
            error = moment.desired[0] - moment.q
        return self._tracking.update(monotonic(), error, self._settings.path_tolerance)


def do_nothing(_: bytes) -> None:
    """Be the callback of a subscription whose messages a loop takes."""
