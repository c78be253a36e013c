"""What binds drives: current, duty cycle, position, the motors' heat; is effort what it says?"""

from __future__ import annotations

import numpy as np

from featherstone_ros._control import SnapshotRequest
from featherstone_ros.arrays import Floats
from featherstone_ros.model.drive_units import (
    ANOTHER_UNIT,
    CURRENT,
    DUTY,
    DriveUnits,
    in_proportion,
)

ENOUGH = 25  # states that say anything: of a few, the commands may change faster than they act
LOADED = 0.1  # of its effort limit: with less, friction may be what is measured behind a gear


class EffortWatch:
    """Compares measured efforts with the torques that the drives were told."""

    def __init__(self, units: DriveUnits, effort_limit: Floats) -> None:
        """Begin without an opinion; ``effort_limit``: (n,) [N m or N]."""
        self._units, self._limit = units, effort_limit
        self._sums, self._states = np.zeros((3, units.n)), 0
        self._told: dict[str, str] = {}

    def update(self, echo: Floats, states: int) -> dict[str, str]:
        """Return, by joint, what the effort seems to be instead of torque, in words."""
        count = states - self._states
        if count < ENOUGH:
            return dict(self._told)
        since, self._sums, self._states = echo - self._sums, echo, states
        commanded, measured, product = since
        loaded = commanded > count * (LOADED * self._limit) ** 2
        proportional = in_proportion(product, commanded, measured)
        for k in np.flatnonzero(loaded & proportional & (measured > 0.0)).tolist():
            joint, factor = self._units.names[k], float(product[k] / commanded[k])
            self._told.pop(joint, None)
            if factor < 0.0:
                self._told[joint] = "measured effort has the opposite sign of the commanded torque"
            elif not ANOTHER_UNIT[0] < factor < ANOTHER_UNIT[1]:
                self._told[joint] = (
                    f"measured effort is {factor:.2g} times the commanded torque: another unit "
                    f"(drives.{joint}.effort)?"
                )
        return dict(self._told)


class DriveWatch:
    """Looks at what a compiled controller counts, once for every report.

    A motor's temperature above that around follows the square of its current like a first-order
    lag (I2t): it is told as a share of the rise that the continuous current ends with.
    """

    def __init__(self, units: DriveUnits, effort_limit: Floats) -> None:
        """Begin with cold motors. ``effort_limit``: (n,) [N m or N]."""
        self._units, self._rise = units, np.zeros(units.n)
        self._efforts = EffortWatch(units, effort_limit)
        self._cut = self._squared = np.zeros(units.n)
        self._at = np.nan

    def look(self, now: float, snapshot: SnapshotRequest) -> dict[str, str]:
        """Return what ``update`` does of a controller's counters, at a time [s]."""
        cut, squared_current, *echo = snapshot.drive_counts
        return self.update(now, cut, squared_current, np.array(echo), snapshot.accepted)

    def update(
        self, now: float, cut: Floats, squared_current: Floats, echo: Floats, states: int
    ) -> dict[str, str]:
        """Return, by joint, what has bound its drive since the last look, or is off, in words."""
        counts, self._cut = cut - self._cut, cut
        charge, self._squared = squared_current - self._squared, squared_current
        duration, self._at = now - self._at, now
        units = self._units
        if duration > 0.0:
            end = charge / duration / units.continuous_current**2
            self._rise = end + (self._rise - end) * np.exp(-duration / units.thermal_time)
        notes: dict[str, list[str]] = {joint: [] for joint in units.names}
        for k, said in enumerate(notes.values()):
            if counts[k]:
                said.append(f"{self._limit(k)} cut {counts[k]:.0f} commands")
            if self._rise[k] > 1.0:
                said.append(
                    f"the motor is at {100 * self._rise[k]:.0f} % of the temperature rise that its "
                    f"continuous current of {units.continuous_current[k]:.4g} A causes"
                )
        for joint, text in self._efforts.update(echo, states).items():
            notes[joint].append(text)
        return {joint: "; ".join(said) for joint, said in notes.items() if said}

    def _limit(self, joint: int) -> str:
        units, name = self._units, f"drives.{self._units.names[joint]}"
        limits = {
            CURRENT: f"{name}.max_current of {units.max_current[joint]:g} A",
            DUTY: f"{name}.max_duty of {units.max_duty[joint]:g}",
        }
        return limits.get(units.command[joint], "the joint's position limit")
