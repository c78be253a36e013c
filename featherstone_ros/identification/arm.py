"""What predicts the torque: a model, and the drives of the nodes' parameters."""

from __future__ import annotations

from dataclasses import dataclass

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.cleaning import clean
from featherstone_ros.identification.filtering import SmoothMotion, joined, smooth_all
from featherstone_ros.identification.friction import Friction
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.friction import SLIDING_SPEED


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
    sliding_speed: float = SLIDING_SPEED

    def motion(self, recording: Recording, cut_off: float) -> SmoothMotion:
        """Return what the arm did, filtered.

        Raises:
            EvaluationError: It is too short.
        """
        return joined(smooth_all(clean(recording).stretches, cut_off, self.sliding_speed))

    def torque(self, motion: SmoothMotion) -> Floats:
        """Return the predicted torque (N, n) [N m or N]."""
        rigid = Dynamics(self.model).rnea(motion.position, motion.velocity, motion.acceleration)
        return rigid + self.friction.torque(motion)
