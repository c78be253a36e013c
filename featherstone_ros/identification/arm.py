"""Predicts an arm's torque from its model and its drives' parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.cleaning import clean
from featherstone_ros.identification.filtering import SmoothMotion, joined, smooth_all
from featherstone_ros.identification.friction import Friction, Law
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT


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
        friction: Friction, drive inertia and offset of its joints.
        displacement: Over which Coulomb friction turns round [rad or m].
        errors: Of an arm that was identified; None: not known.
    """

    model: Model
    friction: Friction
    displacement: float = PRESLIDING_DISPLACEMENT
    errors: Errors | None = None

    @classmethod
    def of(cls, model: Model, drives: Drives) -> Arm:
        """Return a model with all that is known of its drives."""
        known = vars(drives)
        own: Any = {f.name: np.array(known[f.name]) for f in fields(Friction) if f.name in known}
        return cls(model, Friction(**own), drives.presliding_displacement)

    def motion(self, recording: Recording, cut_off: float) -> SmoothMotion:
        """Return the recorded motion, filtered.

        Raises:
            EvaluationError: The recording is too short.
        """
        return joined(smooth_all(clean(recording).stretches, cut_off, self.displacement))

    def torque(self, motion: SmoothMotion) -> Floats:
        """Return the predicted torque (N, n) [N m or N]."""
        rigid = Dynamics(self.model).rnea(motion.position, motion.velocity, motion.acceleration)
        return rigid + self.friction.torque(motion, rigid)

    def explained(self, motion: SmoothMotion) -> Floats:
        """Return the torque (N, n) nearest to the measured one, see ``Friction.explained``."""
        rigid = Dynamics(self.model).rnea(motion.position, motion.velocity, motion.acceleration)
        return rigid + self.friction.explained(motion, motion.effort - rigid, rigid)
