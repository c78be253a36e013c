"""Whether a motion fits the limits, and how it could be made to fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import Demand, demand
from featherstone_ros.control.feasibility.excesses import (
    JUMP,
    Excess,
    excesses,
    jumps,
    quantities,
    slow_down,
)
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import Motion
from featherstone_ros.model.drives import Drives


@dataclass(frozen=True, eq=False)
class Feasibility:
    """The result of a check."""

    demand: Demand  # position, speed and torque of the motion
    limits: JointSpace  # those of the arm
    # where it exceeds the limits; velocity jumps, which no motor can follow, last
    excesses: list[Excess]

    @property
    def fits(self) -> bool:
        """Whether the arm can follow."""
        return not self.excesses

    @property
    def jumps(self) -> list[Excess]:
        """The velocity jumps."""
        return [excess for excess in self.excesses if excess.quantity == JUMP]

    @cached_property
    def slow_down(self) -> float:
        """Smallest factor on time that makes it fit; inf: none does.

        Then the velocity jumps are small, too.
        """
        if any(excess.quantity == "position" for excess in self.excesses):
            return inf
        with np.errstate(over="ignore", invalid="ignore"):
            factor = slow_down(self.demand, self.limits)
        return max([factor, *(jump.share() for jump in self.jumps)])

    @cached_property
    def standing_excesses(self) -> list[Excess]:
        """Torque beyond a limit at any speed: that of gravity and Coulomb friction alone."""
        rows = quantities(self.demand.slowed(inf), self.limits)
        return excesses((row for row in rows if row.name == "torque"), self.limits)

    def advice(self) -> str:
        """Return one line of advice."""
        if not self.jumps:
            return self._advice()
        smooth = (
            "give the points velocities, for cubics, and accelerations, for quintics, or let "
            "featherstone-ros retime do so"
        )
        if others := [excess for excess in self.excesses if excess.quantity != JUMP]:
            return f"{replace(self, excesses=others)._advice()}; besides, {smooth}"
        return f"{smooth}; or {round_up(self.slow_down):.4g} times slower the jumps would be small"

    def _advice(self) -> str:
        if any(excess.quantity == "position" for excess in self.excesses):
            hint = self.limits.if_degrees(self.demand.position)
            return f"no speed would keep it within the position limits{hint}"
        if self.slow_down < inf:
            return f"slowed down {round_up(self.slow_down):.4g} times it would fit"
        if self.standing_excesses:
            worst = max(self.standing_excesses, key=Excess.share)
            return f"gravity and friction alone are too much, however slow: {worst}"
        return "no one factor on time would make it fit"

    def __str__(self) -> str:
        """Return one line for a person."""
        if self.fits:
            return "fits"
        worst = {excess.quantity: excess for excess in sorted(self.excesses, key=Excess.share)}
        ordered = sorted(worst.values(), key=lambda excess: excess.quantity == JUMP)
        shown, others = "; ".join(map(str, ordered)), len(self.excesses) - len(worst)
        return f"{shown}{f'; and {others} more' if others else ''}: {self.advice()}"


def check(
    dynamics: Dynamics,
    drives: Drives,
    limits: JointSpace,
    motion: Motion,
    begin: float,
    end: float,
    velocity: Floats,
    step: float = 1e-3,
    with_extra_effort: bool = False,
    max_samples: float = inf,
) -> Feasibility:
    """Check a motion; the arguments are those of ``demand``, its limits, and those of ``jumps``."""
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is an excess
        asked = demand(dynamics, drives, motion, begin, end, step, with_extra_effort, max_samples)
        rows = [*quantities(asked, limits), jumps(motion, begin, velocity, limits)]
        return Feasibility(asked, limits, excesses(rows, limits))


def round_up(factor: float) -> float:
    """Return a factor with four significant digits that is not smaller, for people to use."""
    shown = float(f"{factor:.4g}")
    return shown if shown >= factor else float(f"{factor * 1.0005:.4g}")
