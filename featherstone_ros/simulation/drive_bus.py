"""A plant whose bus speaks in the drives' own units: the border of a controller in plain Python.

The controller's torques go out as currents, duty cycles or positions, and measured efforts come in
as torques (``DriveUnits``). To drives with position loops goes

    q + qd (time until the middle of when it acts) + compliance (tau + damping qd)

the desired position and velocity, and the torque as an offset, whose compliance is learned
(cython_core/servo_stiffness.pxd, the same as in the nodes).

Commands are as continuous as what the controller gives: torques and positions from its governors.
What is not finite is not sent. Drives' own limits cut, and are told (``binding``).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics, Model
from featherstone_ros._control import LearnedStiffness
from featherstone_ros.arrays import Floats
from featherstone_ros.control.drive_watch import misfits
from featherstone_ros.model.drive_units import POSITION, DriveUnits, MotorHeat
from featherstone_ros.simulation.closed_loop import Command, JointState

LONGEST = 0.1  # [s] between two commands that counts


class Bus(Protocol):
    """What the drives are connected to; neither method waits."""

    def read(self, now: float) -> JointState | None:
        """Return the newest joint state, efforts in the drives' units; None: nothing new."""

    def write(self, at: float, command: Floats) -> None:
        """Send what the drives are told (n,), each in its unit, from a time on."""


class DriveBus:
    """A plant for ``ClosedLoop``; arrays are (n,) in the order of ``model.joint_names``.

    Attributes:
        units: Of the drives, as far as they are known.
        heat: Of the motors whose currents are known.
    """

    def __init__(
        self,
        model: Model,
        units: DriveUnits,
        bus: Bus,
        rate: float | None = None,
        tolerance: ArrayLike | None = None,
    ) -> None:
        """Connect.

        Args:
            model: The arm.
            units: Of its drives.
            bus: What reads and writes.
            rate: At which compliances are learned [1/s]; 0: they are as given; None: as in the
                nodes.
            tolerance: Error that teaches nothing: what friction and play can hold [rad or m]; None:
                ``units.learning_tolerance``.
        """
        self.units, self.heat = units, MotorHeat(units)
        self._model, self._bus, self._dynamics = model, bus, Dynamics(model)
        self._follows = units.commanded_by(POSITION)
        self._learned = LearnedStiffness(
            units,
            units.learning_tolerance if tolerance is None else tolerance,
            *([] if rate is None else [rate]),
        )
        self._state: JointState | None = None
        self._now = self._period = 0.0
        self._binding: dict[str, str] = {}

    def __repr__(self) -> str:
        """Return the arm, what its drives are told, and what binds."""
        binds = "".join(f", {joint}: {what}" for joint, what in self.binding.items())
        return f"<DriveBus of {self._model!r}: {self.units.commands_in_words()}{binds}>"

    @property
    def compliance(self) -> Floats:
        """Of the drives with position loops, as learned so far (n,) [rad/(N m) or m/N]."""
        learned: Floats = self._learned.shown[0]
        return learned

    @property
    def binding(self) -> dict[str, str]:
        """By joint: a limit of its drive cut the last command, or motor or stiffness are off."""
        return misfits(self.units, *self._learned.shown) | self.heat.binding() | self._binding

    def read(self, now: float) -> JointState | None:
        """Return what is measured, efforts as torques."""
        state = self._bus.read(now)
        if state is None:
            return None
        self._period = min(now - self._now, LONGEST) if self._state else 0.0
        self._state, self._now = state, now
        if state.effort is None:
            return state
        gravity = self._dynamics.gravity(state.q)
        return state._replace(effort=self.units.measured_torque(state.effort, gravity))

    def write(self, at: float, command: Command) -> None:
        """Send a command in the drives' units."""
        state, parts = self._state, [part for part in command if part is not None]
        if state is None or not np.isfinite(parts).all():
            return
        speed = np.zeros_like(state.q) if state.qd is None else np.nan_to_num(state.qd)
        told = self.units.commands(command.effort, state.q, speed)
        if self._follows.any():
            told = np.where(self._follows, self._position(at, command, state.q), told)
        if not np.isfinite(told).all():  # nor is the state
            return
        lower, upper = self._model.lower, self._model.upper
        self._binding = self.units.binding(told, lower, upper)
        sent = self.units.limited(told, lower, upper)
        self._learn(at, command, state.q, sent, told == sent)
        self.heat.advance(self.units.currents(command.effort, speed), self._period)
        self._bus.write(at, sent)

    def _position(self, at: float, command: Command, q: Floats) -> Floats:
        """Return the positions that drives with position loops are told.

        Without a desired position, the measured one: then the offset alone moves the joint.
        """
        if command.position is None or command.velocity is None:
            return q + self.compliance * command.effort
        torque = command.effort + self.units.damping * command.velocity
        return command.position + command.velocity * self._ahead(at) + self.compliance * torque

    def _ahead(self, at: float) -> float:
        """Return the time until the middle of when a command acts [s]."""
        return at - self._now + 0.5 * self._period

    def _learn(self, at: float, command: Command, q: Floats, sent: Floats, whole: Any) -> None:
        """Learn from a state and what answers it; whole: where no limit cut that."""
        if command.position is None or command.velocity is None or not self._follows.any():
            return
        self._learned.learn(
            command.effort + self.units.damping * command.velocity,
            command.position - q,
            sent - command.velocity * self._ahead(at) - q,
            command.velocity,
            self._period,
            whole,
        )
