"""The torque controller for Python: joint states and requests in, commands out.

The state machine itself is compiled (cython_core/control/controller.pxd); its phases stand in
``phases``. A node has a real-time loop run it; here it is called, e.g. around a simulation:

    controller = TorqueController(JointSpace.of(model), model, settings)
    controller.activate(0.0)
    command = controller.accept_state(now, sim.q, sim.qd)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import _control
from featherstone_ros._core import BoundDynamics
from featherstone_ros._enumerations import NoteKind, Refusal
from featherstone_ros.arrays import Floats, finite_array, finite_number
from featherstone_ros.control.cartesian_impedance import one_pose, require_tip, sensor_poses
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import HOLDS, RUNNING, TEXTS, Phase
from featherstone_ros.control.reasons import REJECTIONS, Reason, RecordFormatter
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.control.trajectory import (
    Motion,
    MotionState,
    Point,
    Trajectory,
    TrajectoryError,
    plan_start,
    set_point,
)
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.kinematics import as_transforms
from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.joint_selection import absurd_text


@dataclass(frozen=True)
class Desired:
    """Desired state and error; arrays (n,).

    ``effort`` is the model's torque, ``effort_error`` the command minus that.
    """

    position: Floats
    velocity: Floats
    effort: Floats
    position_error: Floats
    velocity_error: Floats
    effort_error: Floats


class TorqueController:
    """Model-based torque control of one arm, called from Python.

    After any change (of mode, gains, model, motion, or after a gap in the states) the commands
    continue without a step. Times called ``now`` are seconds of a steady clock that the caller
    reads; the watchdogs use them. Motions advance by the time between joint states. A request that
    is refused raises a TrajectoryError that says why; then nothing has changed.
    """

    def __init__(
        self,
        space: JointSpace,
        model: Model,
        settings: ControllerSettings,
        notify: Callable[[str], None] = lambda line: None,
        tip: str = "",
        offset: ArrayLike | None = None,
        has_position_loops: bool = False,
        units: DriveUnits | None = None,
        ahead: float = 0.0,
    ) -> None:
        """Make an inactive controller.

        Args:
            space: Joint names and limits.
            model: The arm, joints in the same order.
            settings: Gains, limits, times.
            notify: Called with a line of text when the controller acts by itself.
            tip: Link that modes cartesian_impedance and admittance move, empty for none.
            offset: (4, 4) or (7,) pose of the end effector's frame in the tip's; None: the same.
            has_position_loops: The drives have position loops of their own, which follow
                ``position_command``; commands are the effort of the model in addition.
            units: Of what the drives are ``told`` and measure; None: torques. What is called a
                command stays a torque.
            ahead: Time until the middle of that in which a command acts, for which drives that are
                told positions get theirs [s].

        Raises:
            UnknownNameError: The model has no link ``tip``.
            ValueError: No joint moves it, or the mode is one of these two, and there is none.
        """
        self._space = space
        self._settings = settings
        self._notify = notify
        self._formatter = RecordFormatter(space.names)
        self._locked = {joint: k for k, joint in enumerate(model.locked_joints)}
        self._locked_ranges = model.locked_ranges
        self._followed: _control.CompiledPath | None = None
        pose = np.eye(4) if offset is None else as_transforms("offset", offset)
        self.compiled = compiled_controller(
            space,
            model,
            settings,
            tip,
            pose,
            has_position_loops=has_position_loops,
            units=units,
            ahead=ahead,
        )

    def __repr__(self) -> str:
        """Return mode, joints and phase."""
        joints = ", ".join(self._space.names)
        return f"<TorqueController in {self._settings.mode}, of {joints}: {self.phase.name}>"

    # Life

    def activate(self, now: float) -> None:
        """Begin with the next joint state, or continue if the arm has not come to rest yet."""
        self._apply(_control.ACTIVATE_REQUEST, now)

    def deactivate(self, now: float) -> None:
        """Bring the arm to rest and hold it by gravity and damping; then the commands end."""
        self._apply(_control.DEACTIVATE_REQUEST, now)

    def fall_back(self, now: float) -> None:
        """Abandon the motion for the damped gravity hold, ``decay_time`` beyond the last call.

        The motion comes to rest first, as by ``hold``.
        """
        self._apply(_control.FALL_BACK_REQUEST, now)

    # Commands

    def accept_state(
        self,
        now: float,
        q: Floats,
        qd: Floats | None = None,
        effort: Floats | None = None,
        stamp: float = 0.0,
    ) -> Floats | None:
        """Take a joint state and answer it.

        Args:
            now: Steady time of arrival [s].
            q: Position (n,) [rad] or [m], a contiguous array of float64 as the next two.
            qd: Velocity (n,), NaN where it was not measured and must be estimated; None: for all
                joints.
            effort: Effort of the drives (n,), in their units; None if unknown.
            stamp: Stamp of the state [s], 0 for none.

        Returns:
            The command (n,) [N m] or [N], overwritten by the next call; None if the state is
            refused, the controller is inactive, or commands go by the timer.
        """
        command = self.compiled.take_state(now, q, qd, effort, stamp)
        if self.compiled.has_records:
            self._tell()
        return command

    def update(self, now: float) -> Floats | None:
        """Check the age of the state; to be called every ``settings.period`` seconds.

        Returns:
            A command with ``update_on: timer``, and while joint states are missing: from a few of
            their periods on.
        """
        command = self.compiled.check_age(now)
        if self.compiled.has_records:
            self._tell()
        return command

    def take_locked(self, positions: Mapping[str, float]) -> None:
        """Take where joints stand that are not controlled here, by name [rad or m].

        The next joint state finds them there, or on their way if they have moved faster than they
        can. An absurd position is ignored, and said; others than ``model.locked_joints``, silently.
        """
        for joint, position in positions.items():
            k = self._locked.get(joint)
            if k is not None and not self.compiled.take_locked(k, position):
                low, high, _ = self._locked_ranges[:, k]
                self._notify(absurd_text(joint, position, low, high))

    # Requests

    def ask(self, request: _control.ControlRequest, now: float) -> None:
        """Make a request, as a node does of its loop."""
        refusal = self._apply(request, now)
        if refusal:
            raise TrajectoryError(self._in_words(request.why(refusal)))

    def set_trajectory(
        self,
        now: float,
        names: Sequence[str],
        points: Sequence[Point],
        delay: float | None = None,
        inspect: Callable[[Motion, float], None] = lambda motion, begin: None,
    ) -> None:
        """Follow a trajectory through points of joints in any order, see ``Trajectory``.

        ``delay``: time from now to its start [s], negative if that lies in the past; None: now.
        ``inspect``: called last with the motion that will follow, its times counted from the
        trajectory's start, and the time at which it takes over; may raise TrajectoryError.
        """
        trajectory = Trajectory(names, points, self._space, *self._settings.of_trajectories)
        if refusal := self.compiled.refusal:
            raise TrajectoryError(self._in_words(Reason(Refusal(refusal))))
        snapshot, before = self.snapshot(), self._followed
        start = plan_start(trajectory, snapshot, self._settings, delay, inspect, before)
        path = trajectory.compiled(self._settings.stop_time)
        self.ask(_control.FollowRequest(path, start), now)
        self._followed = path

    def set_point(self, now: float, point: Point) -> None:
        """Follow a streamed set-point, extrapolated until the next one.

        It is in joint order; its time is not used. A velocity that it does not have is estimated
        from the stream.
        """
        state = set_point(point, self._space, self.compiled.desired[0])
        self.ask(_control.SetPointRequest(state.rows(), len(point.velocities) > 0), now)

    def set_target(
        self,
        now: float,
        pose: ArrayLike | None = None,
        twist: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
    ) -> None:
        """Give the end effector a target, in modes cartesian_impedance and admittance.

        None leaves a part as it is. ``pose``: (4, 4), or position and quaternion x y z w (7,), in
        the base frame. ``twist``: (6,) velocity there, linear first, base axes [m/s, rad/s].
        ``wrench``: (6,) to apply in addition, force first, base axes [N, N m].
        """
        self.ask(target_request(pose, twist, wrench), now)

    def take_wrench(self, now: float, wrench: ArrayLike, link: str) -> None:
        """Take a measured wrench, which moves the end effector in mode admittance.

        It is one (6,) that acts on the link, at its origin, in its axes; force first [N, N m].

        Raises:
            UnknownNameError: The link does not move as one with the tip.
            ValueError: The wrench is not finite, or absurd.
        """
        sensors = self.compiled.sensors
        if link not in sensors:
            raise UnknownNameError("link", link, sensors)
        values = finite_array("wrench", wrench, (6,))
        if np.abs(values).max() > _control.MAX_WRENCH:
            raise ValueError(f"wrench: expected at most {_control.MAX_WRENCH:g}, got {values}")
        self.compiled.take_wrench(now, values, sensors.index(link))

    def zero_wrench(self, now: float) -> Floats:
        """Take what the sensor reads, the mean of the last 0.25 s, as its offset from now on.

        The payload's weight, where the wrench has it, is not part of the offset (6,), which is in
        the end effector's frame [N, N m]. It is refused unless the arm is held still, and where the
        readings are too few or scatter.
        """
        request = _control.ZeroRequest()
        self.ask(request, now)
        return request.offset

    def hold(self, now: float) -> None:
        """Come to rest within ``stop_time`` and stay there; ends a fault."""
        self.ask(_control.HOLD_REQUEST, now)

    def configure(
        self,
        now: float,
        settings: ControllerSettings,
        model: Model | None = None,
        transition_time: float = 0.0,
        space: JointSpace | None = None,
    ) -> None:
        """Change the settings at any time, without a step in the command.

        ``model``: with another payload or gravity, which takes effect within ``transition_time``
        [s], at once while silent; None: as it is. ``space``: the same joints with other ``rates``,
        which follow from payload and efforts; motions that are made from now on keep to them.

        Raises:
            ValueError: ``hardware_adds_gravity`` differs while commands go out, the effort limits
                would not let the arm be held and braked, ``state_timeout`` is shorter than the
                joint states are apart, or the time is not finite. Nothing has changed.
        """
        rates = None if space is None else space.rates
        request = _control.ConfigureRequest(settings, rates)
        change = None if model is None else _model_request(model, transition_time)
        self.ask(_control.CheckRequest(request, change), now)
        self._apply(request, now)
        self._settings = settings
        self._space = self._space if space is None else space
        if change is not None:
            self._apply(change, now)

    def place_locked(self, now: float, positions: ArrayLike) -> None:
        """Move locked joints of which no joint state tells, to positions (m,) [rad or m].

        They go there no faster than they can; at once while silent.
        """
        self._apply(_control.LockedRequest(positions), now)

    def change_model(self, now: float, model: Model, transition_time: float) -> None:
        """Change to another payload or gravity within a time [s], at once while silent.

        Raises:
            ValueError: The effort limits would not let the arm be held and braked, or the time is
                not finite.
        """
        request = _model_request(model, transition_time)
        self.ask(_control.CheckRequest(_control.ConfigureRequest(self._settings), request), now)
        self._apply(request, now)

    # Queries

    @property
    def phase(self) -> Phase:
        """The present phase."""
        return Phase(self.compiled.phase)

    @property
    def hold_reason(self) -> str:
        """Why the arm was last held, in words."""
        return self.snapshot().hold.text(self._space.names)

    @property
    def position_command(self) -> Floats:
        """Position and velocity (2, n) that go with the last command [rad, rad/s or m, m/s].

        For drives with position loops (``has_position_loops``).
        """
        return self.compiled.position_command

    @property
    def told(self) -> Floats:
        """What the drives are told (n,) for the last command, each in its unit.

        A torque, current or duty cycle within the drive's own limits, or a position whose offset
        makes the torque, bounded in velocity and acceleration.
        """
        return self.compiled.told

    @property
    def rejection(self) -> str:
        """Why the last state was refused, empty if it was accepted."""
        return self.snapshot().rejection.text(self._space.names)

    @property
    def refused(self) -> dict[str, int]:
        """Numbers of refused states, by reason."""
        return rejections(self.snapshot())

    @property
    def interventions(self) -> int:
        """Number of commands that the effort limits or the rate limit changed."""
        return self.snapshot().interventions

    def snapshot(self) -> _control.SnapshotRequest:
        """Return all that the controller knows at this moment."""
        snapshot = _control.SnapshotRequest(len(self._space.names))
        self.compiled.apply(snapshot, 0.0)
        return snapshot

    def desired(self) -> Desired | None:
        """Return the desired state of the last command with its error; None while not running."""
        return desired_of(self.snapshot(), self._settings)

    def lost(self) -> dict[str, str]:
        """Return, by joint, how the effort limits reduced the parts of the last command."""
        return lost_of(self.snapshot(), self._settings, self._space.names)

    # Within

    def _apply(self, request: _control.ControlRequest, now: float) -> int:
        refusal = self.compiled.apply(request, now)
        self._tell()
        return refusal

    def _in_words(self, refusal: Reason) -> str:
        return refusal.text(self._space.names, TEXTS[self.phase], self.hold_reason)

    def _tell(self) -> None:
        """Report the records, and release objects that are no longer in use."""
        records = self.compiled.records()
        for kind, _, _, _, number in records:
            if kind == NoteKind.RELEASED:
                self.compiled.release(number)
        for line in self._formatter.lines(records):
            self._notify(line)


def compiled_controller(
    space: JointSpace,
    model: Model,
    settings: ControllerSettings,
    tip: str,
    offset: Floats,
    wrench_link: str = "",
    **options: Any,
) -> _control.CompiledController:
    """Return an inactive controller; arguments and errors are those of ``TorqueController``.

    ``wrench_link``: that of wrenches whose frame is no link's; empty: they are refused.
    """
    if tip:
        require_tip(model, tip)
    index = model.link_names.index(tip) if tip else -1
    sensors = sensor_poses(model.following(), tip, offset)
    if wrench_link and sensors and wrench_link not in sensors:
        expected = ", ".join(sensors)
        raise ValueError(
            f"wrench_link is {wrench_link!r}, expected one that is rigidly connected to {tip}: "
            f"{expected}"
        )
    first = _control.ModelRequest(BoundDynamics(model.following()))
    return _control.CompiledController(
        space,
        settings,
        first,
        index,
        offset,
        model.base_link,
        sensors,
        wrench_link=list(sensors).index(wrench_link) if wrench_link and sensors else -1,
        **options,
    )


def rejections(snapshot: _control.SnapshotRequest) -> dict[str, int]:
    """Return the numbers of refused states, by reason."""
    counts = zip(REJECTIONS.values(), snapshot.rejected, strict=True)
    return {reason: count for reason, count in counts if count}


def target_request(
    pose: ArrayLike | None = None,
    twist: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
    lasting: float = np.inf,
) -> _control.TargetRequest:
    """Return the request for a target of the end effector, see ``TorqueController.set_target``.

    The velocity ends after ``lasting`` [s], if not before by ``target_timeout``.
    """
    try:
        return _control.TargetRequest(
            None if pose is None else one_pose("pose", pose),
            None if twist is None else finite_array("twist", twist, (6,)),
            None if wrench is None else finite_array("wrench", wrench, (6,)),
            lasting,
        )
    except ValueError as error:
        raise TrajectoryError(str(error)) from None


def desired_of(snapshot: _control.SnapshotRequest, settings: ControllerSettings) -> Desired | None:
    """Return desired state and error of a snapshot; None unless the selected law commands."""
    if Phase(snapshot.phase) not in RUNNING:
        return None
    state = MotionState(*snapshot.desired)
    command = snapshot.command
    if settings.hardware_adds_gravity:
        command = command + snapshot.gravity
    return Desired(
        state.position,
        state.velocity,
        snapshot.model_torque,
        state.position - snapshot.q,
        state.velocity - snapshot.qd,
        command - snapshot.model_torque,
    )


def lost_of(
    snapshot: _control.SnapshotRequest, settings: ControllerSettings, names: Sequence[str]
) -> dict[str, str]:
    """Return, by joint, how the effort limits reduced the parts of a snapshot's command."""
    if Phase(snapshot.phase) not in RUNNING:
        return {}
    limit, gravity = settings.effort_limit, snapshot.gravity
    asked = snapshot.asked + gravity if settings.hardware_adds_gravity else snapshot.asked
    parts = (gravity, snapshot.model_torque - gravity, asked - snapshot.model_torque)
    left = cut(*parts, limit)
    return {
        joint: ", ".join(
            f"{name} cut by {part[j] - rest[j]:.3g}"
            for name, part, rest in zip(
                ("gravity", "feedforward", "feedback"), parts, left, strict=True
            )
            if part[j] != rest[j]
        )
        for j, joint in enumerate(names)
        if abs(asked[j]) > limit[j]
    }


def cut(
    gravity: Floats, feedforward: Floats, feedback: Floats, limit: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the three parts of an effort after the limits, each (n,).

    Feedback is cut first, as far as that helps; then feedforward; gravity last.
    """
    parts = [gravity, feedforward, feedback]
    for i in (2, 1, 0):
        total = parts[0] + parts[1] + parts[2]
        excess = total - np.clip(total, -limit, limit)
        smaller = np.clip(parts[i] - excess, np.minimum(parts[i], 0.0), np.maximum(parts[i], 0.0))
        # A part that points inwards already helps: cutting it would only add to the excess.
        parts[i] = np.where(excess * parts[i] > 0.0, smaller, parts[i])
    return parts[0], parts[1], parts[2]


__all__ = ["HOLDS", "RUNNING", "Desired", "Phase", "TorqueController", "desired_of", "lost_of"]


def _model_request(model: Model, transition_time: float) -> _control.ModelRequest:
    transition = finite_number("transition_time", transition_time, 0.0)
    return _control.ModelRequest(BoundDynamics(model.following()), transition)
