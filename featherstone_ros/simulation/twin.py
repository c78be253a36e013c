"""The simulated arm: its state, command, wrenches, brakes and time; the node's parameters of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import (
    Dynamics,
    Model,
    ModelError,
    Simulator,
    SingularInertiaError,
    _twin,
)
from featherstone_ros._enumerations import FaultKind
from featherstone_ros._twin import ANSWERS, REQUESTS, Snapshot
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.message_templates import BaseMessage
from featherstone_ros.model.arguments import finite_joint_array, not_negative_joint_array
from featherstone_ros.model.drive_units import DUTY, POSITION, DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.joint_selection import locked_positions
from featherstone_ros.parameter import (
    Parameter,
    Value,
    joint_parameters_of,
    parameters_of,
    per_joint,
    values_of,
)

from .simulator_settings import Noise, SimulatorSettings, unit_quaternion

NANOSECONDS = 1_000_000_000


class Twin(_twin.Twin):
    """A simulated arm, commanded in joint efforts or, by messages, by positions that drives follow.

    All arrays are (n,) in the order of ``model.joint_names``. ``now`` is real time by a steady
    clock [s], used only for pacing and the command time-out. The simulation itself depends only on
    simulation time, so the same calls give the same states, bit for bit.

    Every joint has a brake, which its first command releases. While that is on, effort is the
    torque that it carries against gravity, wrenches and the arm's momentum. Otherwise it is the
    torque of the drive: the command after saturation.

    A floating base moves under the joints, gravity and wrenches; it has no drive, noise or limit.
    It is held until the first command; later brakes only lock the joints.

    The compiled part needs no interpreter: a loop (``featherstone_ros._loop``) may run it by its
    ``capsule``. From then on its properties may be read, but changes must be requests to the loop
    (``_twin.REQUESTS``). Without a loop, call ``advance``; or pass messages, requests and ``tick``
    as a loop would, in real time, lockstep or step by step.

    Attributes:
        model: The arm.
        settings: As last applied.
    """

    model: Model
    settings: SimulatorSettings

    def __new__(
        cls,
        model: Model,
        settings: SimulatorSettings,
        clock: bool = False,
        base_messages: Sequence[BaseMessage] = (),
        own_commands: Sequence[Sequence[str]] = (),
        wrench_sensor: str | None = None,
        wrench_link: str | None = None,
    ) -> Twin:
        """Put the arm at its initial position, at time 0.

        Args:
            model: The arm.
            settings: The settings.
            clock: Also publish simulation time.
            base_messages: Messages on a floating base, from ``message_templates.odometry``; they
                are the last outputs.
            own_commands: The joints of each topic that commands only some; the last inputs.
            wrench_sensor: Link whose external wrench is published, as the last output.
            wrench_link: That of external wrenches whose frame is no link's; None: these are
                refused.

        Raises:
            ValueError: The simulator refuses a setting, or there are too many topics.
        """
        twin = super().__new__(
            cls,
            model.joint_names,
            sorted({*model.mimics, *model.locked}),
            model.link_names,
            snapshot(model, settings),
            clock,
            base_messages,
            [[model.joint_names.index(joint) for joint in joints] for joints in own_commands],
            wrench_sensor,
            wrench_link,
        )
        twin.model, twin.settings = model, settings
        return twin

    def __repr__(self) -> str:
        """Return the arm, the time and a fault."""
        fault = f", {self.fault}" if self.fault else ""
        return f"<Twin of {self.model!r}, at {self.time / NANOSECONDS:g} s{fault}>"

    @property
    def fault(self) -> str:
        """Why the simulation has stopped, empty if it has not. ``reset`` clears it."""
        kind, joint, position, velocity = self._fault
        return fault_text(kind, self.model, joint, position, velocity)

    @property
    def wrenches(self) -> dict[str, Floats]:
        """The wrenches that act now, by link."""
        names = self.model.link_names
        return {names[link]: np.array(wrench) for link, wrench in self._loads}

    def use(self, settings: SimulatorSettings, now: float = 0.0) -> None:
        """Apply other settings; state, command and time continue.

        Raises:
            ValueError: A setting that the simulator refuses; nothing changes.
        """
        self._do("use_settings", now, snapshot(self.model, settings))
        self.settings = settings

    def reset(self, now: float = 0.0) -> None:
        """Go back to the initial position at time 0, without command, wrenches and fault."""
        self._do("reset", now)

    def command(self, command: ArrayLike, now: float) -> None:
        """Take what the drives are told and release the brakes.

        Args:
            command: (n,) efforts [N m or N], or each in its drive's unit.
            now: Real time [s].

        Raises:
            ValueError: Wrong length or not finite; the command before stays.
        """
        array = finite_joint_array(np.atleast_1d(command), self.model, "command")
        self._take_command(array, nanoseconds(now))

    def advance(self, now: float, steps: int = 0) -> None:
        """Advance the simulation; does nothing while there is a fault.

        Args:
            now: Real time [s].
            steps: Integration steps; 0 is one period of 1 / rate.
        """
        self._advance(steps, nanoseconds(now))

    # A run.

    def start(self, now: float) -> None:
        """Start counting real time."""
        self._do("start", now)

    def pause(self, paused: bool, now: float) -> None:
        """Stop time, or let it continue."""
        self._do("pause" if paused else "resume", now)

    def step(self, steps: int, now: float) -> None:
        """Advance a paused twin by integration steps.

        Raises:
            FeatherstoneError: The twin is not paused, or the simulation has stopped.
        """
        reason = self.refusal_of(self._do("step", now, _twin.StepRequest(steps)))
        if reason:
            raise FeatherstoneError(reason)

    def refusal_of(self, answer: int) -> str:
        """Return in words why a request was not granted; empty if it was."""
        reasons = {
            ANSWERS["not_paused"]: "pause the simulation first",
            ANSWERS["stopped"]: self.fault,
        }
        return reasons.get(answer, "")

    def _do(self, request: str, now: float, payload: Any = None) -> int:
        return self.request(REQUESTS[request], nanoseconds(now), payload)[0]


def snapshot(model: Model, settings: SimulatorSettings) -> Snapshot:
    """Return settings as compiled code reads them.

    Raises:
        ValueError: A setting that the simulator refuses.
        ModelError: A floating base moves no inertia.
    """
    drives = settings.drives or Drives.of_model(model)
    simulator = Simulator(
        model.following(),
        time_step=settings.effective_time_step,
        integrator=settings.integrator,
        stop_stiffness=settings.stop_stiffness,
        stop_damping=settings.stop_damping,
        **drives.of_simulator,
    )
    home = home_positions(model)
    if settings.initial_positions is not None:
        home = finite_joint_array(settings.initial_positions, model, "initial_positions")
    if model.floating:
        home = np.concatenate([initial_base_pose(settings), home])
        simulator.reset(home)
        try:
            simulator.step(np.zeros(model.nv))
        except SingularInertiaError as error:
            raise ModelError(str(error)) from error
    p, d = drive_loops(model, settings, simulator.armature)
    speed, acceleration = drive_bounds(model)
    if settings.units is not None:  # a duty cycle keeps a motor to no speed
        free = np.where(settings.units.commanded_by(DUTY), np.inf, 0.0)
        speed, acceleration = np.maximum(speed, free), np.maximum(acceleration, free)
    limit = np.broadcast_to(model.effort_limit, model.n)
    if settings.units is not None:
        limit = settings.units.within_drives(limit)
    return Snapshot(
        simulator,
        settings,
        home=home,
        limit=limit if settings.saturate_effort else np.full(model.n, np.inf),
        offset=finite_joint_array(drives.offset, model, "offset"),
        stiffness=finite_joint_array(drives.stiffness, model, "stiffness"),
        drive_p=p,
        drive_d=d,
        drive_speed=speed,
        drive_acceleration=acceleration,
        locked=model.with_locked(settings.locked).locked_positions,
    )


def drive_loops(
    model: Model, settings: SimulatorSettings, armature: Floats
) -> tuple[Floats, Floats]:
    """Return P and D (n,) of the drives' own loops: of their units, else set, else chosen."""
    p, d = drive_gains(model, armature)
    if settings.drive_p is not None:
        p = not_negative_joint_array(settings.drive_p, model, "drive_p")
    if settings.drive_d is not None:
        d = not_negative_joint_array(settings.drive_d, model, "drive_d")
    if (units := settings.units) is None:
        return p, d
    by_position = units.commanded_by(POSITION)
    own_d = by_position | units.commanded_by(DUTY)
    return np.where(by_position, units.stiffness, p), np.where(own_d, units.torque_per_speed, d)


