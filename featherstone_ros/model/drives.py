"""Drives of joints: rotors and friction, and the torque that a motion needs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT, smooth_sign, viscous_speed
from featherstone_ros.parameter import Value, per_joint

if TYPE_CHECKING:
    from featherstone_ros import Dynamics


@dataclass(frozen=True, eq=False)
class Drives:
    """Friction and inertia of the drives; arrays (n,) in joint order.

    Attributes:
        armature: Inertia reflected to the joint [kg m^2] or [kg].
        viscous: Viscous friction [N m s/rad] or [N s/m].
        coulomb: Coulomb friction [N m] or [N].
        load: Coulomb friction per torque of the links.
        thinning: Of viscous friction with the speed [s/rad] or [s/m].
        offset: Constant effort, of either sign [N m] or [N].
        presliding_displacement: Over which Coulomb friction turns round [rad] or [m].
    """

    armature: Floats
    viscous: Floats
    coulomb: Floats
    presliding_displacement: float = PRESLIDING_DISPLACEMENT
    load: Floats | float = 0.0
    thinning: Floats | float = 0.0
    offset: Floats | float = 0.0

    @classmethod
    def of_parameters(cls, values: Mapping[str, Value], joints: Sequence[str]) -> Drives:
        """Return the drives that a node's parameters describe.

        Args:
            values: Of all parameters.
            joints: n names.
        """

        def of(pattern: str) -> Floats:
            return per_joint(values, pattern, joints)

        return cls(
            of("armature.{}"),
            of("friction.{}.viscous"),
            of("friction.{}.coulomb"),
            float(values["presliding_displacement"]),
            of("friction.{}.load"),
            of("friction.{}.thinning"),
            of("friction.{}.offset"),
        )

    def torque(
        self,
        dynamics: Dynamics,
        q: Floats,
        qd: Floats,
        qdd: Floats,
        sliding: Floats | float | None = None,
    ) -> Floats:
        """Return the torque that a motion needs [N m] or [N], in the shape of the arguments.

        Args:
            dynamics: The arm's.
            q: (n,) or (N, n) positions [rad or m].
            qd: Velocities.
            qdd: Accelerations.
            sliding: Presliding states (``friction.presliding``); None: of a steady motion.
        """
        rigid = dynamics.rnea(q, qd, qdd)
        return rigid + self.rotor_torque(qdd) + self.friction_torque(qd, sliding, rigid)

    def rotor_torque(self, qdd: Floats) -> Floats:
        """Return the torque that accelerates the rotors [N m] or [N]."""
        return self.armature * qdd

    def friction_torque(
        self, qd: Floats, sliding: Floats | float | None = None, link_torque: Floats | float = 0.0
    ) -> Floats:
        """Return the torque of friction [N m] or [N].

        Args:
            qd: (n,) or (N, n) velocities [rad/s or m/s].
            sliding: As of ``torque``.
            link_torque: Torque of the links, with which dry friction may grow.
        """
        states = smooth_sign(qd) if sliding is None else sliding
        dry = self.coulomb + self.load * np.abs(link_torque)
        return self.viscous * viscous_speed(qd, self.thinning) + dry * states
