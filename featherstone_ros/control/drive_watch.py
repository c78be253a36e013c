"""What binds drives: current, duty cycle, position, the motors' heat; what is learned of servos."""

from __future__ import annotations

import numpy as np

from featherstone_ros._control import LEARNED_FACTOR
from featherstone_ros.arrays import Floats
from featherstone_ros.model.drive_units import CURRENT, DUTY, POSITION, DriveUnits, MotorHeat

STRAYED = 1.0  # [s] for which no stiffness within the bounds fits before that is told


def factors(units: DriveUnits, compliance: Floats) -> dict[str, str]:
    """Return, by servo's joint, its stiffness as learned over the one that is set."""
    return {
        joint: f"{units.compliance[k] / compliance[k]:.2f}"
        for k, joint in enumerate(units.names)
        if units.told(POSITION)[k]
    }


def misfits(
    units: DriveUnits, compliance: Floats, strayed: Floats, shown: Floats
) -> dict[str, str]:
    """Return, by joint, that its stiffness is not what is set, in words.

    Args:
        units: Of the drives.
        compliance: (n,) as learned.
        strayed: (n,) for how long none within the bounds has fitted [s].
        shown: (n,) compliance that torques and deflections show.
    """
    given, learned = units.compliance, compliance
    ends = (learned <= given / LEARNED_FACTOR) | (learned >= given * LEARNED_FACTOR)
    return {
        joint: f"drives.{joint}.stiffness of {units.stiffness[k]:g} is off by a factor of "
        f"{LEARNED_FACTOR:g} or more: torques and deflections show {_stiffness(shown[k])} (so may "
        "an obstacle, or a payload that is not set)"
        for k, joint in enumerate(units.names)
        if given[k] and (strayed[k] > STRAYED or ends[k])
    }


def _stiffness(compliance: float) -> str:
    return f"about {1.0 / compliance:.3g}" if compliance > 0.0 else "another sign or no deflection"


class DriveWatch:
    """Looks at what a compiled controller counts, once for every report."""

    def __init__(self, units: DriveUnits) -> None:
        """Begin with cold motors."""
        self._units, self._heat = units, MotorHeat(units)
        self._cut = self._squared = np.zeros(units.n)
        self._at = np.nan

    def update(
        self,
        now: float,
        cut: Floats,
        squared_current: Floats,
        stiffness: tuple[Floats, Floats, Floats],
    ) -> dict[str, str]:
        """Return, by joint, what has bound its drive since the last look, or is off, in words.

        Args:
            now: Time [s].
            cut: (n,) how many commands the drives' own limits have cut so far.
            squared_current: (n,) integral of the motors' squared currents so far [A^2 s].
            stiffness: What ``misfits`` takes.
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
        notes = told, self._heat.binding(), misfits(self._units, *stiffness)
        of_joints = {
            joint: [note[joint] for note in notes if joint in note] for joint in self._units.names
        }
        return {joint: "; ".join(words) for joint, words in of_joints.items() if words}

    def _limit(self, joint: int) -> str:
        units, name = self._units, f"drives.{self._units.names[joint]}"
        limits = {
            CURRENT: f"{name}.max_current of {units.max_current[joint]:g} A",
            DUTY: f"{name}.max_duty of {units.max_duty[joint]:g}",
        }
        return limits.get(units.command[joint], "the joint's position limit")
