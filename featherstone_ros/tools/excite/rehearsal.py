"""Rehearses a planned motion on a simulated arm, in mode feedforward."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import Gains, Timing
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.friction import presliding
from featherstone_ros.simulation.closed_loop import Command
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools.excite.excitation import Series


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The result of a rehearsal, of the shape of its gains.

    Attributes:
        error: Greatest distance from the motion [rad or m].
        effort: Greatest torque [N m or N].
    """

    error: Floats
    effort: Floats


def rehearse(
    arm: ControlledArm,
    series: Series,
    gains: Gains,
    timing: Timing,
    excess: float = 0.0,
    unknown: float = 0.0,
) -> Rehearsal:
    """Let the simulated arm follow a motion.

    Args:
        arm: What the controller knows.
        series: The motion.
        gains: (n,) or (B, n): of B rehearsals.
        timing: Of the loop.
        excess: Share by which the simulated arm is heavier.
        unknown: Coulomb friction that it has besides, as a share of the effort limits.
    """
    model, drives, limit = arm.model, arm.drives, arm.limits.effort
    p, d = np.atleast_2d(gains.p), np.atleast_2d(gains.d)
    time = np.arange(0.0, series.duration, timing.period)
    q, qd, qdd = series.at(time)
    sliding = presliding(q, drives.presliding_displacement, time=time)
    forward = drives.torque(Dynamics(model), q, qd, qdd, sliding)
    rubs = unknown * np.where(np.isfinite(model.effort_limit), model.effort_limit, 0.0)
    plant = SimulatedArm.of(
        model.with_inertial_parameters((1.0 + excess) * model.inertial_parameters),
        replace(drives, coulomb=drives.coulomb + rubs),
        np.broadcast_to(q[0], p.shape),
        timing.period,
    )
    error, effort = np.zeros((2, *p.shape))
    try:
        for k, now in enumerate(time):
            plant.advance(now)
            off = q[k] - plant.q
            torque = np.clip(forward[k] + p * off + d * (qd[k] - plant.qd), -limit, limit)
            plant.write(now + timing.delay, Command(torque))
            error, effort = np.maximum(error, np.abs(off)), np.maximum(effort, np.abs(torque))
    except FeatherstoneError:  # some row is so unstable that numbers end
        if len(p) == 1:
            return Rehearsal(np.full(gains.p.shape, np.inf), np.full(gains.p.shape, np.inf))
        halves = [
            rehearse(arm, series, Gains(*half), timing, excess, unknown)
            for half in zip(np.array_split(p, 2), np.array_split(d, 2), strict=True)
        ]
        error, effort = (
            np.concatenate([getattr(half, name) for half in halves]) for name in ("error", "effort")
        )
    return Rehearsal(error.reshape(gains.p.shape), effort.reshape(gains.p.shape))
