"""The controller node: a lifecycle node around the compiled torque controller.

``controller_loop`` runs it, ``motion_input`` takes what the arm is to do, and
``controller_diagnostics`` tells whether it does. Here are lifecycle and parameters.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from math import inf, isinf
from typing import Any

import numpy as np
from rclpy.context import Context

from featherstone_ros import _control
from featherstone_ros.control.armature import require_same_units
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.controller_parameters import (
    DEADLINE_NAMES,
    PARAMETERS,
    parameters_of_arm,
)
from featherstone_ros.control.diagnostics import LastMotion, last_motion
from featherstone_ros.control.gains import NoStableGainsError
from featherstone_ros.control.payload import gravity_and_payload
from featherstone_ros.control.settings import LONGEST_STOP
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.model.parameter_files import PAYLOAD_NAMES
from featherstone_ros.nodes.controller_diagnostics import ControllerDiagnostics
from featherstone_ros.nodes.controller_loop import ControllerLoop
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.motion_input import MotionInput
from featherstone_ros.nodes.node_diagnostics import Report
from featherstone_ros.nodes.parameters import Commit
from featherstone_ros.parameter import Parameter, Value, parameters_of
from featherstone_ros.realtime.scheduling import Scheduling
from featherstone_ros.text import plain

CONTROL_MSGS = importlib.util.find_spec("control_msgs") is not None


class FeedforwardController(ModelNode):
    """Answers joint states with torques.

    Commands go on after ``deactivate`` until the arm stands; that is why their publisher is not a
    lifecycle publisher.
    """

    LONGEST_STOP = LONGEST_STOP

    def __init__(self, context: Context | None = None) -> None:
        """Declare the parameters."""
        self._loop: ControllerLoop | None = None  # while configured
        self._served: list[Any] = []  # likewise, where control_msgs is installed
        self._last_motion = LastMotion("", 0.0)
        super().__init__(
            "feedforward_controller", (*PARAMETERS, *parameters_of(Scheduling)), context
        )

    def joint_parameters(self, model: Model) -> Iterable[Parameter]:
        """Return those of every joint, and of every payload that has a name."""
        return parameters_of_arm(model, self.parameters[PAYLOAD_NAMES])

    # Lifecycle.

    def configure(self) -> None:
        """Make the controller, its topics and its loop; it answers nothing yet."""
        self.tell_assumption()
        arm = ControlledArm(self.model, dict(self.parameters))
        try:
            settings = arm.settings
        except NoStableGainsError as error:
            raise FeatherstoneError(arm.feedback.remedy(error)) from None
        self._loop = ControllerLoop(self, arm)
        self._motions = MotionInput(self, self._loop)
        self._condition = ControllerDiagnostics(self, self._loop, self._motions)
        no_loop = (settings.p == 0.0) & ~arm.feedback.follows
        if arm.feedback.has_gains and no_loop.any():
            idle = ", ".join(np.array(self.model.joint_names)[no_loop])
            self.get_logger().warning(f"gains.<joint>.p is 0 for {idle}: nothing corrects an error")
        self._note_margins(arm.without_margin, arm.contact_margin)
        if arm.units.without_effect:
            self.log.warning(arm.units.without_effect)
        for text in arm.feedback.choices():
            self.get_logger().info(text)
        self._loop.start(self._condition.note_event)
        self._serve_ros2_control(self._loop)

    def _note_margins(self, why: str, contact: str) -> None:
        if contact and contact != self._condition.contact:
            self.get_logger().info(contact)
        self._condition.without_margin, self._condition.contact = why, contact
        if why:
            self.log.warning(f"with gains.period and gains.delay the loop has no margin: {why}")

    def _serve_ros2_control(self, loop: ControllerLoop) -> None:
        """Offer what clients of joint_trajectory_controller expect, where control_msgs is there."""
        if not CONTROL_MSGS:
            self.get_logger().info(
                "control_msgs is not installed: no action ~/follow_joint_trajectory, "
                "no ~/controller_state"
            )
            return
        try:
            from featherstone_ros.nodes.joint_trajectory_clients import ControllerState, Goals

            rate = self.parameters["action_monitor_rate"]
            self._served.append(Goals(self, loop, self._motions, rate))
            rate = self.parameters["state_publish_rate"]
            self._served.append(ControllerState(self, loop, rate))
        except Exception as error:  # an older control_msgs, or not allowed in this enclave
            self.get_logger().error(f"no action or no ~/controller_state: {plain(str(error))}")

    @property
    def _configured_loop(self) -> ControllerLoop:
        """The loop, once configured."""
        if self._loop is None:
            raise RuntimeError("the controller is not configured")
        return self._loop

    def activate(self) -> None:
        """Answer the next joint state."""
        loop = self._configured_loop
        if loop.running.has_ended:
            raise FeatherstoneError("the loop has ended; clean up and configure first")
        helpless = np.array(self.model.joint_names)[loop.settings.effort_limit == 0.0]
        if len(helpless):
            raise FeatherstoneError(
                f"the effort limit of {', '.join(helpless)} is 0: the arm cannot be held; set "
                "effort_limit.<joint> (the robot description's limit times effort_scale is used)"
            )
        loop.activate()

    def deactivate(self) -> None:
        """Let the arm come to rest; then the commands end."""
        self.begin_rest()

    def begin_rest(self) -> None:
        """Let the arm come to rest, whatever the node's state."""
        loop = self._loop
        if loop is not None:
            loop.post(_control.DEACTIVATE_REQUEST)

    @property
    def rest_patience(self) -> float:
        """How long the arm is given to come to rest [s]: the stop that is waited for, and more."""
        stop = self._loop.settings.stop_time if self._loop is not None else 0.0
        return self.REST_PATIENCE + stop

    def is_at_rest(self) -> bool:
        """Return whether no commands hold or move an arm, or its time stands still."""
        loop = self._loop
        return loop is None or loop.is_silent or loop.stands

    def cleanup(self) -> None:
        """Destroy the topics."""
        for served in self._served:
            served.destroy()
        self._served = []
        loop = self._configured_loop
        self.halt()
        self._motions.destroy()
        loop.cleanup()

    def halt(self) -> None:
        """Stop the loop, once the arm is at rest or there is no more time for it."""
        if self._loop is not None:
            loop, patience, self._loop = self._loop, self.time_to_rest, None
            age = inf if loop.stands else 0.0  # nobody knows where it goes on
            loop.halt(patience)
            self._last_motion = last_motion(loop.known(), self.model, loop.now + age)

    def motion_left(self) -> str:
        """Return the joints that still moved when the loop ended, if that is known."""
        text, age = self._last_motion
        if age <= self.parameters["state_timeout"]:
            return text
        if text and isinf(age):
            self.get_logger().warning(f"simulated time stood still; the arm had {text}")
        elif text:
            self.get_logger().warning(
                f"the arm was braked without joint states for {age:.2g} s; last seen: {text}"
            )
        return ""

    def diagnose(self) -> Report:
        """Return the controller's condition."""
        return self._condition.report()

    # Parameters.

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Prepare the controller for new settings, all of which must be valid."""
        loop = self._configured_loop
        require_same_units(values, self.parameters)
        changed = [name for name in values if values[name] != self.parameters[name]]
        what = ", ".join(f"{name} is {values[name]}" for name in changed)
        arm = ControlledArm(self.model, values)
        model = arm.model  # also a payload that is not in force must be possible
        try:
            _ = arm.settings
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
        is_other = gravity_and_payload(values) != gravity_and_payload(self.parameters)
        loaded = model if is_other else None
        margins = arm.without_margin, arm.contact_margin
        try:
            take = loop.plan(arm, loaded)
        except TrajectoryError as error:
            raise ValueError(f"{what}: {error}") from None

        def commit() -> None:
            take()
            self._note_margins(*margins)
            if set(changed) & set(DEADLINE_NAMES):
                loop.set_deadline(values)

        return commit
