"""Gains with which an arm follows a motion although its model is not known yet.

To be identified, an arm must move: friction that nobody told the controller may hold a light joint
where it is, since the gains of light joints are small. So the motion is rehearsed with the gains of
the parameter file, and with stiffer ones, on an arm that is heavier than the model and has friction
that the model does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import SHARES, in_words, max_armature
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.controller_parameters import Output
from featherstone_ros.control.gains import Gains, SampledLoop, Timing
from featherstone_ros.control.settings import Mode
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.tools.excite.excitation import Series
from featherstone_ros.tools.excite.rehearsal import Rehearsal, rehearse
from featherstone_ros.tools.outputs import each_joint, parameter_text

HEAVIER = 0.3  # share by which the arm may be heavier than its model
UNKNOWN = 0.05  # of the effort limits: Coulomb friction that the model may not know
STIFFER, ROUNDS = 1.5, 16  # factor between the position gains that are tried, and their number
HEAVIER_ROTOR = 2.0  # factor between inertias of a drive that are tried
USED = 0.5  # share of the path tolerance that an error may take


@dataclass(frozen=True, eq=False)
class NeededGains:
    """What an arm needs to follow a motion.

    Attributes:
        before: (n,) largest error with the gains of the file [rad or m].
        after: (n,) the same with ``gains``.
        as_modelled: Of an arm that is as its model, with ``gains`` and ``armature``.
        gains: That are enough; those of the file where these are.
        stiffer: (n,) by which the position gains are higher than those of the file.
        tolerance: Error at which the motion is abandoned [rad or m].
        armature: (n,) inertia of the drives without which they have no margin of stability, 0 where
            the file's will do [kg m^2 or kg]; None: no drive has enough.
    """

    before: Floats
    after: Floats
    as_modelled: Rehearsal
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
            text.append("no drive has an inertia that makes them stable: lower gains.delay")
        elif self.armature.any():
            drives = in_words(joints, self.armature)
            text.append(
                f"they are stable without friction if the drives have {drives}, or more: these are "
                "in the file, too; put in your arm's if you know them"
            )
        return text

    def parameter_file(self, joints: Sequence[str]) -> str:
        """Return the gains as a parameter file, to be loaded after the arm's own."""
        gains = {
            joint: {"p": float(f"{p:.4g}"), "d": float(f"{d:.4g}")}
            for joint, p, d in zip(joints, self.gains.p, self.gains.d, strict=True)
        }
        head = [
            "Gains for the recording of a motion that `featherstone-ros excite` planned, mode",
            "feedforward; load them after the arm's parameter file. Afterwards, with what",
            "`identify` has found, they are not needed.",
        ]
        values: dict[str, object] = {"gains": each_joint(gains)}
        if self.armature is not None and self.armature.any():
            head += ["They are stable with drives of this inertia or more: put in your arm's."]
            values["armature"] = {
                joint: float(f"{inertia:.3g}")
                for joint, inertia in zip(joints, self.armature, strict=True)
                if inertia
            }
        return parameter_text(head, {"/**/feedforward_controller": values})


def gains_of(arm: ControlledArm) -> Gains:
    """Return the gains (n,) that the controller uses in mode feedforward.

    Raises:
        FeatherstoneError: It refuses those of the parameter file, or can choose none.
    """
    try:
        feedback = arm.with_parameters(mode=Mode.FEEDFORWARD, output=Output.EFFORT).feedback
        return Gains(*feedback.gains)
    except ValueError as error:
        raise FeatherstoneError(f"the controller would not start: {error}") from None


def needed_gains(arm: ControlledArm, gains: Gains, series: Series) -> NeededGains:
    """Find the least stiff gains with which the arm follows, for mode feedforward.

    Args:
        arm: As the parameter file says.
        gains: Its own.
        series: The motion.
    """
    timing = arm.timing
    tolerance = arm.values["path_tolerance"] or np.inf
    factor = STIFFER ** np.arange(ROUNDS)[:, None]
    tried = Gains(gains.p * factor, gains.d * np.sqrt(factor))
    error = rehearse(arm, series, tried, timing, HEAVIER, UNKNOWN).error
    follows = error <= USED * tolerance
    enough = np.where(follows.any(axis=0), follows.argmax(axis=0), error.argmin(axis=0))
    stiffer = factor[enough, 0]
    better = Gains(gains.p * stiffer, gains.d * np.sqrt(stiffer))
    after = rehearse(arm, series, better, timing, HEAVIER, UNKNOWN).error
    armature = stable_armature(arm.model, arm.drives.armature, better, timing)
    rotors = () if armature is None else zip(arm.model.joint_names, armature, strict=True)
    raised = {f"armature.{joint}": float(inertia) for joint, inertia in rotors if inertia}
    as_written = arm.with_parameters(raised)
    as_modelled = rehearse(as_written, series, better, timing)
    return NeededGains(error[0], after, as_modelled, better, stiffer, tolerance, armature)


def stable_armature(model: Model, armature: Floats, gains: Gains, timing: Timing) -> Floats | None:
    """Raise the armature of one unstable joint after the other; None if that does not help.

    A light wrist's rotor outweighs whatever else the joint moves.

    Args:
        model: The arm.
        armature: (n,) of its drives [kg m^2 or kg].
        gains: For mode feedforward.
        timing: Of the loop.

    Returns:
        Armature of those joints, 0 for the others.
    """
    armature = armature.copy()
    heaviest, most = SampledLoop(model, armature, timing).heaviest, max_armature(model)
    least = SHARES[0] * heaviest
    raised = np.zeros(model.n, bool)
    while worst := SampledLoop(model, armature, timing).worst(gains.p, gains.d):
        joint = worst.joint
        armature[joint] = max(HEAVIER_ROTOR * armature[joint], least[joint])
        if armature[joint] > most[joint]:
            return None
        raised[joint] = True
    return np.where(raised, armature, 0.0)
