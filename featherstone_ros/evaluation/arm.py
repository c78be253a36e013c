"""A model and its drives as a parameter file of the nodes says them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics, Model
from featherstone_ros.evaluation.cleaning import clean
from featherstone_ros.evaluation.filtering import SLIDING, Motion, joined, smooth_all
from featherstone_ros.evaluation.friction import Friction
from featherstone_ros.evaluation.recording import Recording
from featherstone_ros.preflight.arm import load_arm, read

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Arm:
    """What torque is predicted by.

    Attributes:
        model: The links, payload included.
        friction: Friction, drives' inertia and offset of its joints.
        sliding_speed: At which 76 % of Coulomb friction act [rad/s or m/s].
    """

    model: Model
    friction: Friction
    sliding_speed: float = SLIDING

    @classmethod
    def load(
        cls, urdf: str | Path, joints: Sequence[str], parameters: Path, gravity: Sequence[float]
    ) -> Arm:
        """Load a description and a parameter file of the controller.

        Args:
            urdf: Robot description, .urdf or .xacro.
            joints: Those that move.
            parameters: Friction, armature, offset, payload, gravity and ``friction_velocity`` are
                taken from it; what it does not say is as in the URDF.
            gravity: In the base link's frame, where the file says none [m/s^2].

        Raises:
            FeatherstoneError: A file or something in it cannot be used.
        """
        values = read(parameters)
        arm = load_arm(str(urdf), joints, parameters)
        model = arm.model if "gravity" in values else arm.model.with_gravity(gravity)
        offset = np.array([float(values.get(f"friction.{j}.offset", 0.0)) for j in joints])
        drives = arm.drives
        friction = Friction(drives.viscous, drives.coulomb, drives.armature, offset, {})
        return cls(model, friction, drives.friction_velocity)

    def motion(self, recording: Recording, cut_off: float) -> Motion:
        """Return what the arm did, filtered.

        Raises:
            EvaluationError: It is too short.
        """
        return joined(smooth_all(clean(recording).stretches, cut_off, self.sliding_speed))

    def torque(self, motion: Motion) -> Floats:
        """Return the predicted torque (N, n) [N m or N]."""
        rigid = Dynamics(self.model).rnea(motion.position, motion.velocity, motion.acceleration)
        return rigid + self.friction.torque(motion)
