"""All settings of the controller that may change while it runs, as one checked set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT


class Choice(str, Enum):
    """A word that is one of a few (enum.StrEnum, which Python 3.10 does not have)."""

    def __str__(self) -> str:
        """Return the word."""
        return self.value


class Mode(Choice):
    """The control law."""

    GRAVITY_COMPENSATION = "gravity_compensation"
    FEEDFORWARD = "feedforward"
    COMPUTED_TORQUE = "computed_torque"
    CARTESIAN_IMPEDANCE = "cartesian_impedance"


WITHOUT_GAINS = (Mode.GRAVITY_COMPENSATION, Mode.CARTESIAN_IMPEDANCE)  # of the joints


class Terms(Choice):
    """What the feedforward law takes from the model."""

    NONE = "none"
    GRAVITY = "gravity"
    FULL = "full"


class UpdateOn(Choice):
    """The trigger of commands."""

    STATE = "state"
    TIMER = "timer"


@dataclass(frozen=True)
class Settings:
    """Settings of the controller; arrays are (n,) in joint order, all finite unless said otherwise.

    Attributes:
        p: Position gains [N m/rad] or [N/m]; in computed torque [1/s^2].
        d: Velocity gains [N m s/rad] or [N s/m]; in computed torque [1/s].
        damping: Damping of gravity compensation and of the gravity hold [N m s/rad] or [N s/m].
        fault_damping: Damping that brakes the arm in a fault, where it is more; None: the same.
        coulomb: Coulomb friction that is compensated [N m] or [N].
        viscous: Viscous friction that is compensated [N m s/rad] or [N s/m].
        offset: Constant effort of the drives that is compensated, of either sign [N m] or [N];
            None: zero.
        armature: Inertia of the drives on the joints' side [kg m^2] or [kg].
        effort_limit: Largest total effort [N m] or [N], inf where there is none.
        torque_rate: Largest change of a command per second [N m/s] or [N/s].
        mode: The control law.
        feedforward_terms: The model's terms in mode feedforward.
        update_on: What triggers a command.
        rate: Frequency of commands with ``update_on: timer`` [Hz].
        hardware_adds_gravity: The drives add g(q) to the command by themselves.
        start_from_measured_effort: Begin with the effort in the joint state, if it has any.
        presliding_displacement: Desired motion over which the compensation of Coulomb friction
            turns round [rad] or [m].
        blend_time: Bumpless transfer after a change of law, gains or source of the reference [s].
        decay_time: How long the decay to gravity hold takes [s].
        stop_time: How long a stop takes [s].
        state_timeout: Age of the last joint state at which it is stale [s].
        executor_timeout: Time without a sign of life from Python until a motion is stopped [s]; 0:
            never.
        reference_timeout: Age of the last streamed set-point at which the arm is stopped [s]; a
            set-point without velocity is reached first.
        give_up_after: Duration of the gravity hold before the commands end [s].
        start_tolerance: How far from the arm a trajectory or set-point may begin [rad] or [m].
        path_tolerance: Distance from the desired position at which the motion is abandoned [rad] or
            [m]; 0: never.
        blind_stop: Without joint states, brake the arm on states predicted by the model and hold it
            where it must have come to rest, instead of holding the last good state.
        jump_tolerance: Largest jump of a joint's position beyond the way at twice its velocity
            limit [rad] or [m].
        velocity_cutoff: Corner frequency of the estimate where states have no velocity [Hz].
        target_timeout: Age at which velocity and wrench of a target of the hand end; its pose is
            held [s].
        impedance: Of mode cartesian_impedance: ``CartesianSettings`` as
            ``cartesian_impedance.prepared`` makes them; None: as they are.
        allow_moving_end: Accept trajectories whose last point has velocity.
    """

    p: Floats
    d: Floats
    damping: Floats
    coulomb: Floats
    viscous: Floats
    armature: Floats
    effort_limit: Floats
    torque_rate: Floats
    fault_damping: Floats | None = None
    offset: Floats | None = None
    mode: Mode = Mode.FEEDFORWARD
    feedforward_terms: Terms = Terms.FULL
    update_on: UpdateOn = UpdateOn.STATE
    rate: float = 1000.0
    hardware_adds_gravity: bool = False
    start_from_measured_effort: bool = True
    presliding_displacement: float = PRESLIDING_DISPLACEMENT
    blend_time: float = 0.2
    decay_time: float = 0.2
    stop_time: float = 0.25
    state_timeout: float = 0.1
    reference_timeout: float = 0.1
    executor_timeout: float = 2.0
    give_up_after: float = 1.0
    start_tolerance: float = 0.2
    path_tolerance: float = 0.3
    blind_stop: bool = True
    jump_tolerance: float = 0.1
    velocity_cutoff: float = 30.0
    target_timeout: float = 0.2
    allow_moving_end: bool = False
    impedance: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Check the values; arrays become contiguous ones of float64.

        Raises:
            ValueError: With the name of the setting, what was found and what is expected.
        """
        if self.offset is None:
            object.__setattr__(self, "offset", np.zeros(self.n))
        if self.fault_damping is None:
            object.__setattr__(self, "fault_damping", self.damping)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                require_array(field.name, value, self.p.shape)
                object.__setattr__(self, field.name, np.ascontiguousarray(value, np.float64))
            elif isinstance(value, float):
                require_positive(field.name, value)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.p)

    @property
    def period(self) -> float:
        """Time between two calls of the controller's ``update`` [s]."""
        return 1.0 / self.rate if self.update_on is UpdateOn.TIMER else WATCHDOG_PERIOD


WATCHDOG_PERIOD = 0.01  # [s] between two checks of the joint state's age
MAY_BE_ZERO = ("blend_time", "executor_timeout", "give_up_after", "path_tolerance")
SIGNED = ("offset",)


def require_array(name: str, value: Floats, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless ``value`` has a shape and no element below zero or NaN."""
    if value.shape != shape:
        raise ValueError(f"{name} has shape {value.shape}, expected {shape}")
    if name in SIGNED and not np.isfinite(value).all():
        raise ValueError(f"{name} is {value}, expected finite numbers")
    if name not in SIGNED and not (value >= 0.0).all():
        raise ValueError(f"{name} is {value}, expected nothing below 0")


def require_positive(name: str, value: float) -> None:
    """Raise ValueError unless ``value`` is finite and positive, or zero where that makes sense."""
    zero = name in MAY_BE_ZERO and value == 0.0
    if not (np.isfinite(value) and value > 0.0) and not zero:
        raise ValueError(f"{name} is {value}, expected {'>=' if name in MAY_BE_ZERO else '>'} 0")
