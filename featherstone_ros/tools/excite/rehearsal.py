"""Rehearses a planned motion on a simulated arm, in mode feedforward."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from featherstone_ros import Dynamics, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import Gains, Timing
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.friction import presliding
from featherstone_ros.simulation import TwinSettings
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
    steps = max(1, round(timing.period / TwinSettings.time_step))
    simulator = Simulator(
        model.with_inertial_parameters((1.0 + excess) * model.inertial_parameters),
        timing.period / steps,
        TwinSettings.integrator,
        damping=drives.viscous,
        friction=drives.coulomb + rubs,
        armature=drives.armature,
    )
    simulator.reset(np.broadcast_to(q[0], p.shape), np.zeros(p.shape))
    late = round(timing.delay / timing.period)
    coming = deque([np.broadcast_to(forward[0], p.shape)] * (late + 1), late + 1)
    error, effort = np.zeros((2, *p.shape))
    try:
        for k in range(len(time)):
            off = q[k] - simulator.q
            coming.append(np.clip(forward[k] + p * off + d * (qd[k] - simulator.qd), -limit, limit))
            simulator.step(coming[0], steps)
            error, effort = np.maximum(error, np.abs(off)), np.maximum(effort, np.abs(coming[0]))
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
