"""A lifecycle node that has a robot description and a model."""

from __future__ import annotations

import logging
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from math import inf
from time import monotonic
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.task import Future
from rclpy.time_source import CLOCK_TOPIC
from std_msgs.msg import String

from featherstone_ros.control.armature import unset_armature
from featherstone_ros.errors import FeatherstoneError, ModelError, StartError
from featherstone_ros.model import Model
from featherstone_ros.model.joint_selection import locked_positions
from featherstone_ros.model.parameter_files import misspelt
from featherstone_ros.model.robots import description_text
from featherstone_ros.nodes.node_diagnostics import (
    ERROR,
    OK,
    WARN,
    DiagnosticsPublisher,
    Report,
    ThrottledLog,
    check_description,
)
from featherstone_ros.nodes.parameters import Commit, Parameters
from featherstone_ros.nodes.topics import LATCHED, SeldomGroup
from featherstone_ros.parameter import Parameter, Value
from featherstone_ros.text import one_line, plain

ASSUMED = "armature assumed"  # in the diagnostics
REST_CHECK_PERIOD = 0.02  # [s] between two checks whether the arm has come to rest

SHUTDOWNS = {
    Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    Transition.TRANSITION_INACTIVE_SHUTDOWN,
    Transition.TRANSITION_ACTIVE_SHUTDOWN,
}
ENDING_TRANSITIONS = {"cleanup", Transition.TRANSITION_CLEANUP, "shutdown", *SHUTDOWNS}

COMMON_PARAMETERS = (
    Parameter(
        "robot_description",
        "",
        "URDF text, or path, file:// or package:// of a .urdf or .xacro file; if empty, the node "
        "waits for the topic robot_description",
    ),
    Parameter(
        "joints",
        [],
        "joints that move, in the order of all arrays; empty for all; the others stand where "
        "joint_states or locked.<joint> says",
        read_only=True,
    ),
    Parameter(
        "autostart",
        True,
        "configure and activate as soon as there is a robot description",
        read_only=True,
    ),
)


