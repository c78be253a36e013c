"""What clients of joint_trajectory_controller expect, where control_msgs is installed.

The action ~/follow_joint_trajectory: the loop follows a goal's trajectory and watches its path
tolerances as those of any other; nothing in it waits for what is here. If this fails, or its client
is gone, the arm still does what the loop does by itself: it ends the motion and holds. A goal that
is given up here stops the arm.

The topic ~/controller_state: while there are subscribers, Python asks the loop for one snapshot
after the other.
"""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from trajectory_msgs.msg import JointTrajectoryPoint

from featherstone_ros.control.goal_tolerances import (
    ErrorCode,
    GoalStatus,
    GoalTracker,
    GoalVerdict,
    Tolerances,
    code_of,
    goal_tolerances,
)
from featherstone_ros.control.phases import RUNNING, Phase
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.nodes.controller_loop import ControllerLoop
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.motion_input import MotionInput
from featherstone_ros.nodes.topics import RELIABLE, seconds

ACTION = "~/follow_joint_trajectory"
Result, Feedback = FollowJointTrajectory.Result, FollowJointTrajectory.Feedback


class Goal(NamedTuple):
    """A goal that the loop follows."""

    handle: ServerGoalHandle
    tracker: GoalTracker


class Goals:
    """The action server of one controller: at most one goal is followed at a time."""

    def __init__(
        self, node: ModelNode, loop: ControllerLoop, motions: MotionInput, rate: float
    ) -> None:
        """Serve; goals are checked, and feedback is published, at a rate [Hz]."""
        self._node, self._loop, self._motions = node, loop, motions
        self._joints = loop.space.names
        self._goal: Goal | None = None
        self._planned: tuple[Any, Tolerances] | None = None
        self._timer = node.create_timer(1.0 / rate, self._update, clock=node.steady_clock)
        self._timer.cancel()  # a needless wake-up of the executor delays others
        self._server = NonBlockingActionServer(
            node,
            FollowJointTrajectory,
            ACTION.replace("~", node.get_fully_qualified_name()),
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )

    def destroy(self) -> None:
        """End the present goal, and stop serving."""
        if self._goal is not None:
            self._end(self._goal, aborted("the controller is ended"))
        self._node.destroy_timer(self._timer)
        self._server.destroy()

    # From clients. An exception here would leave them without an answer.

    def _on_goal(self, goal: FollowJointTrajectory.Goal) -> GoalResponse:
        try:
            self._planned = self._plan(goal)
        except TrajectoryError as error:
            self._loop.refusals.refuse(ACTION, f"{code_of(error).name}: {error}")
        except Exception:
            self._node.log.error(f"refused a goal: unexpected exception\n{traceback.format_exc()}")
        else:
            return GoalResponse.ACCEPT
        return GoalResponse.REJECT

    def _plan(self, goal: FollowJointTrajectory.Goal) -> tuple[Any, Tolerances]:
        if not goal.trajectory.points:
            raise TrajectoryError("the trajectory has no points, expected at least one")
        if goal.multi_dof_trajectory.points:
            raise TrajectoryError("multi_dof_trajectory has points, expected none")
        tolerances = goal_tolerances(
            self._loop.arm.tolerances,
            self._joints,
            goal.path_tolerance,
            goal.goal_tolerance,
            seconds(goal.goal_time_tolerance),
        )
        return self._motions.plan_trajectory(goal.trajectory, tolerances), tolerances

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        try:
            if self._planned is None:
                raise TrajectoryError("nothing was planned for the goal")
            request, tolerances = self._planned
            self._follow(handle, tolerances, request)
        except Exception as error:  # the motion before goes on
            verdict = aborted(str(error))
            if isinstance(error, TrajectoryError):
                self._node.log.warning(f"goal aborted, {verdict.code.name}: {verdict.text}")
            else:
                self._node.log.error(f"goal aborted:\n{traceback.format_exc()}")
            handle.abort()
            self._server.conclude(handle, result(verdict))

    def _follow(self, handle: ServerGoalHandle, tolerances: Tolerances, request: Any) -> None:
        """Have the loop follow a goal."""
        causes = self._loop.snapshot().causes
        self._motions.follow(request)
        tracker = GoalTracker(request.path.number, tolerances, self._joints, causes)
        before, self._goal = self._goal, Goal(handle, tracker)
        self._timer.reset()
        if before is not None:
            self._end(before, aborted("preempted by a new goal"))

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        goal = self._goal
        if goal is None or goal.handle.goal_id != handle.goal_id:
            return CancelResponse.REJECT
        try:
            self._motions.stop_motion()
        except Exception:
            self._node.log.error(f"goal not cancelled:\n{traceback.format_exc()}")
            return CancelResponse.REJECT
        goal.tracker.cancel()
        return CancelResponse.ACCEPT

    # From moment to moment.

    def _update(self) -> None:
        goal = self._goal
        if goal is None:
            self._timer.cancel()
            return
        try:
            snapshot = self._loop.snapshot()
            verdict = goal.tracker.update(snapshot)
            if verdict.status is GoalStatus.RUNNING:
                goal.handle.publish_feedback(feedback(snapshot, self._joints))
                return
        except TrajectoryError as error:  # the loop is busy
            self._node.log.warning(f"a goal could not be checked: {error}")
            return
        except Exception:
            self._node.log.error(f"goal aborted:\n{traceback.format_exc()}")
            self._motions.stop_motion()
            verdict = aborted("unexpected exception, see the controller's log")
        self._end(goal, verdict)

    def _end(self, goal: Goal, verdict: GoalVerdict) -> None:
        """Send the client the outcome of its goal."""
        if self._goal is goal:
            self._goal = None
            self._timer.cancel()
        handle = goal.handle
        if verdict.status is GoalStatus.SUCCEEDED:
            handle.succeed()
        elif handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
            self._node.log.warning(f"goal aborted, {verdict.code.name}: {verdict.text}")
        self._server.conclude(handle, result(verdict))


