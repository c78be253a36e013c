"""The check of a new trajectory while the arm is being controlled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros._control import BLEND_SPEED, SET_POINT_SPEED
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility.excesses import ROUNDING, excesses, quantities
from featherstone_ros.control.feasibility.feasibility import Feasibility, check
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import Motion, MotionState
from featherstone_ros.control.settings import Choice, ControllerSettings
from featherstone_ros.model import Model

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