class ModelNode(LifecycleNode):
    """Base of the nodes.

    The robot description is the parameter ``robot_description``, or the first message on the topic
    of that name if the parameter is empty. While the node is configured, a *different* description
    is refused (log, diagnostics) and kept: clean up and configure to use it. The same text again
    has no effect.

    A derived class makes its topics in ``configure`` and reads ``self.model`` and
    ``self.parameters``; from then on it does its work, or another object does, ``_worker``. What is
    raised in a transition as ``FeatherstoneError`` or ``ValueError`` is logged as the reason why
    the transition failed.

    Commands do not end while the arm moves: before ``cleanup``, ``shutdown`` or the end of the
    process, ``begin_rest`` is called and ``is_at_rest`` awaited, ``rest_patience`` seconds at most,
    by the steady clock; ``halt`` has what is left of them.

    Attributes:
        log: For messages that may repeat; each text is throttled by itself.
    """

    REST_PATIENCE = 5.0  # [s] beyond the time that a stop takes
    LONGEST_STOP = 0.0  # [s] that a derived class's stop may take

    def __init__(
        self, name: str, settings: Iterable[Parameter], context: Context | None = None
    ) -> None:
        """Declare the parameters and read the robot description if it is a parameter.

        Args:
            name: Node name.
            settings: The derived class's parameters that do not depend on the robot.
            context: Of ROS; None for the default one. Whoever shuts it down ends the commands.

        Raises:
            StartError: If a parameter or the robot description is refused.
        """
        super().__init__(name, context=context)
        self.log = ThrottledLog(self.get_logger())
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._resting: Future | None = None  # while a transition waits for the arm
        self._rest_by = inf  # steady time at which commands end, whatever the arm does
        self._model: Model | None = None
        self._model_text = ""
        self._parsed: tuple[str, Model] | None = None
        self._joints: tuple[str, ...] = ()  # whose parameters those are
        self._joint_parameter_names: list[str] = []
        self._problem = ""
        self._description_report: Report | None = None
        self._configured = False
        self._worker: Any = self  # has ``activate`` and what follows it below
        self.parameters = Parameters(self, self._plan)
        self.parameters.declare([*COMMON_PARAMETERS, *settings])
        self._description = str(self.parameters["robot_description"])
        self._autostart = bool(self.parameters["autostart"])
        self._deferred: deque[Callable[[], None]] = deque()
        self._wake = self.create_guard_condition(self._run_deferred)
        self._service_change_state.callback = self._survive(self._service_change_state.callback)
        # It may wait for the arm; nothing else may have to wait with it.
        self._service_change_state.callback_group = ReentrantCallbackGroup()
        self._service_change_state.callback_group.add_entity(self._service_change_state)
        self._diagnostics = DiagnosticsPublisher(self, self._reports)
        self._start_timer = self.create_timer(0.0, self._on_first_spin, clock=self.steady_clock)
        if self._description:
            self._load_from_parameter()
        else:
            self._description_subscription = self.create_subscription(
                String, "robot_description", self._on_description, LATCHED
            )
            self.get_logger().info(
                "parameter robot_description is empty: waiting for the robot description on "
                + self._description_subscription.topic_name
            )

    # Methods that a derived class may override.

    def make_model(self, description: str) -> Model:
        """Return the model of a robot description."""
        return Model.from_urdf(description, joints=self.parameters["joints"] or None)

    def joint_parameters(self, model: Model) -> Iterable[Parameter]:
        """Return the parameters of the model's joints; declared once the model is known."""
        return ()

    def configure(self) -> None:
        """Prepare for ``activate``; ``self.model`` exists, nothing may be published yet."""

    def activate(self) -> None:
        """Start working."""

    def deactivate(self) -> None:
        """Stop working."""

    def cleanup(self) -> None:
        """Destroy what ``configure`` made."""

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Check a new set of parameter values while configured, return what makes it effective."""
        return do_nothing

    def diagnose(self) -> Report:
        """Return the condition while active."""
        return Report()

    def halt(self) -> None:
        """Stop all threads; the node is destroyed next, in whatever state it is."""

    def is_at_rest(self) -> bool:
        """Return whether the arm stands, or its state is unknown; any thread may ask."""
        return True

    def motion_left(self) -> str:
        """Return the joints that still moved at ``stop``; empty: none was seen to."""
        return ""

    def begin_rest(self) -> None:
        """Start to bring the arm to rest, whatever the node is doing; any thread may ask for it."""
        if self.state_label == "active":
            self.trigger_deactivate()

    # Methods for a derived class to use.

    @property
    def assumption(self) -> str:
        """The drives' armature that is assumed, not set; empty for none."""
        return unset_armature(self.parameters, self.parameters.default, self.model)[0]

    def tell_assumption(self) -> None:
        """Log what is known of the drives, and what is assumed."""
        assumed, known = unset_armature(self.parameters, self.parameters.default, self.model)
        if known:
            self.get_logger().info(f"from the robot description's drives: {known}")
        if assumed:
            self.get_logger().warning(
                "no gains are stable without inertia of the drives, of which the robot description "
                f"tells nothing. Assumed: {assumed}; set what your arm has (data sheet, or "
                "featherstone-ros identify)"
            )

    @property
    def model(self) -> Model:
        """The robot's model, from ``configure`` on."""
        if self._model is None:
            raise FeatherstoneError("there is no robot description yet")
        return self._model

    @property
    def state_label(self) -> str:
        """The lifecycle state: unconfigured, inactive, active or finalized."""
        return self._state_machine.current_state[1]

    def create_subscription(self, kind: Any, topic: str, *given: Any, **options: Any) -> Any:
        """Subscribe as every node does; /clock, which rclpy itself subscribes to, more cheaply."""
        if topic == CLOCK_TOPIC:
            options.setdefault("callback_group", SeldomGroup())
        return super().create_subscription(kind, topic, *given, **options)

    @property
    def rate_clock(self) -> Clock:
        """The clock by which a rate counts: steady, or ROS time where that is simulated."""
        clock = self.get_clock()
        return clock if clock.ros_time_is_active else self.steady_clock

    def defer(self, action: Callable[[], None]) -> None:
        """Have the executor's thread do something soon; any other thread may call this."""
        self._deferred.append(action)
        self._wake.trigger()

    def _run_deferred(self) -> None:
        for _ in range(len(self._deferred)):
            self._deferred.popleft()()

    def publish_diagnostics(self) -> None:
        """Publish the diagnostics now instead of at the next second."""
        self._diagnostics.publish()

    def stop(self) -> None:
        """Take the node to ``finalized``, from whatever state it is in."""
        if self.state_label in ("unconfigured", "inactive", "active"):
            self.trigger_shutdown()

    def destroy_node(self) -> None:
        """Stop all threads and destroy the node."""
        self._worker.halt()
        super().destroy_node()

    # Robot description.

    def _load_from_parameter(self) -> None:
        try:
            self._description = description_text(self._description)
            self._load_model()
        except StartError:
            raise
        except (FeatherstoneError, ValueError) as error:
            raise StartError(f"parameter robot_description or joints: {error}") from error

    def _on_description(self, message: String) -> None:
        if message.data == self._description:
            return
        self._description = message.data
        if not self._configured:
            self.get_logger().info("robot description received")
            self._start_automatically()
        elif self._description != self._model_text:
            self.get_logger().warning(
                "refused another robot description while configured with one; "
                "clean up and configure the node to use it"
            )
            self.publish_diagnostics()

    def _load_model(self) -> None:
        """Make the model of the newest description and declare its joints' parameters."""
        if not self._description:
            raise FeatherstoneError("there is no robot description yet")
        if self._model is not None and self._model_text == self._description:
            return
        model = self._parse(self._description)
        same_joints = self._joints == model.joint_names
        self._model, self._joints = None, model.joint_names
        self.parameters.undeclare(self._joint_parameter_names, for_good=not same_joints)
        self._joint_parameter_names = []
        for setting in self.joint_parameters(model):
            self._joint_parameter_names.append(setting.name)
            self.parameters.declare([setting])
        self._model, self._model_text = model, self._description
        if unknown := self.parameters.unknown_overrides():
            names = ", ".join(misspelt(name, list(self.parameters)) for name in unknown)
            self.get_logger().warning(f"ignored unknown parameters: {names}")

    def _parse(self, description: str) -> Model:
        """Return the model of a description; the last one is cached."""
        if self._parsed is None or self._parsed[0] != description:
            logger = logging.getLogger(Model.__module__)
            logger.disabled = True  # ``check_description`` says that, and more
            try:
                model = self.make_model(description)
            finally:
                logger.disabled = False
            if not model.n:
                raise ModelError(
                    f"robot {model.name!r} has {len(model.link_names)} links and no joint that "
                    "moves, expected at least one"
                )
            self._parsed = description, model
        return self._parsed[1]

    # Start.

    def _on_first_spin(self) -> None:
        self._start_timer.cancel()
        self.destroy_timer(self._start_timer)
        if self._description:
            self._start_automatically()

    def _start_automatically(self) -> None:
        if not self._autostart or self.state_label != "unconfigured":
            return
        if self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self._autostart = False  # Once only: a node that a user cleans up stays unconfigured.
            self.trigger_activate()

    # Lifecycle. Called by rclpy, which would swallow an exception silently.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the robot description and call ``configure``."""
        return self._attempt("configure", self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``activate``."""
        self._rest_by = inf
        return self._attempt("activate", self._worker.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``deactivate``."""
        return self._attempt("deactivate", self._worker.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``cleanup``."""
        return self._attempt("clean up", self._cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``deactivate`` and ``cleanup`` as far as the state left needs it."""
        if state.state_id == State.PRIMARY_STATE_ACTIVE:
            self._attempt("deactivate", self._worker.deactivate)
        return self.on_error(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Go back to unconfigured, after an unexpected exception in a transition too."""
        if self._configured:
            self._attempt("clean up", self._cleanup)
        return TransitionCallbackReturn.SUCCESS

    def _configure(self) -> None:
        self._load_model()
        joints = self.parameters["joints"] or None
        places = locked_positions(self.parameters, self.model) if joints else None
        self._description_report = check_description(
            self._model_text, self.get_logger(), joints, places, self.model.base
        )
        self.configure()
        self._configured = True

    def _cleanup(self) -> None:
        self._configured = False
        self._description_report = None
        self._worker.cleanup()

    def _attempt(self, what: str, action: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            action()
        except (FeatherstoneError, ValueError) as error:
            self._problem = f"cannot {what}: {one_line(error)}"
            self.get_logger().error(self._problem)
            return TransitionCallbackReturn.FAILURE
        except Exception:
            self._problem = f"cannot {what}: unexpected exception, see the log"
            self.get_logger().error(f"cannot {what}:\n{traceback.format_exc()}")
            return TransitionCallbackReturn.ERROR
        self._problem = ""
        self.get_logger().info(f"{what}: done")
        return TransitionCallbackReturn.SUCCESS

    def _survive(self, change_state: Callable[..., Any]) -> Callable[..., Any]:
        """Answer an impossible transition with success = False (rclpy dies of it, rclpy#1209).

        What is known to be impossible is not tried: rcl would log every attempt.
        """

        async def callback(
            request: ChangeState.Request, response: ChangeState.Response
        ) -> ChangeState.Response:
            asked = request.transition.label or request.transition.id
            response.success = False
            if self._resting is not None:
                why = "the arm is being brought to rest for another one"
            elif not any(asked in it[:2] for it in self._state_machine.available_transitions):
                why = f"not possible when {self.state_label}"
            else:
                try:
                    await self._rest_before(asked)
                    if asked in SHUTDOWNS:  # rcl has a number for each state it may begin in
                        request.transition.label = "shutdown"
                    return change_state(request, response)
                except rclpy_implementation.RCLError:
                    why = f"not possible when {self.state_label}"
            self.log.warning(f"refused the transition {plain(str(asked))}: {why}", "transition")
            return response

        return callback

    @property
    def rest_patience(self) -> float:
        """How long the arm is given to come to rest [s]."""
        return self.REST_PATIENCE

    @property
    def time_to_rest(self) -> float:
        """What is left of that [s]: all, unless the end has begun."""
        return min(self.rest_patience, max(self._rest_by - monotonic(), 0.0))

    def begin_end(self) -> None:
        """Start to bring the arm to rest, after which the commands end."""
        self._rest_by = monotonic() + self.rest_patience
        self.begin_rest()

    async def _rest_before(self, asked: str | int) -> None:
        """Before a transition that ends the commands, wait until the arm is at rest."""
        if asked not in ENDING_TRANSITIONS or self.is_at_rest():
            return
        self._resting = Future(executor=self.executor)

        def check_rest() -> None:
            if self._resting is not None and (self.is_at_rest() or not self.time_to_rest):
                self._resting.set_result(self.is_at_rest())

        timer = self.create_timer(REST_CHECK_PERIOD, check_rest, clock=self.steady_clock)
        try:
            self.begin_end()
            if not await self._resting:
                self.log.error(f"no rest within {self.rest_patience:g} s")
        finally:
            self._resting = None
            self.destroy_timer(timer)

    # Parameters and diagnostics.

    def _plan(self, values: Mapping[str, Value]) -> Commit:
        description = str(values["robot_description"])
        changed = description != self.parameters["robot_description"]
        if changed and self._configured:
            raise ValueError("robot_description cannot change while the node is configured")
        if changed and not description:
            raise ValueError("robot_description cannot become empty")
        if changed:
            try:
                description = description_text(description)
                self._parse(description)
            except FeatherstoneError as error:
                raise ValueError(f"robot_description: {one_line(error)}") from error
        commit = self._worker.plan(values) if self._configured else do_nothing

        def commit_all() -> None:
            if changed:
                self._description = description
                self._start_automatically()
            commit()

        return commit_all

    def _reports(self) -> dict[str, Report]:
        reports = {"": self._report_of_state()}
        if self._description_report is not None:
            reports["robot description"] = self._description_report
        state = {"state": self.state_label}
        return {name: it._replace(values={**state, **it.values}) for name, it in reports.items()}

    def _report_of_state(self) -> Report:
        report = Report(OK, self.state_label)
        if self._problem:
            return Report(ERROR, self._problem)
        if not self._description:
            return Report(WARN, "waiting for the robot description")
        if self.state_label == "active":
            try:
                report = self._worker.diagnose()
            except Exception:  # must not silence all diagnostics
                self.log.error(f"no diagnosis:\n{traceback.format_exc()}")
                report = Report(WARN, "unexpected exception in the diagnosis, see the log")
        if self._configured and self._description != self._model_text and report.level == OK:
            return Report(WARN, "another robot description was refused", report.values)
        return report


def do_nothing() -> None:
    """Do nothing: there is nothing to commit."""
