"""The torque controller: joint states and motions in, commands out, and what to do when they stop.

Times called ``now`` are seconds of a steady clock that the caller reads; the watchdogs use them.
What moves (trajectories, fades, rate limits) goes by the time between joint states, see
``StateGate``: a simulation that runs at another speed than the wall clock is controlled alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import _control
from featherstone_ros.control.dead_reckoning import dead_reckoning
from featherstone_ros.control.dynamics_blend import DynamicsBlend, InverseDynamics
from featherstone_ros.control.governor import TorqueGovernor, cut
from featherstone_ros.control.laws import ControlLaws
from featherstone_ros.control.motion import Knot, Motion
from featherstone_ros.control.prospect import NEXT, Prospect, Waiting, earlier
from featherstone_ros.control.settings import Choice, Mode, Settings, UpdateOn
from featherstone_ros.control.state import StateGate
from featherstone_ros.control.trajectory import JointSpace, Point, Trajectory, TrajectoryError

Floats = NDArray[np.float64]

EFFORT_TOLERANCE = 1.5  # times the effort limit that a measured effort may be, to be believed
STALL = 3.0  # periods without a call of update: the process stood still, not the arm


class Phase(Choice):
    """What the controller is doing."""

    INACTIVE = "inactive"  # no commands
    WAITING = "waiting for a joint state"  # active, no commands
    RUNNING = "running"  # commands by the law in force
    HOLDING = "gravity hold"  # commands, on the way to WAITING or INACTIVE


class Following(Choice):
    """Where the desired state comes from."""

    HOLD = "hold"
    TRAJECTORY = "trajectory"
    REFERENCE = "reference"


@dataclass(frozen=True)
class Desired:
    """Desired state and error for publication; arrays (n,) of their own.

    ``effort`` is the model's torque, ``effort_error`` what the command adds to it.
    """

    position: Floats
    velocity: Floats
    effort: Floats
    position_error: Floats
    velocity_error: Floats
    effort_error: Floats


class TorqueController:
    """Model-based torque control of one arm.

    The desired state is a ``Motion`` at all times: a hold, a trajectory or an extrapolated
    set-point. Whatever changes (mode, gains, model, motion, state after a gap), the next command
    begins at the last one, see ``TorqueGovernor``.

    Attributes:
        phase: What the controller is doing.
        following: Where the desired state comes from.
        gate: The last good joint state and what became of the others.
        hold_reason: Why it went into the last gravity hold, in words.
    """

    def __init__(
        self,
        space: JointSpace,
        dynamics: InverseDynamics,
        settings: Settings,
        notify: Callable[[str], None] = lambda message: None,
    ) -> None:
        """Make an inactive controller.

        Args:
            space: Joint names and limits.
            dynamics: The arm's inverse dynamics, joints in the same order.
            settings: Gains, limits, times.
            notify: Called with one line when the controller changes its phase by itself.
        """
        self.phase = Phase.INACTIVE
        self.following = Following.HOLD
        self.gate = StateGate(space.velocity_limit, space.lower, space.upper)
        self._space = space
        self._settings = settings
        self._notify = notify
        self._dynamics = DynamicsBlend(dynamics, settings.n)
        self._laws = ControlLaws(self._dynamics, settings)
        self._governor = TorqueGovernor(settings.effort_limit, settings.torque_rate)
        self._motion = Motion.hold(np.zeros(settings.n))
        self._pending: deque[Waiting] = deque()
        self._desired = np.zeros((3, settings.n))
        self._gravity = np.zeros(settings.n)
        self._no_effort = np.zeros(settings.n)
        self._active = False
        self._reference_received = 0.0
        self._commanded = 0.0
        self._has_commanded = False
        self.hold_reason = ""
        self._held_since = 0.0
        self._hold_until = -inf  # no recovery from a gravity hold before
        self._hold_has_states = False
        self._expected: Motion | None = None  # of the arm, by steady time, in a hold without states
        self._updated = 0.0

    # Life

    def activate(self, now: float) -> None:
        """Begin with the next joint state; a gravity hold goes on until then."""
        self._active = True
        self._updated = now
        self.gate.forget()
        if self.phase is Phase.INACTIVE:
            self.phase = Phase.WAITING

    def deactivate(self, now: float) -> None:
        """Decay to the gravity hold, which ends after ``give_up_after``."""
        self._active = False
        if self.phase is Phase.RUNNING:
            self._begin_hold(now, "deactivated")
        elif self.phase is Phase.WAITING:
            self.phase = Phase.INACTIVE

    def fall_back(self, now: float, reason: str) -> None:
        """Abandon the motion for the gravity hold, as when joint states stop.

        To be called as long as the reason lasts. The hold goes on for ``decay_time`` after the last
        call, so that it has been reached; then the next good state ends it. As long as states come
        it does not end in silence, however long it lasts. Nothing happens unless commands go out.

        Args:
            now: Steady time [s].
            reason: In words, for the log and ``hold_reason``.
        """
        if self.phase is Phase.RUNNING:
            self._notify(f"{reason}: gravity hold; the motion is abandoned")
            self._begin_hold(now, reason)
        self._hold_until = now + self._settings.decay_time

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
            q: Position (n,) [rad] or [m].
            qd: Velocity (n,); None if the state has none: it is estimated.
            effort: What the drives apply (n,); None if unknown.
            stamp: Stamp of the state [s], 0 for none.

        Returns:
            The command (n,) [N m] or [N], overwritten by the next call; None if the state is
            refused, the controller is inactive, or commands go by the timer.
        """
        if self.phase is Phase.INACTIVE:
            return None
        settings = self._settings
        last = self.gate.received
        if not self.gate.accept(
            now, stamp, q, qd, settings.jump_tolerance, settings.velocity_cutoff
        ):
            return None
        dt = self.gate.dt
        if self.phase is Phase.WAITING:
            self._start(effort)
        elif self.phase is Phase.HOLDING:
            dt = now - self._commanded  # without states, commands have gone out between them
            if self._active:
                self._held_since = now
                if now >= self._hold_until:
                    self._recover()
        elif min(now - last, dt) > settings.state_timeout:
            # As if the watchdog had looked in between: by now the motion would be far ahead.
            self._abandon(f"no joint state for {dt:.3f} s (state_timeout)")
        if settings.update_on is UpdateOn.TIMER:
            return None
        return self._command(now, self.gate.time, dt)

    def update(self, now: float) -> Floats | None:
        """Look at the age of the state; to be called every ``settings.period`` seconds.

        Args:
            now: Steady time [s].

        Returns:
            A command with ``update_on: timer`` and in a gravity hold without joint states.
        """
        settings = self._settings
        stalled = now - self._updated > STALL * settings.period
        self._updated = now
        stale = now - self.gate.received > settings.state_timeout
        # After a stall of this process the states that arrived meanwhile are still to be read.
        if self.phase is Phase.RUNNING and stale and not stalled:
            objection = self.gate.objection and f" (refused: {self.gate.objection})"
            self._notify(
                f"no usable joint state for {now - self.gate.received:.3f} s (state_timeout "
                f"{settings.state_timeout:g} s){objection}: gravity hold of the last good one; the "
                "motion is abandoned"
            )
            self._begin_hold(now, f"no usable joint states{objection}")
            self.gate.forget()
        if self.phase is Phase.HOLDING and now - self._held_since >= settings.give_up_after:
            self._give_up()
        if self.phase is Phase.HOLDING and stale:
            self._dynamics.advance(now - self._commanded)
            return self._hold_command(now, now - self._commanded, fresh=False)
        if settings.update_on is UpdateOn.TIMER and self.phase in (Phase.RUNNING, Phase.HOLDING):
            time = self.gate.time + now - self.gate.received
            return self._command(now, time, now - self._commanded)
        return None

    def _command(self, now: float, time: float, dt: float) -> Floats | None:
        """Return the command for the last good state."""
        self._dynamics.advance(dt)
        if self.phase is Phase.HOLDING:
            return self._hold_command(now, dt, fresh=True)
        q, qd = self.gate.q, self.gate.qd
        self._move_on(now, time)
        torque = self._laws.torque(q, qd, self._desired)
        if self._settings.mode is not Mode.GRAVITY_COMPENSATION and self._motion.has_effort:
            torque += self._motion.effort(time)
        command = self._govern(now, torque, q, dt)
        if command is None:
            self._notify("the effort asked for is not finite: the motion is abandoned")
            self._desired[2] = 0.0
            self._begin_hold(now, "the effort asked for was not finite")
            self.gate.forget()
        return command

    def _hold_command(self, now: float, dt: float, fresh: bool) -> Floats | None:
        """Return the gravity hold of the last good state, or without fresh ones of a blind stop.

        Without fresh states its velocity says less and less about the arm's: the damping fades.
        """
        if self._hold_has_states and not fresh:
            self._governor.fade(self._settings.decay_time)
        if fresh or not self._settings.blind_stop:
            self._expected = None
            damping = 1.0 if fresh else self._governor.fade_left
            torque = self._laws.gravity_hold(self.gate.q, self.gate.qd, damping)
        else:
            if self._expected is None:
                self._expected = self._blind_stop(now)
            torque = self._laws.motion_torque(self._expected.sample(now, self._desired))
        self._hold_has_states = fresh
        return self._govern(now, torque, self.gate.q, dt)

    def _blind_stop(self, now: float) -> Motion:
        """Return how the arm is to come to rest from where it must be by now, in steady time.

        Since the last good state it has had the last command.
        """
        space, settings, gate = self._space, self._settings, self.gate
        age = min(now - gate.received, settings.state_timeout + settings.period)
        q, qd = gate.surest()
        effort = self._governor.command.copy()
        if settings.hardware_adds_gravity:
            effort += self._dynamics.gravity(q, self._gravity)
        knot = dead_reckoning(self._dynamics.model, settings, q, qd, effort, age)
        position = np.clip(knot.position, np.minimum(space.lower, q), np.maximum(space.upper, q))
        return self._stopping(now, replace(knot, position=position))

    def _govern(self, now: float, torque: Floats, q: Floats, dt: float) -> Floats | None:
        """Return the command for an effort that includes gravity."""
        carried = None
        if self._settings.hardware_adds_gravity:
            carried = self._dynamics.gravity(q, self._gravity)
            torque -= carried
        command = self._governor.govern(torque, dt, carried)
        if command is None:
            self.gate.refused["effort not finite"] += 1
            return None
        self._commanded = now
        self._has_commanded = True
        return command

    def _move_on(self, now: float, time: float) -> None:
        """Bring the desired state to ``time``."""
        settings = self._settings
        if settings.mode is Mode.GRAVITY_COMPENSATION:
            self._desired[0] = self.gate.q
            self._desired[1] = self.gate.qd
            return
        while self._pending and self._pending[0][0] <= time:
            start, trajectory = self._pending.popleft()
            self._begin_trajectory(trajectory, time if start == NEXT else start, time)
        late = now - self._reference_received > settings.reference_timeout
        if self.following is Following.REFERENCE and late:
            self._stop(time)
        self._motion.sample(time, self._desired)
        self._check_path()
        if self.following is Following.TRAJECTORY and self._motion.finished(time):
            self.following = Following.HOLD

    def _check_path(self) -> None:
        """Abandon a motion that the arm does not follow: what holds it may let go at any time."""
        tolerance = self._settings.path_tolerance
        q = self.gate.q
        if tolerance <= 0.0 or _control.is_within_reach(
            q, self._desired[0], self._no_effort, 0.0, tolerance
        ):
            return
        error = np.abs(self._desired[0] - q)
        worst = int(np.argmax(error))
        self._abandon(
            f"joint {self._space.names[worst]!r} is {error[worst]:.3g} away from where it should "
            f"be (path_tolerance {tolerance:g})"
        )

    # Transitions

    def _start(self, effort: Floats | None) -> None:
        """Begin at the effort that holds the arm now."""
        self.phase = Phase.RUNNING
        self._governor.start(self._holding_effort(effort))
        self._latch()

    def _holding_effort(self, effort: Floats | None) -> Floats:
        """Return the command that continues what holds the arm (n,).

        An effort of exactly zero on all joints means that it is not measured, or that brakes hold
        the arm; one beyond the limits, that it is not what the drives apply. Drives that add
        gravity themselves hold the arm at command zero, whatever they report. After silence the
        drives still have the last command.
        """
        adds_gravity = self._settings.hardware_adds_gravity
        measured = self._settings.start_from_measured_effort and effort is not None
        if measured and not adds_gravity and self._is_plausible(effort):
            return effort
        if self._has_commanded:
            return self._governor.command.copy()
        if adds_gravity:
            return np.zeros(self._settings.n)
        return self._dynamics.gravity(self.gate.q, self._gravity)

    def _is_plausible(self, effort: Floats) -> bool:
        """Tell whether an effort (n,) can be what holds the arm."""
        within = np.abs(effort) <= EFFORT_TOLERANCE * self._settings.effort_limit
        return bool(within.all() and np.isfinite(effort).all() and effort.any())

    def _recover(self) -> None:
        """Go from a gravity hold back to the law."""
        self.phase = Phase.RUNNING
        self._notify("the gravity hold is over: holding where the arm is now")
        self._latch()

    def _abandon(self, reason: str) -> None:
        """Give the motion up and come to rest from the state that the arm is in."""
        self._notify(f"{reason}: the motion is abandoned, holding where the arm is now")
        self._latch()

    def _begin_hold(self, now: float, reason: str) -> None:
        self.phase = Phase.HOLDING
        self.hold_reason = reason
        self._held_since = now
        self._hold_has_states = False
        self._expected = None
        self._drop_motion()
        self._governor.fade(self._settings.decay_time)

    def _give_up(self) -> None:
        self.phase = Phase.WAITING if self._active else Phase.INACTIVE
        self.gate.forget()
        self._has_commanded = self._active
        if self._active:
            self._notify("no commands until the next joint state")

    def _latch(self) -> None:
        """Ask the arm to come to rest from the state it is in."""
        self._drop_motion()
        zero = np.zeros(self._settings.n)
        knot = Knot(self.gate.q.copy(), self.gate.qd.copy(), zero, zero)
        self._motion = self._stopping(self.gate.time, knot)
        self._motion.sample(self.gate.time, self._desired)
        self._governor.fade(self._settings.blend_time)

    def _stop(self, time: float) -> None:
        """Ask the arm to come to rest from the desired state."""
        self._motion = self._stopping(time, self._motion.knot(time))
        self.following = Following.HOLD

    def _stopping(self, time: float, knot: Knot) -> Motion:
        """Return the motion that comes to rest from a knot."""
        space = self._space
        return Motion.stop(time, knot, self._settings.stop_time, space.lower, space.upper)

    def _drop_motion(self) -> None:
        self._pending.clear()
        self.following = Following.HOLD

    # Requests

    def set_trajectory(
        self,
        names: Sequence[str],
        points: Sequence[Point],
        delay: float | None = None,
        inspect: Callable[[Motion, float], None] = lambda motion, begin: None,
    ) -> None:
        """Follow a trajectory from now on, or from later on.

        Args:
            names: Joint names, in any order.
            points: Points, see ``Trajectory``.
            delay: Time from now to its start [s], negative if that lies in the past; None: it
                starts with the next joint state.
            inspect: Called last with the motion that will follow, its times counted from the
                trajectory's start, and the time at which it takes over; may raise TrajectoryError.

        Raises:
            TrajectoryError: It is refused; nothing has changed.
        """
        prospect = self.prospect()
        trajectory = Trajectory(names, points, self._space, self._settings.allow_moving_end)
        self.follow(trajectory, prospect.check(trajectory, delay, inspect))

    def prospect(self) -> Prospect:
        """Return what a trajectory is to be checked against, for ``follow``.

        Raises:
            TrajectoryError: The controller follows nothing now.
        """
        self._require_tracking()
        settings = self._settings
        return Prospect(
            self.gate.time,
            self.gate.q.copy(),
            self._motion,
            tuple(self._pending),
            settings.start_tolerance,
            settings.stop_time,
        )

    def follow(self, trajectory: Trajectory, start: float) -> None:
        """Follow a trajectory that has been checked; what would start later is forgotten.

        Args:
            trajectory: The trajectory.
            start: What ``Prospect.check`` returned for it.

        Raises:
            TrajectoryError: The controller follows nothing now; nothing has changed.
        """
        self._require_tracking()
        self._pending = deque([*earlier(self._pending, start), (start, trajectory)])

    def _begin_trajectory(self, trajectory: Trajectory, start: float, time: float) -> None:
        """Replace the motion by a trajectory whose time has come."""
        self.following = Following.TRAJECTORY
        desired = self._motion.knot(time)
        self._motion = trajectory.motion(start, time, desired, self._settings.stop_time)

    def set_reference(self, now: float, point: Point) -> None:
        """Follow a set-point, extrapolated by its velocity and acceleration until the next one.

        Args:
            now: Steady time [s].
            point: Set-point in joint order; its time is not used.

        Raises:
            TrajectoryError: It is refused; nothing has changed.
        """
        self.follow_reference(now, set_point(point, self._space))

    def follow_reference(self, now: float, knot: Knot) -> None:
        """Follow a set-point that ``set_point`` has checked; the rest as ``set_reference``."""
        self._require_tracking()
        space, settings = self._space, self._settings
        desired = self._motion.knot(self.gate.time).position
        distance = np.abs(knot.position - desired)
        worst = int(np.argmax(distance))
        if distance[worst] > settings.start_tolerance:
            raise TrajectoryError(
                f"set-point too far away: joint {space.names[worst]!r} at "
                f"{knot.position[worst]:.4g}, desired so far {desired[worst]:.4g} "
                f"(start_tolerance {settings.start_tolerance:g})"
            )
        if self.following is not Following.REFERENCE:
            self._governor.fade(settings.blend_time)
        self._pending.clear()
        self.following = Following.REFERENCE
        self._reference_received = now
        self._motion = Motion.extrapolate(self.gate.time, knot)

    def hold(self) -> None:
        """Come to rest within ``stop_time`` and stay there.

        Raises:
            TrajectoryError: The mode or phase has no desired state.
        """
        self._require_tracking()
        if self._motion.has_effort:
            self._governor.fade(self._settings.blend_time)
        self._pending.clear()
        self._stop(self.gate.time)

    def _require_tracking(self) -> None:
        """Raise TrajectoryError unless there is a desired state to be changed."""
        if self.phase is not Phase.RUNNING:
            raise TrajectoryError(f"the controller is not running: {self.phase}")
        if self._settings.mode is Mode.GRAVITY_COMPENSATION:
            raise TrajectoryError(f"mode {Mode.GRAVITY_COMPENSATION} follows nothing")

    def configure(self, settings: Settings) -> None:
        """Take other settings, at any time, without a step in the command.

        Args:
            settings: For the same number of joints.

        Raises:
            ValueError: ``hardware_adds_gravity`` differs while commands go out.
        """
        self.check(settings)
        free = Mode.GRAVITY_COMPENSATION
        tracks_again = self._settings.mode is free and settings.mode is not free
        self._settings = settings
        self._laws.configure(settings)
        self._governor.configure(settings.effort_limit, settings.torque_rate)
        if self.phase is not Phase.RUNNING:
            return
        self._governor.fade(settings.blend_time)
        if tracks_again:
            self._latch()
        elif settings.mode is free:
            self._drop_motion()
            self._desired[2] = 0.0

    def check(self, settings: Settings) -> None:
        """Check whether ``configure`` would take these settings now; the same arguments, errors."""
        differs = settings.hardware_adds_gravity != self._settings.hardware_adds_gravity
        if differs and self.phase in (Phase.RUNNING, Phase.HOLDING):
            raise ValueError(
                "hardware_adds_gravity cannot change while commands are published: "
                "gravity would act twice or not at all for a moment; deactivate first"
            )

    def change_model(self, dynamics: InverseDynamics, transition_time: float) -> None:
        """Go over to another payload or gravity.

        Args:
            dynamics: Inverse dynamics of the same joints.
            transition_time: [s]; at once while no commands go out.
        """
        silent = self.phase in (Phase.INACTIVE, Phase.WAITING)
        self._dynamics.change(dynamics, 0.0 if silent else transition_time)
        if not silent and transition_time <= 0.0:
            self._governor.fade(self._settings.blend_time)

    # What others want to know

    @property
    def saturated(self) -> int:
        """Number of commands that the effort limits cut, see ``TorqueGovernor``."""
        return self._governor.saturated

    @property
    def gave_up(self) -> bool:
        """Whether a gravity hold has ended in silence, and no good state has come since."""
        return self.phase is Phase.WAITING and self._has_commanded

    @property
    def interventions(self) -> int:
        """Number of commands that the effort limits or the rate limit changed."""
        return self._governor.interventions

    def desired(self) -> Desired | None:
        """Return the desired state of the last command with its error; None before the first."""
        if self.phase is not Phase.RUNNING or self.gate.accepted == 0:
            return None
        position, velocity, _ = self._desired.copy()
        effort = self._model_torque().copy()
        command = self._governor.command.copy()
        if self._settings.hardware_adds_gravity:
            command += self._dynamics.gravity(self.gate.q, self._gravity)
        return Desired(
            position,
            velocity,
            effort,
            position - self.gate.q,
            velocity - self.gate.qd,
            command - effort,
        )

    def _model_torque(self) -> Floats:
        if self._settings.mode is Mode.GRAVITY_COMPENSATION:
            return self._dynamics.gravity(self.gate.q, self._gravity)
        return self._laws.model_torque(self._desired)

    def lost(self) -> dict[str, str]:
        """Return, by joint, what the effort limits took from the last command's parts."""
        if self.phase is not Phase.RUNNING:
            return {}
        limit = self._settings.effort_limit
        asked = self._governor.asked.copy()
        gravity = self._dynamics.gravity(self.gate.q, self._gravity).copy()
        if self._settings.hardware_adds_gravity:
            asked += gravity
        model = self._model_torque()
        parts = (gravity, model - gravity, asked - model)
        left = cut(*parts, limit)
        names = ("gravity", "feedforward", "feedback")
        return {
            joint: ", ".join(
                f"{name} cut by {part[j] - rest[j]:.3g}"
                for name, part, rest in zip(names, parts, left, strict=True)
                if part[j] != rest[j]
            )
            for j, joint in enumerate(self._space.names)
            if abs(asked[j]) > limit[j]
        }


def set_point(point: Point, space: JointSpace) -> Knot:
    """Return a streamed set-point, checked as far as it does not depend on the arm's state.

    Raises:
        TrajectoryError: It is refused.
    """
    single = replace(point, time=0.0)
    return Trajectory(space.names, [single], space, allow_moving_end=True).knot(0)
