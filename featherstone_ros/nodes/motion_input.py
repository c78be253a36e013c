"""What the controller's arm is asked to do: trajectories, set-points, targets of the end effector.

Each message becomes a request to the loop, or is refused with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros import Dynamics, _control
from featherstone_ros._enumerations import Refusal
from featherstone_ros.arrays import Floats, finite_array
from featherstone_ros.control.cartesian_impedance import PoseStream, one_pose
from featherstone_ros.control.controller import target_request
from featherstone_ros.control.diagnostics import StreamWatch, Takeover
from featherstone_ros.control.feasibility import (
    Preflight,
    check_set_point,
    check_trajectory,
    is_beyond,
)
from featherstone_ros.control.goal_tolerances import Tolerances, with_others
from featherstone_ros.control.reasons import Reason, late_start
from featherstone_ros.control.tool_weight import SensorZeros
from featherstone_ros.control.trajectory import (
    LimitsError,
    Motion,
    Point,
    Trajectory,
    TrajectoryError,
    is_same_clock,
    plan_start,
    set_point,
    start_delay,
    timed,
)
from featherstone_ros.errors import MessageError
from featherstone_ros.model import Model
from featherstone_ros.nodes.controller_loop import NEAR, SAME, ControllerLoop
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.topics import NEWEST, RELIABLE, decode, seconds


class PlannedTrajectory(_control.FollowRequest):
    """The request to follow a trajectory.

    Attributes:
        preflight: Why the arm cannot follow it; empty if it can, or if that is not checked.
        goal: (n,) where it ends [rad or m].
        shorter_ways: Goals that were moved by whole turns, and where to, for the log.
        tolerance: (n,) its goal tolerance [rad or m].
        takeover: How it replaces what was asked for before.
    """

    preflight = ""
    goal: Any = None
    shorter_ways: str = ""
    tolerance: Any = 0.0
    takeover: Takeover


class MotionInput:
    """The topics and the services that move the arm, and what the action needs of them.

    Attributes:
        followed: The last trajectory that the loop has accepted; None before.
        stream: How those that it has accepted fit together.
    """

    def __init__(self, node: ModelNode, loop: ControllerLoop) -> None:
        """Listen, and ask the loop to follow."""
        self._node, self._loop = node, loop
        self.followed: PlannedTrajectory | None = None
        self.stream = StreamWatch(loop.space.names)
        self._poses, self._twist_at = PoseStream(), -inf
        self._zeros = SensorZeros()
        self._subscriptions = [
            self._listen(
                JointTrajectory,
                "joint_trajectory",
                lambda message: self.follow(self.plan_trajectory(message, loop.arm.tolerances)),
                RELIABLE,
            ),
            self._listen(JointTrajectoryPoint, "reference", self._on_reference, NEWEST),
            self._listen(PoseStamped, "target_pose", self._on_target, NEWEST),
            self._listen(TwistStamped, "target_twist", self._on_target, NEWEST),
            self._listen(WrenchStamped, "target_wrench", self._on_target, NEWEST),
            self._listen(Float64MultiArray, "stiffness", self._on_stiffness, NEWEST),
        ]
        self._services = [
            node.create_service(Trigger, "~/hold", self._on_hold),
            node.create_service(Trigger, "~/zero_wrench", self._on_zero_wrench),
        ]

    def destroy(self) -> None:
        """Stop listening."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        for service in self._services:
            self._node.destroy_service(service)

    def _listen(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> Any:
        """Subscribe, and report messages that the callback refuses."""

        def take(message: bytes) -> None:
            try:
                callback(decode(kind, message))
            except (MessageError, TrajectoryError) as error:
                self._loop.refusals.refuse(f"~/{topic}", error)

        return self._node.create_subscription(kind, f"~/{topic}", take, qos, raw=True)

    # Trajectories.

    def plan_trajectory(
        self, message: JointTrajectory, tolerances: Tolerances
    ) -> PlannedTrajectory:
        """Return the request to follow a trajectory, with its own tolerances."""
        # Before the look at the state, which is zero until the first one.
        if refusal := self._loop.controller.refusal:  # no motion of the joints can be followed now
            raise TrajectoryError(self._loop.text_of(Reason(Refusal(refusal))))
        space, settings, snapshot = self._loop.space, self._loop.settings, self._loop.snapshot()
        frequency = float(self._node.parameters["policy_frequency"])
        names, points = message.joint_names, timed(list(map(point_of, message.points)), frequency)
        if self._node.parameters["allow_partial_joints_goal"]:
            rest, _ = _control.stopping_position(
                snapshot.desired,
                settings.stop_time,
                space.lower,
                space.upper,
                space.velocity,
                space.rates,
            )
            names, points = with_others(names, points, space.names, rest)
        sent = Trajectory(names, points, space, *settings.of_trajectories)
        trajectory = sent.without_own_torque(self._loop.dynamics(), settings.drives)
        if trajectory is not sent:
            self._node.get_logger().info(
                "the trajectory's efforts are the model's own torque, and are not added to it"
            )
        asked, now = seconds(message.header.stamp), self._loop.ros_time
        delay = start_delay(asked, _stamp(snapshot), now) if asked else None  # None: now
        verdict = ""

        def judge(motion: Motion, begin: float) -> None:
            nonlocal verdict
            verdict = self._inspect(snapshot.desired[1], motion, begin)

        before = self.followed.path if self.followed else None
        start = plan_start(trajectory, snapshot, settings, delay, judge, before)
        if asked and is_same_clock(asked, _stamp(snapshot), now):
            start = asked - snapshot.origin  # the same to the bit, whenever it arrives
        late = late_start(delay or 0.0, now)
        if late:
            self._node.get_logger().warning(late)
        request = PlannedTrajectory(trajectory.compiled(settings.stop_time, tolerances.path), start)
        request.goal = trajectory.state(-1).position
        request.tolerance = tolerances.goal[0]
        request.preflight = verdict
        request.shorter_ways = trajectory.shorter_ways()
        request.takeover = Takeover.of(request.path, snapshot, delay or 0.0)
        return request

    def follow(self, request: PlannedTrajectory) -> None:
        """Have the loop follow what was planned."""
        self._loop.ask(request)
        self.followed = request
        self.stream.note(request.takeover)
        count, duration = len(request.path.times), request.path.duration
        ways = f"; {request.shorter_ways}" if request.shorter_ways else ""
        self._node.get_logger().info(f"trajectory of {count} points, {duration:.3f} s{ways}")

    def stop_motion(self) -> None:
        """Have the arm stop and hold, without waiting for it."""
        self._loop.post(_control.HOLD_REQUEST)

    def _inspect(self, velocity: Floats, motion: Motion, begin: float) -> str:
        """Return why the arm cannot follow; empty if it can, or if ``preflight`` is off."""
        node, loop = self._node, self._loop
        if node.parameters["preflight"] == Preflight.OFF:
            return ""
        verdict = check_trajectory(
            loop.dynamics(), node.model, loop.settings, motion, begin, velocity
        )
        problem = "" if verdict.fits else str(verdict)
        refused = is_beyond(verdict, motion, velocity)
        return self._judge(problem, "the trajectory", node.get_logger(), refused)

    def _judge(self, problem: str, what: str, log: Any, refused: bool = False) -> str:
        """Warn of what the arm cannot follow, and return the problem."""
        refused = refused or self._node.parameters["preflight"] == Preflight.REJECT
        if problem and refused:
            raise LimitsError(f"the arm cannot follow: {problem}")
        if problem:
            log.warning(f"the arm cannot follow {what}: {problem}")
        return problem

    # Set-points, targets, holds.

    def _on_reference(self, message: JointTrajectoryPoint) -> None:
        loop = self._loop
        point = point_of(message)
        state = set_point(point, loop.space, loop.controller.desired[0])
        if self._node.parameters["preflight"] != Preflight.OFF:
            problem = check_set_point(loop.dynamics(), self._node.model, loop.settings, state)
            self._judge(problem, "a set-point", self._node.log)
        loop.ask(_control.SetPointRequest(state.rows(), len(point.velocities) > 0))

    def _on_target(self, message: PoseStamped | TwistStamped | WrenchStamped) -> None:
        """Give the end effector a target; its frame is taken at its present pose."""
        frame, model = message.header.frame_id, self._node.model
        q = self._loop.snapshot().q if frame else np.zeros(model.n)
        tip, unknown = self._loop.arm.tip, self._loop.unknown_joints
        dynamics = self._loop.dynamics(SAME if frame else NEAR)
        place = frame_pose(frame, tip, model, dynamics, q, unknown)
        target = target_of(message, place)
        if isinstance(message, TwistStamped):
            self._twist_at = self._loop.now
        lasting = inf
        if "pose" in target:  # its velocity, unless somebody gives it
            twist, lasting = self._poses.velocity(seconds(message.header.stamp), target["pose"])
            if lasting and self._loop.now - self._twist_at > self._loop.settings.target_timeout:
                target["twist"] = twist
        self._loop.ask(target_request(**target, lasting=lasting))

    def _on_stiffness(self, message: Float64MultiArray) -> None:
        """Set the parameter of that name: it has the limits, and takes effect smoothly."""
        stiffness = list(message.data)
        if stiffness != self._node.parameters["stiffness"]:
            changed = Parameter("stiffness", Parameter.Type.DOUBLE_ARRAY, stiffness)
            result = self._node.set_parameters_atomically([changed])
            if not result.successful:
                raise MessageError(result.reason)

    def _on_zero_wrench(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        request = _control.ZeroRequest()
        try:
            self._loop.ask(request)
        except TrajectoryError as error:
            response.success, response.message = False, str(error)
            return response
        force, moment = request.offset.reshape(2, 3)
        response.success = True
        response.message = (
            f"subtracted from now on, at the tip: {force[0]:.2f} {force[1]:.2f} {force[2]:.2f} N, "
            f"{moment[0]:.3f} {moment[1]:.3f} {moment[2]:.3f} N m"
        )
        tool = self._zeros.note(request.offset, request.rotation, self._loop.present())
        if tool:
            response.message += f"; {tool}"
        self._node.get_logger().info(f"zero of ~/wrench: {response.message}")
        return response

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, "stopping and holding"
        try:
            self._loop.ask(_control.HOLD_REQUEST)
        except TrajectoryError as error:
            response.success, response.message = False, str(error)
        return response


def _stamp(snapshot: Any) -> float:
    """Return the stamp of the last joint state [s]."""
    return float(snapshot.stamp[0] + 1e-9 * snapshot.stamp[1])


def point_of(message: JointTrajectoryPoint) -> Point:
    """Return a message's point."""
    return Point(
        seconds(message.time_from_start),
        message.positions,
        message.velocities,
        message.accelerations,
        message.effort,
    )


def frame_pose(
    frame: str, tip: str, model: Model, dynamics: Dynamics, q: Floats, unknown: Collection[str]
) -> Floats:
    """Return the pose (4, 4) of a ``frame_id`` in the base frame, with the arm at q (n,)."""
    if frame in ("", model.base_link):
        return np.eye(4)
    if frame not in model.link_names:
        raise MessageError(
            f"header.frame_id is {frame!r}, expected {model.base_link!r}, nothing or a link: "
            + ", ".join(model.link_names)
        )
    links, locked = model.link_names, model.tree.link_locked
    own = locked[links.index(tip)] if tip else frozenset()
    if between := (locked[links.index(frame)] - own) & frozenset(unknown):
        raise MessageError(
            f"header.frame_id is {frame!r}, which lies beyond {', '.join(sorted(between))}: not "
            "among `joints`, and joint_states does not tell its position; expected "
            f"{model.base_link!r} or a link of this arm"
        )
    return dynamics.link_pose(q, frame)


def target_of(
    message: PoseStamped | TwistStamped | WrenchStamped, frame: Floats
) -> dict[str, Floats]:
    """Return the target's ``pose`` (4, 4), or ``twist`` or ``wrench`` (6,), in the base frame.

    ``frame``: (4, 4) that of the message.
    """
    try:
        if isinstance(message, PoseStamped):
            position, turn = message.pose.position, message.pose.orientation
            return {"pose": frame @ one_pose("pose", [*vector(position), *vector(turn), turn.w])}
        if isinstance(message, TwistStamped):
            name, linear, angular = "twist", message.twist.linear, message.twist.angular
        else:
            name, linear, angular = "wrench", message.wrench.force, message.wrench.torque
        both = finite_array(name, [*vector(linear), *vector(angular)]).reshape(2, 3)
    except ValueError as error:
        raise MessageError(str(error)) from None
    return {name: (both @ frame[:3, :3].T).reshape(6)}


def vector(message: Any) -> tuple[float, float, float]:
    """Return x, y, z."""
    return message.x, message.y, message.z
