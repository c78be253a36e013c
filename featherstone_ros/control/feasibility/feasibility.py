"""Whether a motion fits the limits, and how it could be made to fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros._control import BLEND_SPEED, SET_POINT_SPEED
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.demand import Demand, demand
from featherstone_ros.control.feasibility.excesses import (
    JUMP,
    ROUNDING,
    Excess,
    excesses,
    jumps,
    quantities,
    slow_down,
)
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import Motion, MotionState
from featherstone_ros.control.settings import Choice, ControllerSettings
from featherstone_ros.model import Model
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


FINEST = 1e-3  # [s] between two samples
# Samples times joints. The control loop waits meanwhile: this many take about as long as reading a
# trajectory of a hundred points, 1 to 2 ms. More is sampled more coarsely.
MAX_VALUES = 7000


class Preflight(Choice):
    """Reaction to what exceeds the arm's limits of effort, or jumps.

    With any but ``off``, what is too fast or leaves the range is refused: see ``is_beyond``.
    """

    OFF = "off"
    WARN = "warn"
    REJECT = "reject"


def check_trajectory(
    dynamics: Dynamics,
    model: Model,
    settings: ControllerSettings,
    motion: Motion,
    begin: float,
    velocity: Floats,
) -> Feasibility:
    """Check a trajectory's whole motion, including the way to its first point.

    The time it takes is bounded for any length of the motion and number of points. ``begin``: when
    it takes over, on the motion's clock [s]; ``velocity``: the desired one until then (n,).
    """
    limits = JointSpace.of(model, settings.effort_limit)
    max_samples = MAX_VALUES / model.n
    step = max(FINEST, (motion.end - begin) / max_samples)
    return check(
        dynamics,
        settings.drives,
        limits,
        motion,
        begin,
        motion.end,
        velocity,
        step,
        True,
        max_samples,
    )


def is_beyond(verdict: Feasibility, motion: Motion, velocity: Floats) -> bool:
    """Tell whether a trajectory is too fast or leaves the range of a joint: no drives could help.

    One rule for all that moves the joints: a velocity may be ``SET_POINT_SPEED`` times its limit,
    as a set-point's, and while a motion before is blended into the trajectory, which is not the
    sender's, ``BLEND_SPEED`` more. From the first point on, positions may be ``LIMIT_SLACK``
    beyond the limits, as those of points; an arm may come from further outside.

    ``velocity``: (n,) the desired one before.
    """
    demand, first = verdict.demand, float(motion.corners[0])
    blended = demand.time < (first if velocity.any() else motion.blended_until)
    follows = demand.time >= max(first, motion.blended_until)
    return any(
        excess.quantity == quantity and not excess.share() <= max_share
        for samples, quantity, max_share in (
            (~blended, "velocity", SET_POINT_SPEED),
            (blended, "velocity", SET_POINT_SPEED + BLEND_SPEED),
            (follows, "position", 0.0),
        )
        if samples.any()
        for excess in excesses(quantities(demand.where(samples), verdict.limits), verdict.limits)
    )


def check_set_point(
    dynamics: Dynamics, model: Model, settings: ControllerSettings, state: MotionState
) -> str:
    """Return why the motors cannot follow a streamed set-point, empty if they can.

    Its speed and position are checked when it is read.
    """
    drives = replace(settings.drives, coulomb=np.zeros(model.n), load=0.0)  # it may turn round
    torque = drives.torque(dynamics, state.position, state.velocity, state.acceleration)
    excess = np.abs(torque) - settings.effort_limit
    worst = int(np.argmax(excess))
    if excess[worst] <= 0.0:
        return _too_sudden(JointSpace.of(model), state)
    return (
        f"{model.joint_names[worst]} needs {abs(torque[worst]):.4g}, its effort limit is "
        f"{settings.effort_limit[worst]:.4g}"
    )


def _too_sudden(space: JointSpace, state: MotionState) -> str:
    """Return which joint's acceleration exceeds its limit, empty if none does."""
    slows = state.velocity * state.acceleration < 0.0
    limit = np.where(slows, space.deceleration, space.acceleration)
    share = np.abs(state.acceleration) / limit
    worst = int(np.argmax(share))
    if share[worst] <= 1.0 + ROUNDING:
        return ""
    quantity = "deceleration" if slows[worst] else "acceleration"
    return (
        f"{space.names[worst]} has {quantity} {abs(state.acceleration[worst]):.4g} "
        f"{space.unit(worst, quantity)}, its limit is {limit[worst]:.4g}"
    )
