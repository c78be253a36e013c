"""Drives in their own units: what a drive is told for a torque, and what its measured effort means.

Everything within is torque [N m] (force [N] for prismatic joints); here alone it is converted.

Commands, by the drive's law (each joint has its own):

    torque    tau
    current   i = m / (direction gear_ratio torque_constant)
    duty      u = (resistance i + back_emf_constant gear_ratio direction qd) / supply_voltage
    position  q + (tau + damping qd) / stiffness

m is the torque that the motor needs, seen from the joint: tau / efficiency where the motor drives
the joint, tau backdrive_efficiency where the joint drives the motor, and smoothly from one to the
other at rest. (That is dry friction which grows with the load: where ``friction.<joint>.load`` has
it, both efficiencies stay 1.) A drive with a position loop exerts

    stiffness (its command - q) - damping qd

so that the offset of its command is the torque, and the loop corrects only what the model did not
know. Sources: R. Siegwart et al., *Introduction to Autonomous Mobile Robots* 2.4 for the motor; B.
Siciliano et al., *Robotics: Modelling, Planning and Control*, 5.2 and 8.3.

Measured efforts count at the rotor: the torque that the motor exerts, friction of the gears
included; of a sensor behind the gears, without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.model.drives import smooth_sign
from featherstone_ros.parameter import declared, joint_parameters_of

PARAMETER = "drives.{}.{}"  # of a joint
COMMANDS = TORQUE, CURRENT, DUTY, POSITION = ("torque", "current", "duty", "position")
EFFORTS = TORQUE, CURRENT, PERCENT, WITHOUT_GRAVITY, WITHOUT_FRICTION = (
    "torque",  # of the joint [N m or N]
    "current",  # of the motor [A]
    "percent",  # of rated_effort
    "torque_without_gravity",  # the drive adds gravity and does not report it
    "torque_without_friction",  # a sensor behind the gears
)
# What is to be positive for a command or an effort.
NEEDED = {
    CURRENT: ("torque_constant",),
    DUTY: ("torque_constant", "resistance", "supply_voltage"),
    POSITION: ("stiffness",),
    PERCENT: ("rated_effort",),
}

# Times what was expected, beyond which efforts are taken to be in another unit: models of links and
# torque constants are not that wrong. And the share of the squares that this must not leave.
ANOTHER_UNIT, IN_PROPORTION = (0.6, 1.6), 0.2
# What 0, no limit, becomes: ROS loads no infinity from files, and a whole duty cycle is 1.
UNLIMITED = {"max_current": np.inf, "continuous_current": np.inf, "max_duty": 1.0}
# Of constants in SI units: no drive has others, and products stay finite.
MIN_CONSTANT, MAX_CONSTANT = 1e-6, 1e12


def in_proportion(product: Any, some: Any, others: Any) -> Any:
    """Tell whether efforts follow others up to a factor, by sums of products and of squares."""
    return product**2 > (1.0 - IN_PROPORTION) * some * others


def _unless_absurd(value: float) -> str | None:
    """Return why no drive has such a constant; 0 stands for unknown or none."""
    is_possible = value == 0.0 or MIN_CONSTANT <= value <= MAX_CONSTANT
    return None if is_possible else f"expected 0, or {MIN_CONSTANT:g} to {MAX_CONSTANT:g}"


def _drive(default: Any, description: str, *bounds: float, **more: Any) -> Any:
    """Return the field of the parameter ``drives.<joint>.<field>``."""
    return declared(default, description, *bounds, name=PARAMETER.format("{}", "*"), **more)


def _constant(description: str) -> Any:
    """Return the field of a drive's constant, 0 where it is unknown or there is none."""
    return _drive(0.0, description, 0.0, check=_unless_absurd)


def motor_constants(gain: float) -> dict[str, float]:
    """Return a drive's parameters where a current makes ``gain`` of torque [N m/A or N/A]."""
    return {"torque_constant": abs(gain), "direction": math.copysign(1.0, gain)}