class NonBlockingActionServer(ActionServer):
    """An action server whose goals run without a waiting callback.

    rclpy executes a goal in a coroutine, which keeps the executor busy while it waits. Here the
    node's loop executes the goal, until ``conclude``.
    """

    def __init__(self, node: Any, kind: Any, name: str, **callbacks: Any) -> None:
        """Serve an action of a full name."""
        super().__init__(node, kind, name, None, **callbacks)

    def conclude(self, handle: ServerGoalHandle, answer: Any) -> None:
        """Send the result of a goal that has ended to clients that request it."""
        super().notify_execute(handle, lambda _: answer)

    def register_execute_callback(self, execute_callback: Any) -> None:
        """Do nothing: see ``conclude``."""

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Do nothing: see ``conclude``."""


def aborted(text: str) -> GoalVerdict:
    """Return the verdict on a goal that ends for a reason outside the loop."""
    return GoalVerdict(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, text)


def result(verdict: GoalVerdict) -> Any:
    """Return the result message of a verdict."""
    return Result(error_code=int(verdict.code), error_string=verdict.text)


def feedback(snapshot: Any, names: tuple[str, ...]) -> Any:
    """Return the feedback message for a snapshot."""
    message = Feedback(joint_names=list(names))
    message.header.stamp.sec, message.header.stamp.nanosec = snapshot.stamp
    message.desired, message.actual, message.error = points(snapshot)
    return message


CHECK_PERIOD = 0.5  # [s] between two checks whether anybody listens; each costs half a millisecond


class ControllerState:
    """Publishes the desired state, the measured state and the command, all of the same cycle."""

    def __init__(self, node: ModelNode, loop: ControllerLoop, rate: float) -> None:
        """Make the topic; ``rate`` in Hz."""
        self._node, self._loop = node, loop
        self._publisher = node.create_publisher(
            JointTrajectoryControllerState, "~/controller_state", RELIABLE
        )
        self._timer = node.create_timer(1.0 / rate, self._publish, clock=node.rate_clock)
        self._timer.cancel()  # a needless wake-up of the executor delays others
        self._check_timer = node.create_timer(
            CHECK_PERIOD, self._publish_if_heard, clock=node.steady_clock
        )

    def _publish_if_heard(self) -> None:
        """Begin to publish once there is a subscriber."""
        if self._timer.is_canceled() and self._publisher.get_subscription_count():
            self._timer.reset()

    def destroy(self) -> None:
        """Take the topic away."""
        self._node.destroy_timer(self._check_timer)
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _publish(self) -> None:
        if not self._publisher.get_subscription_count():
            self._timer.cancel()
            return
        try:
            snapshot = self._loop.snapshot()
        except TrajectoryError:  # the loop is busy
            return
        if Phase(snapshot.phase) in RUNNING:
            self._publisher.publish(state_message(snapshot, self._loop.space.names))


def state_message(snapshot: Any, names: tuple[str, ...]) -> JointTrajectoryControllerState:
    """Return the message for a snapshot, with the fields of joint_trajectory_controller's."""
    message = JointTrajectoryControllerState(joint_names=list(names), speed_scaling_factor=1.0)
    message.header.stamp.sec, message.header.stamp.nanosec = snapshot.stamp
    message.reference, message.feedback, message.error = points(snapshot)
    message.reference.effort = snapshot.model_torque
    message.output.effort = snapshot.command
    return message


def points(snapshot: Any) -> list[JointTrajectoryPoint]:
    """Return what is desired, what is measured, and the error between them.

    All at the snapshot's time of the trajectory, 0 without one.
    """
    time = max(snapshot.elapsed, 0.0) if snapshot.path else 0.0
    since = Duration(sec=int(time), nanosec=int(time % 1.0 * 1e9))
    desired, measured = snapshot.desired[:3], np.stack([snapshot.q, snapshot.qd])
    names = ("positions", "velocities", "accelerations")
    return [
        JointTrajectoryPoint(time_from_start=since, **dict(zip(names, state, strict=False)))
        for state in (desired, measured, desired[:2] - measured)
    ]
