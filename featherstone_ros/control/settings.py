"""All settings of the controller that may change while it runs, as one checked set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.choices import Choice as Choice
from featherstone_ros.control.choices import Mode as Mode
from featherstone_ros.model.drives import Drives
from featherstone_ros.parameter import REQUIRED, declared


class Terms(Choice):
    """What the feedforward law takes from the model."""

    NONE = "none"
    GRAVITY = "gravity"
    FULL = "full"


class Interpolation(Choice):
    """The motion between points that have positions alone."""

    LINEAR = "linear"
    SPLINE = "spline"


class UpdateOn(Choice):
    """The trigger of commands."""

    STATE = "state"
    TIMER = "timer"


LONGEST_STOP = 10.0  # [s] that stop_time may be


@dataclass(frozen=True)
class ControllerSettings:
    """Settings of the controller; arrays are (n,) in joint order, finite unless said otherwise."""

    p: Floats  # position gains [N m/rad] or [N/m]; in computed torque [1/s^2]
    d: Floats  # velocity gains [N m s/rad] or [N s/m]; in computed torque [1/s]
    damping: Floats  # of gravity compensation and of the gravity hold [N m s/rad] or [N s/m]
    drives: Drives  # their friction, offset and inertia, which are compensated
    effort_limit: Floats  # largest total effort [N m] or [N], inf where there is none
    torque_rate: Floats = declared(
        REQUIRED,
        "largest change of a command per second [N m/s or N/s]",
        1e-6,
        name="torque_rate.{}",
    )
    fault_damping: Floats | None = None  # that brakes the arm in a fault; None: the same
    command_period: float = 0.0  # between two commands, for which gains are chosen [s]; 0: unknown
    mode: Mode = declared(Mode.FEEDFORWARD, "control law")
    feedforward_terms: Terms = declared(
        Terms.FULL, "torque that mode feedforward takes from the model: full, gravity alone or none"
    )
    update_on: UpdateOn = declared(
        UpdateOn.STATE,
        "a command for every joint state, and where they are missing; or at `rate`",
        read_only=True,
    )
    rate: float = declared(
        1000.0, "commands per second with update_on timer [Hz]", 1.0, 1e4, read_only=True
    )
    hardware_adds_gravity: bool = declared(
        False,
        "the drives add g(q) to the command by themselves; fixed while commands are published",
    )
    start_from_measured_effort: bool = declared(
        True,
        "begin with the effort in joint_states if it is finite, not all zero, and differs from "
        "g(q) by less than half the effort limits, else with g(q)",
    )
    blend_time: float = declared(
        0.2,
        "duration of a smooth change of mode, gains or state, or of the end of an effort [s]",
        0.0,
        10.0,
    )
    decay_time: float = declared(
        0.2,
        "duration of the change from the last command to the gravity hold, after a stop [s]",
        1e-3,
        10.0,
    )
    stop_time: float = declared(
        0.25,
        "time in which a hold stops the arm, less before a joint's limit, more if its efforts ask "
        "for it, or a new trajectory takes over from motion; without joint states the arm stops as "
        "its efforts allow [s]",
        1e-2,
        LONGEST_STOP,
    )
    state_timeout: float = declared(
        0.1,
        "age of the last joint state at which the motion is abandoned; it goes on by the model "
        "until then [s]",
        1e-3,
        10.0,
    )
    reference_timeout: float = declared(
        0.1,
        "age of the last ~/reference at which the arm is stopped [s]; a set-point at rest is "
        "reached first",
        1e-3,
        10.0,
    )
    executor_timeout: float = declared(
        2.0,
        "time without a sign of life from the executor until a motion is stopped [s]; 0: never",
        0.0,
        3600.0,
    )
    give_up_after: float = declared(
        1.0,
        "duration of the gravity hold from the end of a stop until commands end [s]",
        0.0,
        3600.0,
    )
    start_tolerance: float = declared(
        0.2, "how far from the arm a trajectory or reference may begin [rad or m]", 1e-6, 100.0
    )
    path_tolerance: float = declared(
        0.3,
        "distance from the desired position at which the motion is abandoned [rad or m]; 0: never",
        0.0,
        100.0,
    )
    blind_stop: bool = declared(
        True,
        "without joint states, brake the arm on states predicted by the model and hold it where it "
        "must have come to rest; false: hold the last good state",
    )
    velocity_cutoff: float = declared(
        30.0, "cut-off of the velocity estimate where joint_states have no velocity [Hz]", 0.1, 1e3
    )
    target_timeout: float = declared(
        0.2,
        "age at which ~/target_twist and ~/target_wrench end; ~/target_pose is held [s]",
        1e-3,
        10.0,
    )
    wrench_timeout: float = declared(
        0.05,
        "age of the last ~/wrench at which mode admittance stops and follows nothing [s]",
        1e-3,
        1.0,
    )
    interpolation: Interpolation = declared(
        Interpolation.LINEAR,
        "between points that have positions alone: lines as in joint_trajectory_controller, or a "
        "spline without steps of the acceleration, which ends at rest",
    )
    allow_nonzero_velocity_at_trajectory_end: bool = declared(
        False, "accept trajectories that end in motion; the arm is then stopped"
    )
    # of the modes of the end effector, as ``cartesian_impedance.prepared`` gives it
    impedance: Mapping[str, Any] | None = None  # None: as it is

    def __post_init__(self) -> None:
        """Check the values."""
        if self.fault_damping is None:
            object.__setattr__(self, "fault_damping", self.damping)
        if self.mode.has_virtual_arm and not (self.impedance or {}).get("inertia_shaping", True):
            raise ValueError(
                "impedance: mode admittance expects what cartesian_impedance.prepared gives with a "
                "contact_delay"
            )
        for of in (self, self.drives):
            for field in fields(of):
                self._check(field.name, getattr(of, field.name), field.metadata.get("minimum"))

    def _check(self, name: str, value: Any, minimum: float | None) -> None:
        """Raise ValueError unless numbers are as many as joints, finite, and no less than 0."""
        if isinstance(value, np.ndarray):
            if value.shape != self.p.shape:
                raise ValueError(f"{name} has shape {value.shape}, expected {self.p.shape}")
            if name in SIGNED and not np.isfinite(value).all():
                raise ValueError(f"{name} is {value}, expected finite numbers")
            if name not in SIGNED and not (value >= 0.0).all():
                raise ValueError(f"{name} is {value}, expected nothing below 0")
        elif (isinstance(value, float) and not 0.0 <= value < np.inf) or (value == 0.0 and minimum):
            raise ValueError(f"{name} is {value}, expected {'>' if minimum else '>='} 0")

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.p)

    @property
    def of_trajectories(self) -> tuple[bool, Interpolation]:
        """What a ``Trajectory`` is told: whether it may end in motion, and its interpolation."""
        return self.allow_nonzero_velocity_at_trajectory_end, self.interpolation

    @property
    def period(self) -> float:
        """Time between two calls of the controller's ``update`` [s]."""
        return 1.0 / self.rate if self.update_on is UpdateOn.TIMER else WATCHDOG_PERIOD


WATCHDOG_PERIOD = 0.01  # [s] between two checks of the joint state's age
SIGNED = ("offset",)
