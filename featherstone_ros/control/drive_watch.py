"""What limits of the drives' own bind: current, duty cycle, position, and the motors' heat."""

from __future__ import annotations

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model.drive_units import CURRENT, DUTY, DriveUnits, MotorHeat


class DriveWatch:
    """Looks at what a compiled controller counts, once for every report."""

    def __init__(self, units: DriveUnits) -> None:
        """Begin with cold motors."""
        self._units, self._heat = units, MotorHeat(units)
        self._cut = self._squared = np.zeros(units.n)
        self._at = np.nan

    def update(self, now: float, cut: Floats, squared_current: Floats) -> dict[str, str]:
        """Return, by joint, what has bound its drive since the last look, in words.

        Args:
            now: Time [s].
            cut: (n,) how many commands the drives' own limits have cut so far.
            squared_current: (n,) integral of the motors' squared currents so far [A^2 s].
        """
        counts, self._cut = cut - self._cut, cut
        charge, self._squared = squared_current - self._squared, squared_current
        duration, self._at = now - self._at, now
        if duration > 0.0:
            self._heat.advance(np.sqrt(charge / duration), duration)
        told = {
            joint: f"{self._limit(k)} cut {counts[k]:.0f} commands"
            for k, joint in enumerate(self._units.names)
            if counts[k]
        }
        hot = self._heat.binding()
        return {
            joint: "; ".join(filter(None, (told.get(joint), hot.get(joint))))
            for joint in self._units.names
            if joint in told or joint in hot
        }

    def _limit(self, joint: int) -> str:
        units, name = self._units, f"drives.{self._units.names[joint]}"
        limits = {
            CURRENT: f"{name}.max_current of {units.max_current[joint]:g} A",
            DUTY: f"{name}.max_duty of {units.max_duty[joint]:g}",
        }
        return limits.get(units.command[joint], "the joint's position limit")
