"""A trial motion on the twin: the real controller moves a simulated arm slowly."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controller import RUNNING, TorqueController
from featherstone_ros.control.settings import Settings
from featherstone_ros.control.torque_governor import default_torque_rate
from featherstone_ros.control.trajectory import JointSpace, Point, TrajectoryError
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.simulation import TwinSettings
from featherstone_ros.tools.multi_sine import POINT_SPACING, MultiSine
from featherstone_ros.tools.setup.proposal import Proposal

DURATION, HOLD = 4.0, 0.5  # [s] of the motion, and of the rest before and after it
SWING = 0.3  # [rad or m] at most
SPEED, ROOM, EFFORT = 0.5, 0.5, 0.8  # shares of the limits that the motion uses at most
FREQUENCIES = 2.0, 4.0  # [rad/s] of the first and of the last joint
MOST_HALVINGS = 10
HEAVIER = 0.1  # excess of all masses in the second drive
FAR = 0.2  # [rad or m] of error that is no longer following


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
    def rms(self) -> Floats:
        """(n,) root mean square error [rad or m]."""
        return np.sqrt((self.error**2).mean(axis=0)) if len(self.error) else self.peak

    def load(self, limit: Floats) -> Floats:
        """Return (n,) the largest effort over the limit."""
        return _greatest(self.effort) / limit


def _greatest(samples: Floats) -> Floats:
    """Return (n,) the greatest magnitude, NaN of no samples."""
    return np.abs(samples).max(axis=0) if len(samples) else np.full(samples.shape[1], np.nan)


def gentle_motion(model: Model, start: Floats) -> MultiSine:
    """Return a motion of all joints about a posture that stays well within all limits."""
    motion = MultiSine.of_unit_swings(start, FREQUENCIES, DURATION, ramp=DURATION / 4)
    _, q, qd, _ = motion.samples(0.01)
    reach, speed = np.abs(q - start).max(axis=0), np.abs(qd).max(axis=0)
    room = np.minimum(model.upper - start, start - model.lower)
    limit = np.where(model.velocity_limit > 0.0, model.velocity_limit, np.inf)
    amplitude = np.minimum(np.minimum(SWING, ROOM * room) / reach, SPEED * limit / speed)
    for _ in range(MOST_HALVINGS):
        motion = replace(motion, amplitude=amplitude)
        heavy = _too_heavy(model, motion)
        if not heavy.any():
            break
        amplitude = np.where(heavy, amplitude / 2, amplitude)
    return motion


def _too_heavy(model: Model, motion: MultiSine) -> NDArray[np.bool_]:
    """Return (n,) whether a joint needs too much effort for moving, beyond holding and friction."""
    _, q, qd, qdd = motion.samples(0.01)
    dynamics = Dynamics(model)
    standing = np.abs(dynamics.gravity(motion.centre)) + model.friction
    torque = np.abs(dynamics.rnea(q, qd, qdd) + model.damping * qd).max(axis=0) + model.friction
    limit = model.effort_limit
    return torque > np.maximum(EFFORT * limit, standing + (1.0 - EFFORT) * limit)


def drive(
    proposal: Proposal,
    motion: MultiSine,
    excess: float = 0.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Drive:
    """Drive the motion on a twin that answers as late as the gains allow for.

    Args:
        proposal: Arm and gains.
        motion: From rest to rest, beginning at ``proposal.start``.
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
    rest = round(HOLD / timing.period)
    try:
        total = 2 * rest + round(DURATION / timing.period)
        for k in range(total):
            progress(k, total)
            if k == rest:
                controller.set_trajectory(now, model.joint_names, _points(motion))
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


def _points(motion: MultiSine) -> list[Point]:
    return [Point(*point) for point in zip(*motion.samples(POINT_SPACING), strict=True)]
