"""Gains with which an arm follows a motion although its model is not known yet.

To be identified, an arm must move: friction that nobody told the controller may hold a light joint
where it is, since the gains of light joints are small. So the motion is rehearsed with the gains of
the parameter file, and with stiffer ones, on an arm that is heavier than the model and has friction
that the model does not know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import yaml

from featherstone_ros import Dynamics, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import SHARES, in_words, least_armature
from featherstone_ros.control.gains import BANDWIDTH, Gains, SampledLoop, Timing
from featherstone_ros.control.settings import Settings
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.friction import presliding
from featherstone_ros.model.parameter_files import NodeParameters, of_joint
from featherstone_ros.simulation import TwinSettings
from featherstone_ros.tools.checked_arm import CheckedArm
from featherstone_ros.tools.excite.excitation import Series

HEAVIER = 0.3  # share by which the arm may be heavier than its model
UNKNOWN = 0.05  # of the effort limits: Coulomb friction that the model may not know
STIFFER, ROUNDS = 1.5, 16  # factor between the position gains that are tried, and their number
USED = 0.5  # share of the path tolerance that an error may take
DEFAULTS = NodeParameters({}, "")  # without a parameter file


@dataclass(frozen=True, eq=False)
class NeededGains:
    """What an arm needs to follow a motion.

    Attributes:
        before: (n,) largest error with the gains of the file [rad or m].
        after: (n,) the same with ``gains``.
        gains: That are enough; those of the file where these are.
        stiffer: (n,) by which the position gains are higher than those of the file.
        tolerance: Error at which the motion is abandoned [rad or m].
        armature: (n,) inertia of the drives without which they have no margin of stability, 0 where
            the file's will do [kg m^2 or kg]; None: none that was tried is enough.
    """

    before: Floats
    after: Floats
    gains: Gains
    stiffer: Floats
    tolerance: float
    armature: Floats | None

    @property
    def changed(self) -> bool:
        """Whether other gains than the file's are needed."""
        return bool((self.stiffer > 1.0).any())

    @property
    def are_enough(self) -> bool:
        """Whether the arm follows."""
        return bool((self.after <= self.tolerance).all())

    def lines(self, joints: Sequence[str]) -> list[str]:
        """Return for people what the file's gains leave, and what is needed."""
        worst = int(np.argmax(self.before))
        left = (
            f"on an arm {HEAVIER:.0%} heavier than the model, with unknown friction of "
            f"{UNKNOWN:.0%} of the effort limits, {joints[worst]} is up to "
            f"{1e3 * self.before[worst]:.0f} mrad or mm off"
        )
        if not self.changed:
            return [f"{left}: the gains will do"]
        text = [f"{left}; the motion is abandoned at {1e3 * self.tolerance:.0f} (path_tolerance)"]
        worst = int(np.argmax(self.after))
        rest = f"up to {1e3 * self.after[worst]:.0f} mrad or mm ({joints[worst]})"
        text.append(f"the gains needed leave {rest}, and are in the file below")
        if not self.are_enough:
            text.append("that is still too much: raise path_tolerance, or lower --speed")
        if self.armature is None:
            text.append("no inertia of the drives makes them stable: lower gains.delay")
        elif self.armature.any():
            drives = in_words(joints, self.armature)
            text.append(f"they are stable without friction if the drives have {drives}, or more")
        return text

    def parameter_file(self, joints: Sequence[str]) -> str:
        """Return the gains as a parameter file, to be loaded after the arm's own."""
        gains: dict[str, object] = {}
        for joint, p, d in zip(joints, self.gains.p, self.gains.d, strict=True):
            gains |= of_joint(joint, {"p": float(f"{p:.4g}"), "d": float(f"{d:.4g}")})
        content = {"/**/feedforward_controller": {"ros__parameters": {"gains": gains}}}
        head = (
            "# Gains for the recording of a motion that `featherstone-ros excite` planned, mode\n"
            "# feedforward; load them after the arm's parameter file. Afterwards, with what\n"
            "# `identify` has found, they are not needed.\n\n"
        )
        return head + yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)


def gains_of(arm: CheckedArm, values: NodeParameters, timing: Timing) -> Gains:
    """Return the gains (n,) that the controller uses: the file's, or those that it chooses.

    Raises:
        NoStableGainsError: It can choose none.
    """
    joints, none = arm.model.joint_names, np.zeros(arm.model.n)
    p, d = (values.numbers(f"gains.{{}}.{kind}", joints, none) for kind in "pd")
    unset = (p == 0.0) & (d == 0.0)
    if not unset.any():
        return Gains(p, d)
    chosen = least_armature(arm.model, values.number("gains.bandwidth", BANDWIDTH), timing).gains
    return Gains(np.where(unset, chosen.p, p), np.where(unset, chosen.d, d))