def fault_text(kind: int, model: Model, joint: int, position: float, velocity: float) -> str:
    """Return in words why a simulation has stopped, by ``FaultKind``; empty if it has not.

    ``joint``: the one at fault, negative for the floating base; then its position and velocity.
    """
    if kind == FaultKind.NO_FAULT:
        return ""
    of_base = joint < 0
    owner = model.base_link if of_base else model.joint_names[joint]
    singular = SingularInertiaError(owner, "floating base" if of_base else "joint")
    if kind == FaultKind.DIVERGED:
        where = f"floating base {owner}" if of_base else f"{owner} at position {position:g}"
        return (
            f"simulation diverged: {where}, velocity {velocity:g}; "
            "reset to go on (a smaller time_step or the implicit integrator may help)"
        )
    why = {
        FaultKind.SINGULAR: f"{singular}",
        FaultKind.BEYOND_BOUNDS: f"the effort of {owner} is beyond all bounds; reset to go on",
        FaultKind.UNMEASURABLE: f"what {owner} measures is not finite; correct the noise and the "
        "units of the drives, then reset to go on",
    }
    return f"simulation stopped: {why[FaultKind(kind)]}"


def nanoseconds(seconds: float) -> int:
    """Return a time as compiled code takes it.

    Raises:
        ValueError: It is not finite.
    """
    if not math.isfinite(seconds):
        raise ValueError(f"now is {seconds}, expected a finite time [s]")
    return round(seconds * NANOSECONDS)


