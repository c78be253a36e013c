"""A trial motion on the twin: the real controller moves a simulated arm slowly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.feasibility import SUDDEN
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import RUNNING
from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.progress import Progress
from featherstone_ros.simulation.closed_loop import ClosedLoop, Record
from featherstone_ros.simulation.simulated_arm import SimulatedArm

MOVE, MOVE_TIME = 0.2, 3.0  # [rad or m] at most, [s] of the motion
REST = 0.5  # [s] before and after it
SPEED, ROOM, EFFORT = 0.5, 0.5, 0.8  # shares of the limits that the motion uses at most
MAX_HALVINGS = 10
HEAVIER = 0.1  # excess of all masses in the second drive
NOISE = 1e-6  # [rad or m] of the encoders of an arm with unknown friction
FAR = 0.2  # [rad or m] of error that is no longer following
STICKING = 0.5  # share of its effort limit from which friction is why a joint does not follow


@dataclass(frozen=True, eq=False)
class Drive:
    """The result of one trial drive."""

    excess: float  # relative excess of the arm's masses over the controller's model
    record: Record  # what happened, at least one sample
    trouble: str  # why it ended early, empty if it did not

    @property
    def peak(self) -> Floats:
        """(n,) largest error [rad or m]; NaN if the arm was never held."""
        return _greatest(self.record.error)

    @property
    def end(self) -> Floats:
        """(n,) error at rest after the motion [rad or m]."""
        return np.abs(self.record.error[-1])

    def load(self, limit: Floats) -> Floats:
        """Return (n,) the largest effort over the limit."""
        return _greatest(self.record.command) / limit


def _greatest(samples: Floats) -> Floats:
    """Return (n,) the greatest magnitude, NaN if all are."""
    return np.asarray(np.fmax.reduce(np.abs(samples)))


def first_motion(model: Model, start: Floats, sign: float = 1.0) -> Point:
    """Return the goal of a motion from rest that stays well within all limits, every joint at once.

    ``start`` (n,) where it begins [rad or m]. ``sign``: towards the upper limits, or -1: the lower.
    """
    move = np.minimum(MOVE, ROOM * (model.upper - start if sign > 0 else start - model.lower))
    space = JointSpace.of(model)
    move = np.minimum(
        move, SPEED * space.velocity * MOVE_TIME / 1.5
    )  # a cubic's peak: 1.5 its mean
    rate = np.minimum(space.acceleration, space.deceleration)
    rate = SPEED * np.minimum(rate, SUDDEN * space.jerk)  # to which it jumps where it begins
    move = np.minimum(move, rate * MOVE_TIME**2 / 6.0)
    for _ in range(MAX_HALVINGS):
        heavy = _too_heavy(model, start, sign * move)
        if not heavy.any():
            break
        move = np.where(heavy, move / 2, move)
    return Point(MOVE_TIME, tuple(start + sign * move), (0.0,) * model.n)


def _too_heavy(model: Model, start: Floats, move: Floats) -> NDArray[np.bool_]:
    """Return (n,) whether a joint needs too much effort for moving, beyond holding and friction."""
    x = np.linspace(0.0, 1.0, 100)[:, None]
    q = start + move * x**2 * (3.0 - 2.0 * x)
    qd, qdd = move * 6.0 * x * (1.0 - x) / MOVE_TIME, move * 6.0 * (1.0 - 2.0 * x) / MOVE_TIME**2
    dynamics = Dynamics(model)
    standing = np.abs(dynamics.gravity(start)) + model.friction
    torque = np.abs(dynamics.rnea(q, qd, qdd) + model.damping * qd).max(axis=0) + model.friction
    limit = model.effort_limit
    return torque > np.maximum(EFFORT * limit, standing + (1.0 - EFFORT) * limit)


def drive(
    arm: ControlledArm,
    start: Floats,
    goal: Point,
    excess: float = 0.0,
    progress: Progress = lambda done, total: None,
) -> Drive:
    """Drive to a goal on a twin that answers as late as the gains allow for.

    ``start``: as for ``follow``, also the rest.
    """
    result = follow(arm, start, [goal], excess, progress=progress)
    if not result.trouble and result.peak.max() > FAR:
        return replace(result, trouble=_far(arm, result.peak))
    return result


def follow(
    arm: ControlledArm,
    start: Floats,
    points: Sequence[Point],
    excess: float = 0.0,
    rubbing: float = 0.0,
    progress: Progress = lambda done, total: None,
) -> Drive:
    """Follow a trajectory on a twin, at the period and with the delay of the arm's loop.

    ``start`` (n,) where it begins [rad or m]. ``excess``: how much heavier the twin is, as a share.
    ``rubbing``: Coulomb friction that it has besides, as a share of the effort limits.
    ``progress``: told how many periods are done, and how many there are.
    """
    model, period = arm.model, arm.timing.period
    heavy = model.with_inertial_parameters((1.0 + excess) * model.inertial_parameters)
    rubs = rubbing * np.where(np.isfinite(model.effort_limit), model.effort_limit, 0.0)
    drives = replace(arm.drives, coulomb=arm.drives.coulomb + rubs)
    plant = SimulatedArm.of(heavy, drives, start, period)
    if rubbing:  # a joint that is stuck to the bit would have a frozen encoder
        noise = np.random.default_rng(0)
        plant.measure = lambda state: state._replace(q=noise.normal(state.q, NOISE))
    loop = ClosedLoop(arm, plant)
    samples: list[Record] = []
    trouble, rest = "", round(REST / period)
    duration = 2.0 * REST + points[-1].time
    try:
        for sample in loop.steps(duration):
            samples.append(sample)
            progress(len(samples), round(duration / period))
            if np.isnan(sample.command[0]) or sample.phase not in RUNNING:
                trouble = loop.controller.hold_reason or loop.controller.rejection or "no command"
                break
            if len(samples) == rest:
                loop.controller.set_trajectory(loop.now, model.joint_names, points)
    except FeatherstoneError as error:
        trouble = str(error)
    return Drive(excess, Record.of(samples), trouble or loop.controller.hold_reason)


def _far(arm: ControlledArm, peak: Floats) -> str:
    worst = int(np.argmax(peak))
    trouble = f"joint {arm.model.joint_names[worst]!r} was {peak[worst]:.2g} off"
    friction, limit = arm.drives.coulomb[worst], arm.model.effort_limit[worst]
    return trouble + f" (friction {friction:g} of {limit:g})" * (friction >= STICKING * limit)
