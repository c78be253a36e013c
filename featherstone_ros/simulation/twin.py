"""The simulated arm: its state, its command, the wrenches on it, and its brakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featherstone_ros import (
    Dynamics,
    Model,
    Simulator,
    SingularInertiaError,
    UnknownNameError,
    _control,
)

from .brakes import Brakes
from .sensors import Sensors
from .settings import TwinSettings

Floats = NDArray[np.float64]

ABSURD_SPEED = 1e4  # [rad/s or m/s]: no robot's joint moves so fast, a diverging simulation does
NANOSECONDS = 1_000_000_000


class Twin:
    """A simulated arm that is commanded in joint efforts.

    All arrays are (n,) in the order of ``model.joint_names``. ``now`` is real time by a steady
    clock [s], needed for the command time-out alone. All that happens in the simulation goes by
    simulation time, so the same calls give the same states, bit for bit.

    When the brakes are on, effort is what they carry: what holds the arm against gravity, wrenches
    and its own momentum. Otherwise it is the command after saturation.

    Attributes:
        model: The arm.
        settings: As last applied.
        fault: Why the simulation has stopped, empty if it has not. ``reset`` clears it.
        saturated: Number of commands that the effort limits cut.
        position: Measured [rad or m]; this and the next two are not to be modified.
        velocity: Measured [rad/s or m/s].
        effort: Measured [N m or N].
    """

    def __init__(self, model: Model, settings: TwinSettings) -> None:
        """Put the arm at its initial position, at time 0.

        Raises:
            ValueError: A setting that the simulator refuses.
        """
        self.model = model
        self.settings = settings
        self.saturated = 0
        self._dynamics = Dynamics(model)
        self._simulator = Simulator(model)
        self._sensors = Sensors(model.n, settings.noise)
        self._brakes = Brakes()
        self._elapsed_before = self._steps = 0
        self._command = np.zeros(model.n)
        self.prepare(settings)()
        self.reset()

    # Settings.

    def prepare(self, settings: TwinSettings) -> Callable[[], None]:
        """Check settings; return what puts them into effect without touching the state.

        Raises:
            ValueError: A setting that the simulator refuses.
        """
        simulator = Simulator(
            self.model,
            time_step=settings.effective_time_step,
            integrator=settings.integrator,
            damping=settings.damping,
            friction=settings.friction,
            armature=settings.armature,
            stop_stiffness=settings.stop_stiffness,
            stop_damping=settings.stop_damping,
        )
        home = home_positions(self.model)
        if settings.initial_positions is not None:
            home = joint_array(settings.initial_positions, self.model, "initial_positions")
        limit = self.model.effort_limit if settings.saturate_effort else np.inf
        same_noise = settings.noise == self.settings.noise
        sensors = self._sensors if same_noise else Sensors(self.model.n, settings.noise)

        def apply() -> None:
            simulator.set_state(self._simulator.q, self._simulator.qd)
            self._elapsed_before, self._steps = self.time, 0
            self.settings, self._simulator, self._sensors = settings, simulator, sensors
            self._home, self._limit = home, np.zeros(self.model.n) + limit
            self._saturate()

        return apply

    # State.

    @property
    def time(self) -> int:
        """Simulation time since the reset [ns]."""
        step = self.settings.effective_time_step
        return self._elapsed_before + round(self._steps * step * NANOSECONDS)

    @property
    def q(self) -> Floats:
        """True position, a copy [rad or m]."""
        return self._q.copy()

    @property
    def qd(self) -> Floats:
        """True velocity, a copy [rad/s or m/s]."""
        return self._qd.copy()

    @property
    def is_braked(self) -> bool:
        """Whether the brakes are on."""
        return self._brakes.engaged

    def reset(self) -> None:
        """Go back to the initial position at time 0, without command, wrenches and fault."""
        self.fault = ""
        self._elapsed_before = self._steps = 0
        self._command = np.zeros(self.model.n)
        self._saturate()
        self._command_time = math.inf  # inf: the time-out waits for a first command
        self._wrenches: dict[str, Floats] = {}
        self._wrench_ends: dict[str, float] = {}
        self._sensors.restart()
        self._simulator.reset(self._home)
        self._read_state()
        self._brakes.release()
        if self.settings.hold_until_command:
            self._brakes.engage(np.zeros(self.model.n))
        self._measure_now()

    def set_state(
        self, q: ArrayLike, qd: ArrayLike | None = None, joints: ArrayLike | None = None
    ) -> None:
        """Move joints without touching time, command and brakes.

        Args:
            q: Positions [rad or m].
            qd: Velocities [rad/s or m/s]; None is rest.
            joints: Indices of the joints meant; None is all.

        Raises:
            ValueError: Not finite, or absurdly fast.
        """
        positions, velocities = self.q, self.qd
        chosen = slice(None) if joints is None else joints
        positions[chosen] = q
        velocities[chosen] = 0.0 if qd is None else qd
        names = self.model.joint_names
        require(np.isfinite(positions), positions, names, "position", "a finite number")
        fast = ~(np.abs(velocities) <= ABSURD_SPEED)
        require(~fast, velocities, names, "velocity", f"at most {ABSURD_SPEED:g}")
        self._set_state(positions, velocities)
        if self._brakes.engaged:
            self._brakes.engage(velocities)
        self._measure_now()

    # Command and wrenches.

    def command(self, effort: ArrayLike, now: float, joints: ArrayLike | None = None) -> None:
        """Take a command and let go of the brakes.

        Args:
            effort: [N m or N].
            now: Real time [s].
            joints: Indices of the joints commanded, the others keep theirs; None is all.

        Raises:
            ValueError: Wrong length or not finite; the command before stays.
        """
        if joints is None:
            command = joint_array(effort, self.model, "command").copy()
        else:
            command = self._command.copy()
            command[joints] = effort
        if not _control.is_finite(command):
            names = self.model.joint_names
            require(np.isfinite(command), command, names, "command", "a finite number")
        self._command = command
        self.saturated += self._saturate()
        self._command_time = now
        self._brakes.release()

    def _saturate(self) -> bool:
        """Work out what the drives apply of the command; return whether that is less."""
        self._applied = np.empty(self.model.n)
        return _control.clip(self._command, self._limit, self._applied)

    def restart_timeout(self, now: float) -> None:
        """Count the command time-out from now, e.g. after a pause."""
        if self._command_time != math.inf:
            self._command_time = now

    def apply_wrench(self, link: str, wrench: ArrayLike) -> None:
        """Apply a wrench to a link until the next one on it or the time-out.

        Args:
            link: Name.
            wrench: (6,) force [N] and torque [N m] at the link's origin, in its axes.

        Raises:
            ValueError: Not finite.
            UnknownNameError: No such link.
        """
        wrench = np.array(wrench, dtype=float)
        if link not in self.model.link_names:
            raise UnknownNameError("link", link, self.model.link_names)
        axes = ("fx", "fy", "fz", "tx", "ty", "tz")
        require(np.isfinite(wrench), wrench, axes, f"wrench on {link}", "a finite number")
        timeout = self.settings.wrench_timeout or math.inf
        self._wrenches[link] = wrench
        self._wrench_ends[link] = self.time + timeout * NANOSECONDS

    @property
    def wrenches(self) -> dict[str, Floats]:
        """The wrenches that act now, by link."""
        return dict(self._wrenches)

    # Motion.

    def advance(self, now: float, steps: int | None = None) -> None:
        """Advance the simulation; does nothing while there is a fault.

        Args:
            now: Real time [s].
            steps: Integration steps; None is one period of 1 / rate.
        """
        if self.fault:
            return
        if steps is None:
            steps = self.settings.steps_per_period
        if self._is_timed_out(now) and not self._brakes.engaged:
            self._brakes.engage(self._qd)
        if self._wrenches:
            self._end_wrenches()
        if self._brakes.engaged:
            effort = self._advance_braked(steps)
        else:
            effort = self._advance_driven(steps)
        if not self.fault:
            self._steps += steps
            self._measure(effort)

    def _is_timed_out(self, now: float) -> bool:
        timeout = self.settings.command_timeout
        return 0.0 < timeout < now - self._command_time and not self.settings.lockstep

    def _end_wrenches(self) -> None:
        for link in [link for link, end in self._wrench_ends.items() if end <= self.time]:
            del self._wrenches[link], self._wrench_ends[link]

    def _advance_driven(self, steps: int) -> Floats:
        """Integrate; if that fails, report a fault and stay at the last good state."""
        q, qd = self._q, self._qd
        try:
            self._simulator.step(self._applied, steps, self._wrenches or None)
        except SingularInertiaError as error:
            self.fault = f"simulation stopped: {error}"
        else:
            self._read_state()
            self.fault = divergence(self._q, self._qd, self.model.joint_names)
        if self.fault:
            self._set_state(q, qd)
        return self._applied

    def _advance_braked(self, steps: int) -> Floats:
        q, qd = self._q, self._qd
        duration = steps * self.settings.effective_time_step
        stopped, qd, qdd = self._brakes.advance(q, qd, duration)
        if self.settings.stop_stiffness:
            nearest = np.minimum(q, self.model.lower)
            farthest = np.maximum(q, self.model.upper)
            stopped = np.minimum(np.maximum(stopped, nearest), farthest)
        self._set_state(stopped, qd)
        return self._carried(stopped, qd, qdd)

    def _carried(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """Return the effort (n,) that imposes an acceleration."""
        rigid = self._dynamics.rnea(q, qd, qdd, self._wrenches or None)
        return rigid + self._simulator.armature * qdd

    def _measure(self, effort: Floats) -> None:
        measured = self._sensors.measure(self._q, self._qd, effort)
        self.position, self.velocity, self.effort = measured

    def _measure_now(self) -> None:
        """Measure after the state was set: no effort was applied on the way to it."""
        if self._brakes.engaged:
            self._measure(self._carried(self._q, self._qd, np.zeros_like(self._qd)))
        else:
            self._measure(self._applied)

    def _read_state(self) -> None:
        """Take the state from the simulator, into arrays that nobody else has."""
        self._q, self._qd = self._simulator.q, self._simulator.qd

    def _set_state(self, q: Floats, qd: Floats) -> None:
        """Give the simulator another state."""
        self._simulator.set_state(q, qd)
        self._q, self._qd = q, qd


def home_positions(model: Model) -> Floats:
    """Return (n,) positions as near to 0 as the limits allow [rad or m]."""
    return np.clip(0.0, model.lower, model.upper)


def joint_array(values: ArrayLike, model: Model, what: str) -> Floats:
    """Return values as (n,) array.

    Raises:
        ValueError: Another length.
    """
    array = np.asarray(values, dtype=float)
    if array.shape != (model.n,):
        names = ", ".join(model.joint_names)
        raise ValueError(f"{what} has {array.size} values, expected {model.n}: {names}")
    return array


def require(
    good: NDArray[np.bool_], values: Floats, names: tuple[str, ...], what: str, expected: str
) -> None:
    """Raise ValueError naming the first value that is not good."""
    if not good.all():
        index = int(np.argmin(good))
        raise ValueError(f"{what} of {names[index]} is {values[index]}, expected {expected}")


def divergence(q: Floats, qd: Floats, names: tuple[str, ...]) -> str:
    """Return in words which joint shows that the simulation has diverged, or an empty string."""
    if math.isfinite(q.dot(q)) and qd.dot(qd) <= ABSURD_SPEED**2:  # cheap, and enough to be good
        return ""
    good = np.isfinite(q) & (np.abs(qd) <= ABSURD_SPEED)
    if good.all():
        return ""
    index = int(np.argmin(good))
    return (
        f"simulation diverged: {names[index]} at position {q[index]:g}, velocity {qd[index]:g}; "
        "reset to go on (a smaller time_step or the implicit integrator may help)"
    )
