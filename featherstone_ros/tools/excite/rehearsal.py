"""Rehearses a planned motion on a simulated arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros import Dynamics, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.model.friction import presliding
from featherstone_ros.tools.checked_arm import CheckedArm
from featherstone_ros.tools.excite.excitation import Series

STEP = 1e-3  # [s]
BANDWIDTH = 50.0  # [rad/s] of the error, critically damped


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The result of a rehearsal.

    Attributes:
        error: (n,) greatest distance from the motion [rad or m].
        effort: (n,) greatest torque [N m or N].
    """

    error: Floats
    effort: Floats


def rehearse(arm: CheckedArm, series: Series) -> Rehearsal:
    """Let the simulated arm follow by computed torque, clamped to its effort limits."""
    model, drives = arm.model, arm.drives
    dynamics = Dynamics(model)
    simulator = Simulator(
        model,
        STEP,
        "implicit",
        damping=drives.viscous,
        friction=drives.coulomb,
        armature=drives.armature,
    )
    time = np.arange(0.0, series.duration, STEP)
    q, qd, qdd = series.at(time)
    sliding = presliding(time, q, np.zeros(model.n), drives.presliding_displacement)
    friction = drives.viscous * qd + drives.coulomb * sliding
    simulator.reset(q[0])
    error, effort = np.zeros((2, model.n))
    for k in range(len(time)):
        off = q[k] - simulator.q
        pull = BANDWIDTH**2 * off + 2 * BANDWIDTH * (qd[k] - simulator.qd)
        tau = dynamics.rnea(simulator.q, simulator.qd, qdd[k] + pull) + friction[k]
        tau += drives.armature * (qdd[k] + pull)
        tau = np.clip(tau, -arm.limits.effort, arm.limits.effort)
        error, effort = np.maximum(error, np.abs(off)), np.maximum(effort, np.abs(tau))
        simulator.step(tau)
    return Rehearsal(error, effort)