def needed_gains(arm: CheckedArm, series: Series, values: NodeParameters) -> NeededGains:
    """Find the least stiff gains with which the arm follows, for mode feedforward.

    Args:
        arm: As the parameter file says.
        series: The motion.
        values: The controller's parameters, empty for the defaults.
    """
    timing = Timing(
        values.number("gains.period", Timing.period), values.number("gains.delay", Timing.delay)
    )
    gains = gains_of(arm, values, timing)
    tolerance = values.number("path_tolerance", Settings.path_tolerance) or np.inf
    factor = STIFFER ** np.arange(ROUNDS)[:, None]
    error = rehearse_unknown(arm, series, gains.p * factor, gains.d * np.sqrt(factor), timing)
    follows = error <= USED * tolerance
    enough = np.where(follows.any(axis=0), follows.argmax(axis=0), error.argmin(axis=0))
    stiffer = factor[enough, 0]
    better = Gains(gains.p * stiffer, gains.d * np.sqrt(stiffer))
    after = rehearse_unknown(arm, series, better.p[None], better.d[None], timing)[0]
    armature = _stable_armature(arm, better, timing)
    return NeededGains(error[0], after, better, stiffer, tolerance, armature)


def rehearse_unknown(
    arm: CheckedArm, series: Series, p: Floats, d: Floats, timing: Timing
) -> Floats:
    """Return the largest errors (B, n) on an arm that is not the model's.

    Args:
        arm: The model.
        series: The motion.
        p: (B, n) position gains.
        d: (B, n) velocity gains.
        timing: Of the loop.
    """
    model, drives, limit = arm.model, arm.drives, arm.limits.effort
    time = np.arange(0.0, series.duration, timing.period)
    q, qd, qdd = series.at(time)
    sliding = presliding(time, q, np.zeros(model.n), drives.presliding_displacement)
    known = drives.viscous * qd + drives.coulomb * sliding
    forward = Dynamics(model).rnea(q, qd, qdd) + drives.armature * qdd + known
    unknown = UNKNOWN * np.where(np.isfinite(model.effort_limit), model.effort_limit, 0.0)
    steps = max(1, round(timing.period / TwinSettings.time_step))
    simulator = Simulator(
        model.with_inertial_parameters((1.0 + HEAVIER) * model.inertial_parameters),
        timing.period / steps,
        TwinSettings.integrator,
        damping=drives.viscous,
        friction=drives.coulomb + unknown,
        armature=drives.armature,
    )
    simulator.reset(np.broadcast_to(q[0], p.shape), np.zeros(p.shape))
    late = round(timing.delay / timing.period)
    coming = deque([np.broadcast_to(forward[0], p.shape)] * (late + 1), late + 1)
    largest = np.zeros(p.shape)
    try:
        for k in range(len(time)):
            off = q[k] - simulator.q
            coming.append(np.clip(forward[k] + p * off + d * (qd[k] - simulator.qd), -limit, limit))
            simulator.step(coming[0], steps)
            largest = np.maximum(largest, np.abs(off))
    except FeatherstoneError:  # some row is so unstable that numbers end
        if len(p) == 1:
            return np.full(p.shape, np.inf)
        halves = zip(np.array_split(p, 2), np.array_split(d, 2), strict=True)
        return np.concatenate([rehearse_unknown(arm, series, *half, timing) for half in halves])
    return largest


def _stable_armature(arm: CheckedArm, gains: Gains, timing: Timing) -> Floats | None:
    """Raise the armature of one unstable joint after the other; None if that does not help.

    Returns:
        Armature of those joints, 0 for the others.
    """
    armature = arm.drives.armature.copy()
    heaviest = SampledLoop(arm.model, armature, timing).heaviest
    raised = np.zeros(arm.model.n, int)
    while True:
        worst = SampledLoop(arm.model, armature, timing).worst(gains.p, gains.d)
        if worst is None:
            return np.where(raised > 0, armature, 0.0)
        joint = worst.joint
        if raised[joint] == len(SHARES):
            return None
        armature[joint] = max(armature[joint], SHARES[raised[joint]] * heaviest[joint])
        raised[joint] += 1