@dataclass(frozen=True, eq=False)
class DriveUnits:
    """The drives of n joints; arrays (n,), a scalar holds for every joint."""

    names: tuple[str, ...]
    command: tuple[str, ...] = _drive(
        TORQUE,
        "what the drive is told: torque, current [A], duty (-1 to 1), or a position whose offset "
        "makes the torque, by its stiffness",
        choices=COMMANDS,
    )
    effort: tuple[str, ...] = _drive(
        TORQUE,
        "unit of the measured effort: torque, current, percent of rated_effort, the torque without "
        "that of gravity, which the drive adds, or without friction (a sensor behind the gears)",
        choices=EFFORTS,
    )
    torque_constant: Floats = _constant("torque of the motor per current [N m/A]")
    gear_ratio: Floats = _drive(
        1.0,
        "turns of the motor per turn of the joint [1], per way where it slides [rad/m]",
        MIN_CONSTANT,
        check=_unless_absurd,
    )
    direction: Floats = _drive(
        1.0,
        "1, or -1 where positive currents turn the joint backwards",
        -1.0,
        1.0,
        check=lambda sign: None if abs(sign) == 1.0 else "expected 1 or -1",
    )
    efficiency: Floats = _drive(
        1.0, "share of the motor's torque that reaches a joint it drives", 1e-3, 1.0
    )
    backdrive_efficiency: Floats = _drive(
        1.0, "share of the joint's torque that reaches a motor it drives", 1e-3, 1.0
    )
    resistance: Floats = _constant("of the motor [Ohm]")
    back_emf_constant: Floats = _constant(
        "voltage per speed of the motor [V s/rad]; 0: as much as torque_constant"
    )
    supply_voltage: Floats = _constant("at a duty of 1 [V]")
    stiffness: Floats = _constant(
        "torque per deflection of the drive's position loop [N m/rad or N/m]"
    )
    damping: Floats = _constant(
        "torque per speed with which that loop opposes motion [N m s/rad or N s/m]"
    )
    rated_effort: Floats = _constant("torque of the joint at 100 percent [N m or N]")
    max_current: Floats = _drive(0.0, "largest current [A]; 0: no limit", 0.0, np.inf)
    max_duty: Floats = _drive(1.0, "largest duty cycle; 0: no limit, as 1", 0.0, 1.0)
    continuous_current: Floats = _drive(
        0.0, "that the motor bears for ever [A]; 0: any", 0.0, np.inf
    )
    thermal_time: Floats = _drive(60.0, "time constant of the motor's temperature [s]", 1e-3, 1e6)

    @classmethod
    def of(cls, parameters: Mapping[str, Any], joints: Iterable[str]) -> DriveUnits:
        """Return the drives that parameters ``drives.<joint>.*`` describe; others have defaults."""
        drives = cls(tuple(joints))
        known = drives.parameters
        for key in parameters:
            if key.startswith("drives.") and key not in known:
                raise ValueError(
                    f"{key}: no such parameter of the joints {', '.join(drives.names)}"
                )
        values = {**known, **parameters}
        of_each: dict[str, Any] = {
            place.name: [values[PARAMETER.format(joint, place.name)] for joint in drives.names]
            for place in fields(cls)[1:]
        }
        return cls(drives.names, **of_each)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters ``drives.<joint>.*`` that describe them."""
        return {
            PARAMETER.format(joint, place.name): getattr(self, place.name)[k]
            for place in fields(self)[1:]
            for k, joint in enumerate(self.names)
        }

    def __post_init__(self) -> None:
        """Check the values; numbers become arrays (n,) of float64, words tuples."""
        of_joints = [joint_parameters_of(DriveUnits, joint) for joint in self.names]
        for place, *parameters in zip(fields(self)[1:], *of_joints, strict=True):
            given = np.broadcast_to(np.asarray(getattr(self, place.name), object), self.n)
            values = [p.accept(v) for p, v in zip(parameters, given.tolist(), strict=True)]
            words = place.metadata.get("choices")
            object.__setattr__(self, place.name, tuple(values) if words else np.array(values))
        for name, most in UNLIMITED.items():
            limit = getattr(self, name)
            object.__setattr__(self, name, np.where(limit == 0.0, most, limit))
        for what in ("command", "effort"):
            for k, word in enumerate(getattr(self, what)):
                for name in NEEDED.get(word, ()):
                    if not (value := getattr(self, name)[k]) > 0.0:
                        raise ValueError(
                            f"drives.{self.names[k]}.{name} is {value:g}, expected more than 0 for "
                            f"{what} {word}"
                        )

    @property
    def without_effect(self) -> str:
        """What is set although nothing acts on it, in one line; empty for nothing."""
        said = []
        for k, joint in enumerate(self.names):
            if self.direction[k] < 0.0 and not {self.command[k], self.effort[k]} & {CURRENT, DUTY}:
                said.append(
                    f"drives.{joint}.direction turns currents and duty cycles round; command "
                    f"{self.command[k]} and effort {self.effort[k]} are the joint's own"
                )
            if np.isfinite(self.max_current[k]) and not self.torque_constant[k] > 0.0:
                said.append(
                    f"drives.{joint}.max_current limits the torque by torque_constant, which is 0"
                )
        return f"without effect: {'; '.join(said)}" if said else ""

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.names)

    def commanded_by(self, law: str) -> NDArray[np.bool_]:
        """Return (n,) which drives are commanded in a unit, one of ``COMMANDS``."""
        return self.laws == COMMANDS.index(law)

    @cached_property
    def laws(self) -> NDArray[np.int32]:
        """Which drive (n,) is told what: indices in ``COMMANDS``."""
        return np.array([COMMANDS.index(word) for word in self.command], dtype=np.int32)

    @cached_property
    def compliance(self) -> Floats:
        """Deflection per torque (n,) of drives that are told positions, 0 of others."""
        return _ratio(self.commanded_by(POSITION).astype(float), self.stiffness)

    @cached_property
    def torque_per_current(self) -> Floats:
        """Torque of the joint per current (n,) [N m/A or N/A], 0 where it is not known."""
        return self.direction * self.gear_ratio * self.torque_constant

    @cached_property
    def voltage_per_speed(self) -> Floats:
        """Back-EMF per speed of the joint (n,) [V s/rad or V s/m]."""
        constant = np.where(self.back_emf_constant, self.back_emf_constant, self.torque_constant)
        return self.direction * self.gear_ratio * constant

    def torques(self, command: Floats, q: Floats, qd: Floats) -> Floats:
        """Return the torque (n,) that drives exert when they are so told [N m or N].

        ``q``, ``qd``: position and velocity of the joint. Compiled code tells drives the inverse.
        """

        def voltage() -> Floats:
            return command * self.supply_voltage - self.voltage_per_speed * qd

        return self._chosen(
            command,
            current=lambda: self._torque(command, qd),
            duty=lambda: self._torque(_ratio(voltage(), self.resistance), qd),
            position=lambda: self.stiffness * (command - q) - self.damping * qd,
        )

    @cached_property
    def torque_per_speed(self) -> Floats:
        """By how much less torque (n,) a drive exerts per speed, told the same, without losses."""
        by_back_emf = _ratio(self.torque_per_current * self.voltage_per_speed, self.resistance)
        values = {DUTY: lambda: by_back_emf, POSITION: lambda: self.damping}
        return self._chosen(np.zeros(self.n), **values)

    @cached_property
    def losses(self) -> tuple[Floats, Floats]:
        """The motor's torque per torque: mean and half difference of the directions of power."""
        driving, driven = 1.0 / self.efficiency, self.backdrive_efficiency
        return 0.5 * (driving + driven), 0.5 * (driving - driven)

    def _torque(self, current: Floats, qd: Floats) -> Floats:
        """Return the torque behind the gears."""
        motor = self.torque_per_current * current
        even, odd = self.losses
        return motor / (even + odd * np.sign(motor) * smooth_sign(qd))

    def _chosen(self, otherwise: Floats, **by_law: Callable[[], Floats]) -> Floats:
        """Return each drive's value by its law; what no drive has is not worked out."""
        for law, value in by_law.items():
            if (which := self.commanded_by(law)).any():
                otherwise = np.where(which, value(), otherwise)
        return otherwise

    @property
    def effort_gain(self) -> Floats:
        """Torque per unit of the measured effort (n,)."""
        gains = {CURRENT: self.torque_per_current, PERCENT: self.rated_effort / 100.0}
        return np.array([gains[w][k] if w in gains else 1.0 for k, w in enumerate(self.effort)])

    @property
    def hides_gravity(self) -> NDArray[np.bool_]:
        """(n,) whose measured effort lacks the torque of gravity."""
        return np.array([word == WITHOUT_GRAVITY for word in self.effort], dtype=bool)

    def measured_torque(self, effort: Floats, gravity: Floats) -> Floats:
        """Return the torque that efforts (n,) or (N, n) mean, by the torque of gravity there."""
        return self.effort_gain * effort + self.hides_gravity * gravity

    def measured_effort(self, torque: Floats, gravity: Floats) -> Floats:
        """Return what drives report of a torque: the inverse of ``measured_torque``."""
        return _ratio(torque - self.hides_gravity * gravity, self.effort_gain)

    def effort_limit(self) -> Floats:
        """Return the torque (n,) that the drives' own limits leave at rest, inf for no limit."""
        by_voltage = _ratio(self.max_duty * self.supply_voltage, self.resistance)
        current = np.fmin(np.where(by_voltage > 0.0, by_voltage, np.inf), self.max_current)
        known = self.torque_constant > 0.0
        even, odd = self.losses
        torque = np.abs(self.torque_per_current) * np.where(known, current, 0.0) / (even + odd)
        return np.where(known, torque, np.inf)

    def within_drives(self, limit: Floats) -> Floats:
        """Return the torques (n,) that simulated drives give at most: those, and what theirs allow.

        One that is told a current or duty has its limit there: losses may add to a motor's torque.
        """
        told = self.commanded_by(CURRENT) | self.commanded_by(DUTY)
        return np.where(told, limit, np.minimum(limit, self.effort_limit()))

    @cached_property
    def max_command(self) -> Floats:
        """Largest current or duty (n,), inf of other drives."""
        most = {CURRENT: lambda: self.max_current, DUTY: lambda: self.max_duty}
        return self._chosen(np.full(self.n, np.inf), **most)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, 0 where the denominator is 0: what is not known asks for nothing."""
    known = denominator != 0.0
    return np.where(known, numerator / np.where(known, denominator, 1.0), 0.0)
