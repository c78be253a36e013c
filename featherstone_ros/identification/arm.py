"""Predicts an arm's torque from its model and its drives' parameters."""

from __future__ import annotations

from dataclasses import dataclass

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.cleaning import clean
from featherstone_ros.identification.filtering import SmoothMotion, joined, smooth_all
from featherstone_ros.identification.friction import Law, explained
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.drives import Drives


@dataclass(frozen=True, eq=False)
class Errors:
    """How wrong an identified arm may be.

    Attributes:
        law: Of its friction.
        joints: Indices of j joints whose friction was identified.
        factor: (p, m) factor of the covariance of the parameters of its bodies, and of each of
            ``Law.terms`` of these joints: their errors are it times m independent ones of
            deviation 1.
    """

    law: Law
    joints: tuple[int, ...]
    factor: Floats


@dataclass(frozen=True, eq=False)
class Arm:
    """A model and its drives.

    Attributes:
        model: The links, payload included.
        drives: Those of its joints.
        errors: Of an arm that was identified; None: not known.
    """

    model: Model
    drives: Drives
    errors: Errors | None = None

    @classmethod
    def without_drives(cls, model: Model) -> Arm:
        """Return the links alone: no friction, no rotors."""
        return cls(model, Drives.none(model.n))

    def motion(self, recording: Recording, cut_off: float) -> SmoothMotion:
        """Return the recorded motion, filtered.

        Raises:
            EvaluationError: The recording is too short.
        """
        displacement = self.drives.presliding_displacement
        return joined(smooth_all(clean(recording).stretches, cut_off, displacement))

    def torque(self, motion: SmoothMotion) -> Floats:
        """Return the predicted torque (N, n) [N m or N]."""
        return self.drives.torque(Dynamics(self.model), *motion.state, motion.sliding)

    def explained(self, motion: SmoothMotion) -> Floats:
        """Return the torque (N, n) nearest to the measured one, see ``friction.explained``."""
        rigid = Dynamics(self.model).rnea(*motion.state)
        return rigid + explained(self.drives, motion, motion.effort - rigid, rigid)
