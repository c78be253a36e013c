"""A plant whose bus speaks in the drives' own units: plain Python's way to real drives.

``ClosedLoop`` converts as the nodes do (cython_core/control/cycle_state.pxd): the same limits, the
same governor of positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from featherstone_ros import Model
from featherstone_ros.arrays import Floats
from featherstone_ros.control.drive_watch import DriveWatch
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.simulation.closed_loop import Command, JointState

if TYPE_CHECKING:
    from featherstone_ros.simulation.closed_loop import ClosedLoop


class Bus(Protocol):
    """What the drives are connected to; neither method waits."""

    def read(self, now: float) -> JointState | None:
        """Return the newest joint state, efforts in the drives' units; None: nothing new."""

    def write(self, at: float, command: Floats) -> None:
        """Send what the drives are told (n,), each in its unit, from a time on."""


class DriveBus:
    """A plant for ``ClosedLoop``; arrays are (n,) in the order of ``model.joint_names``.

    Attributes:
        units: Of the drives, as far as they are known; the loop's arm takes them over.
    """

    def __init__(self, model: Model, units: DriveUnits, bus: Bus) -> None:
        """Connect.

        Args:
            model: The arm.
            units: Of its drives.
            bus: What reads and writes.
        """
        self.units = units
        self._model, self._bus = model, bus
        self._loop: ClosedLoop | None = None
        self._binding: dict[str, str] = {}
        self._looked = -1.0

    def __repr__(self) -> str:
        """Return the arm, what its drives are told, and what binds."""
        binds = "".join(f", {joint}: {what}" for joint, what in self.binding.items())
        return f"<DriveBus of {self._model!r}: {self.units.commands_in_words()}{binds}>"

    def connect(self, loop: ClosedLoop) -> None:
        """Belong to a loop, whose controller knows what binds; called by that."""
        self._loop, self._watch = loop, DriveWatch(self.units, loop.arm.limits.effort)

    @property
    def binding(self) -> dict[str, str]:
        """By joint, in words: what has bound its drive since the last look, or is off."""
        if self._loop is not None and self._loop.now > self._looked:
            self._binding = self._watch.look(self._loop.now, self._loop.controller.compiled)
            self._looked = self._loop.now
        return dict(self._binding)

    def read(self, now: float) -> JointState | None:
        """Return what is measured, efforts in the drives' units."""
        return self._bus.read(now)

    def write(self, at: float, command: Command) -> None:
        """Send what the drives are told."""
        if command.told is None:
            raise ValueError("told is None, expected the command of a ClosedLoop around DriveBus")
        self._bus.write(at, command.told)
