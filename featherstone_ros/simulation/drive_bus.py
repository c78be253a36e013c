"""A plant whose bus speaks in the drives' own units: the border of a controller in plain Python.

The controller's torques go out as currents, duty cycles or positions, and measured efforts come in
as torques (``DriveUnits``). To drives with position loops goes

    q + qd (time until the middle of when it acts) + compliance (tau + damping qd)

the desired position and velocity, and the torque as an offset. What the stiffness is exactly nobody
knows: an error of a third leaves a third of the sag. So the compliance, first 1 / stiffness, is
learned from the error e that is left,

    compliance' = rate u e / (u^2 + u0^2),    u = tau + damping qd

slowly against the position loop, within bounds, and only by what is more than friction and play can
hold (J.-J. Slotine, W. Li, *Applied Nonlinear Control*, 1991, 8.7, without its damping term: the
drive has that; the dead zone is of 8.6). Unlike an integral of the error it does not wind up where
a joint sticks without load, and is right at once where the load changes.

Commands are as continuous as what the controller gives: torques and positions from its governors.
What is not finite is not sent. Drives' own limits cut, and are told (``binding``).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.model.drive_units import POSITION, DriveUnits, MotorHeat
from featherstone_ros.simulation.closed_loop import Command, JointState

RATE = 4.0  # [1/s] at which a compliance is learned
UNCERTAINTY = 0.5  # share by which a stiffness may be less, or more by as much again
TOLERANCE = 2e-3  # [rad or m] of error that teaches nothing
SMALL = 3.0  # tolerances: a torque that deflects the drive by less teaches little
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
        compliance: Of the drives with position loops, as learned so far [rad/(N m) or m/N].
    """

    def __init__(
        self,
        model: Model,
        units: DriveUnits,
        bus: Bus,
        rate: float = RATE,
        tolerance: ArrayLike = TOLERANCE,
    ) -> None:
        """Connect.

        Args:
            model: The arm.
            units: Of its drives.
            bus: What reads and writes.
            rate: At which compliances are learned [1/s]; 0: they are as given.
            tolerance: Error that teaches nothing: what friction and play can hold [rad or m].
        """
        self.units, self.heat = units, MotorHeat(units)
        self._model, self._bus, self._dynamics = model, bus, Dynamics(model)
        self._rate, self._tolerance = rate, np.asarray(tolerance)
        self._follows = units.told(POSITION)
        stiffness = np.where(self._follows, units.stiffness, np.inf)
        self.compliance = 1.0 / stiffness
        self._least = self.compliance / (1.0 + UNCERTAINTY)
        self._most = self.compliance / (1.0 - UNCERTAINTY)
        self._small = SMALL * np.where(self._follows, units.stiffness, 1.0) * self._tolerance
        self._state: JointState | None = None
        self._now = self._period = 0.0
        self._binding: dict[str, str] = {}

    @property
    def binding(self) -> dict[str, str]:
        """By joint, which limit of its drive cut the last command, or that its motor is hot."""
        return self.heat.binding() | self._binding

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
        self.heat.advance(self.units.currents(command.effort, speed), self._period)
        self._bus.write(at, self.units.limited(told, lower, upper))

    def _position(self, at: float, command: Command, q: Floats) -> Floats:
        """Return the positions that drives with position loops are told.

        Without a desired position, the measured one: then the offset alone moves the joint.
        """
        if command.position is None or command.velocity is None:
            return q + self.compliance * command.effort
        torque = command.effort + self.units.damping * command.velocity
        self._learn(torque, command.position - q)
        ahead = at - self._now + 0.5 * self._period
        return command.position + command.velocity * ahead + self.compliance * torque

    def _learn(self, torque: Floats, error: Floats) -> None:
        beyond = error - np.clip(error, -self._tolerance, self._tolerance)
        step = self._rate * self._period * torque * beyond / (torque**2 + self._small**2)
        learned = np.clip(self.compliance + step, self._least, self._most)
        self.compliance = np.where(np.isfinite(learned), learned, self.compliance)
