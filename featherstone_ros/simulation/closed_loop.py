"""An arm that moves under its controller, without ROS: simulated, or on a bus of your own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from featherstone_ros.arrays import Floats, finite_number, positive_number
from featherstone_ros.control.drive_watch import DriveWatch
from featherstone_ros.control.phases import RUNNING, Phase
from featherstone_ros.control.trajectory import Point

if TYPE_CHECKING:
    from featherstone_ros.control.controlled_arm import ControlledArm

TAKEOVER = 0.1  # [s] in which the first joint states are confirmed


class JointState(NamedTuple):
    """What is measured of an arm.

    Attributes:
        q: (n,) position [rad or m].
        qd: (n,) velocity, NaN where it is not measured; None: of no joint [rad/s or m/s].
        effort: (n,) of the drives [N m or N, else the plant's units]; None: unknown.
        stamp: When it was measured, by the clock of the measurement [s]; 0: unknown.
        wrench: (6,) on the arm's tip, at its origin, in its axes, force first [N, N m]; None: there
            is no sensor.
        locked: Where joints stand that are measured but not controlled, by name [rad or m].
    """

    q: Floats
    qd: Floats | None = None
    effort: Floats | None = None
    stamp: float = 0.0
    wrench: Floats | None = None
    locked: Mapping[str, float] = {}


class Command(NamedTuple):
    """What the drives are to do.

    Attributes:
        effort: (n,) [N m or N].
        position: (n,) for drives with position loops, to which the effort is added [rad or m];
            None: the effort is all.
        velocity: (n,) likewise [rad/s or m/s].
        told: (n,) all of this as the plant's drives are told it, each in its unit; None: they are
            told torques.
    """

    effort: Floats
    position: Floats | None = None
    velocity: Floats | None = None
    told: Floats | None = None


class Plant(Protocol):
    """What a controller moves: a simulation, or the bus of a real arm.

    Neither method waits. Arrays that have been handed over are not changed any more. If it has an
    attribute ``units`` (``DriveUnits``), its drives are told (``Command.told``) and measure what
    these say, whatever the arm's parameters: the loop's arm takes them over.
    """

    def read(self, now: float) -> JointState | None:
        """Return the newest joint state at a time [s]; None: there is no new one."""

    def write(self, at: float, command: Command) -> None:
        """Take a command that acts from a time on [s]; a bus sends it at once."""


class Record(NamedTuple):
    """What happened, sample by sample: arrays of N samples, or the values of one.

    Attributes:
        time: (N,) [s].
        q: (N, n) measured position, the last one where none came [rad or m].
        qd: (N, n) likewise; NaN where none is measured [rad/s or m/s].
        desired: (N, 3, n) position, velocity and acceleration, NaN where the controller follows
            nothing [rad or m, per s, per s^2].
        command: (N, n) effort, NaN where no command was sent [N m or N].
        phase: (N,) of the controller, see ``control.phases``.
    """

    time: Any  # a float of one sample
    q: Floats
    qd: Floats
    desired: Floats
    command: Floats
    phase: Any  # likewise an int

    @classmethod
    def of(cls, samples: Iterable[Record]) -> Record:
        """Return samples as arrays."""
        columns = list(zip(*samples, strict=True)) or [()] * len(cls._fields)
        return cls(*map(np.array, columns))

    def __repr__(self) -> str:
        """Return how many samples there are, and of what time."""
        times = np.atleast_1d(self.time)
        span = f", from {times[0]:g} to {times[-1]:g} s" if times.size else ""
        return f"<Record of {times.size} samples{span}>"

    @property
    def error(self) -> Floats:
        """(N, n) desired minus measured position [rad or m]."""
        return self.desired[..., 0, :] - self.q


class ClosedLoop:
    """A controller and what it moves, on one clock that the caller, or ``advance``, moves on.

    Attributes:
        arm: What the controller knows.
        plant: What it moves.
        controller: For requests: targets, holds, other settings.
        delay: From a measurement to when the command that answers it acts [s].
        period: Of ``advance`` and ``run`` [s].
        now: Time of the last step [s].
    """

    def __init__(
        self,
        arm: ControlledArm,
        plant: Plant,
        delay: float | None = None,
        period: float | None = None,
        notify: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Begin at time 0, with an active controller that waits for a joint state.

        Args:
            arm: An arm and its settings.
            plant: A simulation, or a bus.
            delay: From a measurement to when the command that answers it acts [s]; None: that for
                which the gains are made.
            period: Between two joint states [s]; None: likewise.
            notify: Called with a line of text when the controller acts by itself.

        Raises:
            ValueError: A time is out of range.
        """
        units = getattr(plant, "units", None)
        self.arm, self.plant = arm if units is None else arm.with_units(units), plant
        self.delay = finite_number("delay", arm.timing.delay if delay is None else delay, 0.0)
        self.period = arm.timing.period if period is None else positive_number("period", period)
        ahead = self.delay + 0.5 * self.period
        self.controller = self.arm.controller(notify, units=units, ahead=ahead)
        self.now = 0.0
        self._has_position_loops, self._converts = self.arm.has_position_loops, units is not None
        if self._converts and self.arm.units.without_effect:
            notify(self.arm.units.without_effect)
        self._watch = DriveWatch(self.arm.units, self.arm.limits.effort)
        self._binding: dict[str, str] = {}
        self._looked = -1.0
        self._none = np.full(arm.model.n, np.nan)
        self._last = JointState(self._none)
        self.controller.activate(self.now)

    def __repr__(self) -> str:
        """Return controller, plant and time."""
        return f"<ClosedLoop of {self.controller!r} and {self.plant!r}, at {self.now:g} s>"

    @property
    def binding(self) -> dict[str, str]:
        """By joint, in words: what has bound its drive since the last look, or is off."""
        if self.now > self._looked:
            self._binding = self._watch.look(self.now, self.controller.snapshot())
            self._looked = self.now
        return dict(self._binding)

    def step(self, now: float) -> Record:
        """Answer the joint state of a time [s]; return this sample. On a bus you call it."""
        self.now = finite_number("now", now)
        state, command = self.plant.read(now), None
        if state is not None:
            command = self._answer(state)
        if command is None:  # with ``update_on: timer``, or no state that can be used
            command = self.controller.update(now)
        if command is not None:
            command = command.copy()
            q, qd = self.controller.position_command if self._has_position_loops else (None, None)
            told = self.controller.told if self._converts else None
            self.plant.write(now + self.delay, Command(command, q, qd, told))
        return self._sample(command)

    def steps(self, duration: float) -> Iterator[Record]:
        """Let time pass [s]; yield a sample for each period."""
        begin, time = self.now, finite_number("duration", duration)
        for k in range(round(time / self.period)):
            yield self.step(begin + (k + 1) * self.period)

    def advance(self, duration: float) -> Record:
        """Let time pass [s]; return what happened."""
        return Record.of(self.steps(duration))

    def run(self, trajectory: Sequence[Point], rest: float = 0.0) -> Record:
        """Follow a trajectory from now on; return what happened until its end.

        Args:
            trajectory: Points in the order of the arm's joints.
            rest: Time that passes after its end [s].

        Raises:
            TrajectoryError: It is refused; the arm is held as before.
        """
        end = self.now + TAKEOVER
        while self.controller.phase is Phase.WAITING and self.now < end:
            self.step(self.now + self.period)
        self.controller.set_trajectory(self.now, self.arm.model.joint_names, trajectory)
        return self.advance(trajectory[-1].time + rest)

    def configure(self, changes: Mapping[str, object] | None = None, /, **more: object) -> None:
        """Change parameters, without a step in the command.

        Another payload or gravity takes effect within ``payload.transition_time``.

        Args:
            changes: Their names and values.
            **more: Likewise, of names without dots.

        Raises:
            ValueError: One is refused (named); nothing has changed.
        """
        arm = self.arm.with_parameters(changes, **more)
        model = arm.model if arm.is_loaded_otherwise(self.arm) else None
        transition = arm.values["payload.transition_time"]
        self.controller.configure(self.now, arm.settings, model, transition, arm.space)
        if arm.unloaded.locked != self.arm.unloaded.locked:
            self.controller.place_locked(self.now, arm.unloaded.locked_positions)
        self.arm = arm

    def _answer(self, state: JointState) -> Floats | None:
        self._last = state
        if state.wrench is not None:
            self.controller.take_wrench(self.now, state.wrench, self.arm.tip)
        if state.locked:
            self.controller.take_locked(state.locked)
        return self.controller.accept_state(self.now, *state[:4])

    def _sample(self, command: Floats | None) -> Record:
        (q, qd, *_), compiled = self._last, self.controller.compiled
        desired, phase = compiled.desired[:3], compiled.phase
        if phase not in RUNNING:
            desired[:] = np.nan
        return Record(
            self.now,
            q,
            self._none if qd is None else qd,
            desired,
            self._none if command is None else command,
            phase,
        )
