"""A trial motion on the twin: the real controller moves a simulated arm slowly."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controller import RUNNING, TorqueController
from featherstone_ros.control.feasibility.limits import SUDDEN
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import Settings
from featherstone_ros.control.torque_governor import default_torque_rate
from featherstone_ros.control.trajectory import Point, TrajectoryError
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.simulation import TwinSettings
from featherstone_ros.tools.proposal import Proposal

MOVE, MOVE_TIME = 0.2, 3.0  # [rad or m] at most, [s] of the motion
REST = 0.5  # [s] before and after it
SPEED, ROOM, EFFORT = 0.5, 0.5, 0.8  # shares of the limits that the motion uses at most
MAX_HALVINGS = 10
HEAVIER = 0.1  # excess of all masses in the second drive
FAR = 0.2  # [rad or m] of error that is no longer following
STICKING = 0.5  # share of its effort limit from which friction is why a joint does not follow


@dataclass(frozen=True, eq=False)
class Drive:
    """The result of one trial drive; N samples.

    Attributes:
        excess: Relative excess of the arm's masses over the controller's model.
        time: (N,) [s].
        desired: (N, n) [rad or m].
        error: (N, n) desired minus actual [rad or m].
        effort: (N, n) [N m or N].
        trouble: Why it ended early, empty if it did not.
    """

    excess: float
    time: Floats
    desired: Floats
    error: Floats
    effort: Floats
    trouble: str

    @property
    def peak(self) -> Floats:
        """(n,) largest error [rad or m]; NaN if the arm was never held."""
        return _greatest(self.error)

    @property
    def end(self) -> Floats:
        """(n,) error at rest after the motion [rad or m]."""
        return np.abs(self.error[-1]) if len(self.error) else self.peak

    def load(self, limit: Floats) -> Floats:
        """Return (n,) the largest effort over the limit."""
        return _greatest(self.effort) / limit


def _greatest(samples: Floats) -> Floats:
    """Return (n,) the greatest magnitude, NaN of no samples."""
    return np.abs(samples).max(axis=0) if len(samples) else np.full(samples.shape[1], np.nan)


def first_motion(model: Model, start: Floats) -> Point:
    """Return the goal of a motion from rest that stays well within all limits, every joint at once.

    Args:
        model: The arm.
        start: (n,) where it begins [rad or m].
    """
    way = np.minimum(MOVE, ROOM * (model.upper - start))
    space = JointSpace.of(model)
    way = np.minimum(way, SPEED * space.velocity * MOVE_TIME / 1.5)  # a cubic's peak: 1.5 its mean
    rate = np.minimum(space.acceleration, space.deceleration)
    rate = SPEED * np.minimum(rate, SUDDEN * space.jerk)  # to which it jumps where it begins
    way = np.minimum(way, rate * MOVE_TIME**2 / 6.0)
    for _ in range(MAX_HALVINGS):
        heavy = _too_heavy(model, start, way)
        if not heavy.any():
            break
        way = np.where(heavy, way / 2, way)
    return Point(MOVE_TIME, tuple(start + way), (0.0,) * model.n)


def _too_heavy(model: Model, start: Floats, way: Floats) -> NDArray[np.bool_]:
    """Return (n,) whether a joint needs too much effort for moving, beyond holding and friction."""
    x = np.linspace(0.0, 1.0, 100)[:, None]
    q = start + way * x**2 * (3.0 - 2.0 * x)
    qd, qdd = way * 6.0 * x * (1.0 - x) / MOVE_TIME, way * 6.0 * (1.0 - 2.0 * x) / MOVE_TIME**2
    dynamics = Dynamics(model)
    standing = np.abs(dynamics.gravity(start)) + model.friction
    torque = np.abs(dynamics.rnea(q, qd, qdd) + model.damping * qd).max(axis=0) + model.friction
    limit = model.effort_limit
    return torque > np.maximum(EFFORT * limit, standing + (1.0 - EFFORT) * limit)


def drive(
    proposal: Proposal,
    goal: Point,
    excess: float = 0.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Drive:
    """Drive to a goal on a twin that answers as late as the gains allow for.

    Args:
        proposal: Arm and gains.
        goal: Where the arm moves from ``proposal.start``.
        excess: How much heavier the twin is than the controller believes, as a share.
        progress: Told how many periods are done, and how many there are.
    """
    model, timing = proposal.model, proposal.loop.timing
    controller = TorqueController(JointSpace.of(model), model, settings(proposal))
    heavy = model.with_inertial_parameters((1.0 + excess) * model.inertial_parameters)
    sim = Simulator(heavy, timing.period / 2, TwinSettings.integrator, armature=proposal.armature)
    sim.reset(proposal.start)
    now = 1.0
    controller.activate(now)
    coming: deque[Floats] = deque()
    rows: list[tuple[Floats, Floats, Floats]] = []
    trouble = ""
    rest = round(REST / timing.period)
    try:
        total = 2 * rest + round(goal.time / timing.period)
        for k in range(total):
            progress(k, total)
            if k == rest:
                controller.set_trajectory(now, model.joint_names, [goal])
            command = controller.accept_state(now, sim.q, sim.qd, None, now)
            if command is None or controller.phase not in RUNNING:
                trouble = controller.hold_reason or controller.rejection or "no command"
                break
            coming.append(command.copy())
            late = len(coming) > round(timing.delay / timing.period)
            effort = coming.popleft() if late else coming[0]
            effort = np.clip(effort, -model.effort_limit, model.effort_limit)
            desired = controller.compiled.desired[0].copy()
            rows.append((desired, desired - sim.q, effort))
            sim.step(effort, 2)
            now += timing.period
    except (TrajectoryError, FeatherstoneError) as error:
        trouble = str(error)
    columns = [np.array(column).reshape(-1, model.n) for column in zip(*rows, strict=True)]
    desired, off, effort = columns or [np.zeros((0, model.n))] * 3
    time = timing.period * np.arange(len(desired), dtype=np.float64)
    result = Drive(excess, time, desired, off, effort, trouble)
    if not trouble and result.peak.max() > FAR:
        worst = int(np.argmax(result.peak))
        trouble = f"joint {model.joint_names[worst]!r} was {result.peak[worst]:.2g} off"
        if model.friction[worst] >= STICKING * model.effort_limit[worst]:
            trouble += f" (friction {model.friction[worst]:g} of {model.effort_limit[worst]:g})"
        return Drive(excess, time, desired, off, effort, trouble)
    return result


def settings(proposal: Proposal) -> Settings:
    """Return the controller's settings that the parameter file stands for."""
    model, gains = proposal.model, proposal.gains
    return Settings(
        p=gains.p,
        d=gains.d,
        damping=proposal.damping.value,
        coulomb=model.friction,
        viscous=model.damping,
        armature=proposal.armature,
        effort_limit=model.effort_limit,
        torque_rate=default_torque_rate(model.effort_limit),
    )
