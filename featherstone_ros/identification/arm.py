"""Predicts an arm's torque from its model and its drives' parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.filtering import SmoothMotion, clean, joined, smooth_all
from featherstone_ros.identification.recording import Recording, interpolated
from featherstone_ros.identification.regression import Law, explained, wide_cut_off
from featherstone_ros.model.drives import Drives


@dataclass(frozen=True, eq=False)
class Errors:
    """How wrong an identified arm may be."""

    law: Law  # of its friction
    joints: tuple[int, ...]  # indices of j joints whose friction was identified
    # (p, m) factor of the covariance of the parameters of its bodies, and of each of ``Law.terms``
    # of these joints: their errors are it times m independent ones of deviation 1
    factor: Floats


@dataclass(frozen=True, eq=False)
class Arm:
    """A model and its drives."""

    model: Model  # the links, payload included
    drives: Drives  # those of its joints
    errors: Errors | None = None  # of an arm that was identified; None: not known

    @classmethod
    def without_drives(cls, model: Model) -> Arm:
        """Return the links alone: no friction, no rotors."""
        return cls(model, Drives.none(model.n))

    def difference(self, loaded: Recording, bare: Recording, cut_off: float) -> Recording | None:
        """Return the efforts that a load makes in the same motion; None if these are two motions.

        Each recording is compared with the arm's torque in its own motion, as drives yield to a
        load. Both are filtered for that above the cut-off: drives yield slowly.
        """
        pair = loaded.beside(bare)
        if pair is None:
            return None
        wide = wide_cut_off(cut_off, float(np.median(np.diff(pair[0].time))))
        own, other = (self.motion(recording, wide) for recording in pair)
        begin, end = (max(own.time[0], other.time[0]), min(own.time[-1], other.time[-1]))
        kept = (pair[0].time >= begin) & (pair[0].time <= end)
        part, others = (recording.where(kept) for recording in pair)
        yielded, its = (
            interpolated(part.time, motion.time, self.torque(motion)) for motion in (own, other)
        )
        return replace(part, effort=part.effort - others.effort - (yielded - its))

    def motion(self, recording: Recording, cut_off: float) -> SmoothMotion:
        """Return the recorded motion, filtered."""
        displacement = self.drives.presliding_displacement
        return joined(smooth_all(clean(recording).stretches, cut_off, displacement))

    def torque(self, motion: SmoothMotion) -> Floats:
        """Return the predicted torque (N, n) [N m or N]."""
        return self.drives.torque(Dynamics(self.model), *motion.state, motion.sliding)

    def explained(self, motion: SmoothMotion) -> Floats:
        """Return the torque (N, n) nearest to the measured one, see ``friction.explained``."""
        rigid = Dynamics(self.model).rnea(*motion.state)
        return rigid + explained(self.drives, motion, motion.effort - rigid, rigid)