def home_positions(model: Model) -> Floats:
    """Return (n,) positions as near to 0 as the limits allow [rad or m]."""
    return np.clip(0.0, model.lower, model.upper)


def initial_base_pose(settings: SimulatorSettings) -> Floats:
    """Return position and unit quaternion (7,) of a floating base after a reset.

    Raises:
        ValueError: Of another length, not finite, or a quaternion that turns nothing.
    """
    position = np.asarray(settings.initial_base_position, dtype=float)
    orientation = np.asarray(settings.initial_base_orientation, dtype=float)
    if position.shape != (3,) or not np.isfinite(position).all():
        raise ValueError(f"initial_base_position is {position}, expected three finite numbers")
    if orientation.ndim != 1 or unit_quaternion(orientation.tolist()):
        raise ValueError(
            f"initial_base_orientation is {orientation}, expected a unit quaternion x y z w"
        )
    return np.concatenate([position, orientation / np.linalg.norm(orientation)])


BANDWIDTH = 100.0  # [rad/s], of common servo drives
DEFLECTION = 0.05  # [rad or m] deflection at which a drive gives its full effort
FULL_SPEED = 0.05  # [s] in which a drive reaches its speed limit; arms state .12 to .3
FASTEST = 20.0  # [rad/s or m/s] of a joint without limit, for that
POSTURES = 64
REACH = np.pi  # [rad or m] range considered for a joint without limits


def drive_gains(model: Model, armature: Floats) -> tuple[Floats, Floats]:
    """Return P and D (n,) of stiff, critically damped drives.

    P gives the bandwidth at the joint's largest inertia within its limits, or the full effort at a
    small deflection, whichever is larger. The base is taken as fixed; on a floating base the
    inertia is smaller.

    Args:
        model: The arm.
        armature: (n,) reflected inertia of the drives [kg m^2 or kg].
    """
    lower, upper = np.maximum(model.lower, -REACH), np.minimum(model.upper, REACH)
    q = lower + (upper - lower) * np.random.default_rng(0).uniform(size=(POSTURES, model.n))
    model = replace(model, base="fixed")
    inertia = np.diagonal(Dynamics(model).crba(q), axis1=1, axis2=2).max(axis=0) + armature
    by_effort = np.where(np.isfinite(model.effort_limit), model.effort_limit, 0.0) / DEFLECTION
    p = np.maximum(inertia * BANDWIDTH**2, by_effort)
    return p, 2.0 * np.sqrt(p * inertia)


def drive_bounds(model: Model) -> tuple[Floats, Floats]:
    """Return within which speed and acceleration (n,) drives move their joints.

    Whatever they are told: a light joint that reports no rotor follows no step at hundreds of
    rad/s. A speed limit of 0 counts as none.
    """
    speed = np.where(model.velocity_limit > 0.0, model.velocity_limit, np.inf)
    return speed, np.minimum(speed, FASTEST) / FULL_SPEED


# Parameters of the node's mode ``simulate``.

PARAMETERS = (
    *parameters_of(SimulatorSettings),
    Parameter("publish_clock", False, "publish simulation time on /clock", read_only=True),
    Parameter(
        "wrench_sensor",
        "",
        "link whose external wrench a simulated force-torque sensor publishes on ~/wrench, with "
        "each joint state; empty: none",
        read_only=True,
    ),
    Parameter("steps_per_call", 1, "integration steps per call of ~/step", 1, 10_000_000),
    *parameters_of(Noise),
)


def joint_parameters(model: Model, values: Mapping[str, Value]) -> Iterable[Parameter]:
    """Yield every joint's initial position and drive gains, by its ``armature``."""
    p, d = drive_gains(model, per_joint(values, "armature.{}", model.joint_names))
    for joint, q, p_joint, d_joint in zip(
        model.joint_names, home_positions(model), p, d, strict=True
    ):
        yield from joint_parameters_of(
            SimulatorSettings, joint, initial_positions=q, drive_p=p_joint, drive_d=d_joint
        )


def twin_settings(values: Mapping[str, Value], model: Model) -> SimulatorSettings:
    """Return a twin's settings from the node's parameters."""
    return SimulatorSettings(
        **values_of(SimulatorSettings, values, model.joint_names),
        drives=Drives.of_parameters(values, model.joint_names),
        units=DriveUnits.of(values, model.joint_names),
        noise=Noise(**values_of(Noise, values)),
        locked=locked_positions(values, model),
        simulation_stamps=values["publish_clock"],
    )
