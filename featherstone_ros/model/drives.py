"""Drives of joints: rotors and friction, by one law, and the torque that a motion needs of them.

    torque = viscous qd / (1 + thinning |qd|) + (coulomb + load |torque of the links|) z

Viscous friction grows ever more slowly with the speed if the lubricant is thinned by shear, and dry
friction with the load on the gear. Both parameters are often 0: viscous and Coulomb friction.

z, from -1 to 1, is the presliding state: it approaches the sign of the motion over a displacement,
however slow the motion is (P. R. Dahl, *A Solid Friction Model*, Aerospace Corporation, 1968):

    dz = (sign(dq) - z) (1 - exp(-|dq| / displacement))

So a joint that is held keeps the friction with which it came to rest, or creeps from it over
fractions of a millirad, as real gears do. Identification drives z with the measured motion.
The controller, and the check of trajectories, drive it with the desired one, and let it go at rest
within ``RELEASE_TIME``: the arm arrives, then its own friction holds it, and none that was assumed
too large pushes it on (cython_core/smooth_friction.pxd).

A simulated joint at rest sticks: dry friction balances any torque up to its limit. ``Simulator``
solves this exactly (cython_core/dynamics/joint_friction.pxd). The shadow knows of a joint at rest
only that its dry friction lies between the two limits (cython_core/observer/effort.pxd).

A URDF calls viscous friction ``damping`` and Coulomb friction ``friction``, and so do ``Model`` and
``Simulator``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from featherstone_ros._core import presliding_states, release_time
from featherstone_ros.arrays import Floats
from featherstone_ros.parameter import REQUIRED, Value, declared, values_of

if TYPE_CHECKING:
    from featherstone_ros import Dynamics, Model

SLIDING_SPEED = 0.02  # [rad/s or m/s]
PRESLIDING_DISPLACEMENT = 1e-4  # [rad or m] over which 63 % of a change of z take place
RELEASE_TIME = release_time  # [s] likewise, at rest


def viscous_speed(velocity: Floats, thinning: Floats | float) -> Floats:
    """Return the factor of viscous friction: the velocity, less where shear thins the lubricant."""
    return velocity / (1.0 + thinning * np.abs(velocity))


def smooth_sign(velocity: Floats) -> Floats:
    """Return the sign of a velocity (..., n), smooth through zero: 76 % at ``SLIDING_SPEED``."""
    return np.tanh(velocity / SLIDING_SPEED)


def presliding(
    position: Floats,
    displacement: float = PRESLIDING_DISPLACEMENT,
    start: Floats | float = 0.0,
    time: Floats | None = None,
) -> Floats:
    """Return the presliding states along a motion, (N, n) from -1 to 1."""
    first = np.broadcast_to(np.asarray(start, float), np.shape(position)[1:])
    at = None if time is None else np.asarray(time, float)
    return presliding_states(np.asarray(position, float), displacement, first, at)


def _friction(default: Any, description: str, *bounds: float) -> Any:
    """Return the field of the parameter ``friction.<joint>.<field>``."""
    return declared(default, description, *bounds, name="friction.{}.*")


@dataclass(frozen=True, eq=False)
class Drives:
    """Friction and inertia of the drives; arrays (n,) in joint order, of which none is left scalar.

    What each field is stands where it is ``declared``.
    """

    armature: Floats = declared(
        REQUIRED,
        "inertia of the drive, reflected to the joint [kg m^2 or kg]; default: the robot "
        "description's, else 0, or the least with which there are stable gains",
        0.0,
        name="armature.{}",
    )
    viscous: Floats = _friction(
        REQUIRED,
        "viscous friction, which the controller compensates likewise [N m s/rad or N s/m]",
        0.0,
    )
    coulomb: Floats = _friction(
        REQUIRED,
        "Coulomb friction, which the controller compensates at the desired velocity [N m or N]",
        0.0,
    )
    presliding_displacement: float = declared(
        PRESLIDING_DISPLACEMENT,
        "motion after which 63 % of Coulomb friction has turned round [rad or m]",
        1e-9,
        1.0,
    )
    load: Floats | float = _friction(0.0, "Coulomb friction per torque of the links", 0.0, 1.0)
    thinning: Floats | float = _friction(
        0.0, "reciprocal of the speed at which half of viscous friction is left [s/rad or s/m]", 0.0
    )
    offset: Floats | float = _friction(
        0.0, "constant additional effort of the drive, of either sign [N m or N]"
    )
    stiffness: Floats | float = _friction(
        0.0,
        "of what the joint bends, as cables and hoses: effort that grows with the position, and "
        "is 0 at position 0, another zero being in the offset [N m/rad or N/m]",
        0.0,
    )

    def __post_init__(self) -> None:
        """Bring the arrays to the armature's shape."""
        shape = np.shape(self.armature)
        for name in PER_JOINT:
            array = np.asarray(getattr(self, name), dtype=np.float64)
            if array.shape not in ((), shape):
                raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
            object.__setattr__(self, name, np.broadcast_to(array, shape))

    @classmethod
    def of_parameters(cls, values: Mapping[str, Value], joints: Sequence[str]) -> Drives:
        """Return the drives that a node's parameters describe."""
        return cls(**values_of(cls, values, joints))

    @classmethod
    def of_model(cls, model: Model, **given: Any) -> Drives:
        """Return the drives of a robot description: its friction, no inertia; or what is given."""
        armature = np.broadcast_to(given.pop("armature", 0.0), model.n)
        return cls(armature, **{"viscous": model.damping, "coulomb": model.friction, **given})

    @classmethod
    def none(cls, n: int) -> Drives:
        """Return zeros for n joints."""
        return cls(*np.zeros((3, n)))

    def among(self, joints: Sequence[int], n: int) -> Drives:
        """Return the drives of n joints, of which these have them; zero for the others."""
        every: dict[str, Any] = {name: np.zeros(n) for name in PER_JOINT}
        for name, values in every.items():
            values[list(joints)] = getattr(self, name)
        return replace(self, **every)

    def of_joints(self, joints: int | Sequence[int]) -> Drives:
        """Return the drives of k joints, arrays (k,); or of one, arrays ()."""
        return replace(self, **{name: getattr(self, name)[np.array(joints)] for name in PER_JOINT})

    @property
    def of_simulator(self) -> dict[str, Any]:
        """The keyword arguments of a ``Simulator``, which knows all but offset and stiffness."""
        own = {name: getattr(self, name) for name in ("armature", "load", "thinning")}
        return {"damping": self.viscous, "friction": self.coulomb, **own}

    def torque(
        self,
        dynamics: Dynamics,
        q: Floats,
        qd: Floats,
        qdd: Floats,
        sliding: Floats | float | None = None,
    ) -> Floats:
        """Return the torque that a motion needs [N m] or [N], in the shape of the arguments."""
        rigid = dynamics.rnea(q, qd, qdd)
        return rigid + self.own_torque(q, qd, qdd, sliding, rigid)

    def own_torque(
        self,
        q: Floats,
        qd: Floats,
        qdd: Floats,
        sliding: Floats | float | None = None,
        link_torque: Floats | float = 0.0,
    ) -> Floats:
        """Return the torque that a motion needs besides that of the links [N m] or [N]."""
        friction = self.friction_torque(qd, sliding, link_torque)
        return self.rotor_torque(qdd) + friction + self.standing_torque(q)

    def rotor_torque(self, qdd: Floats) -> Floats:
        """Return the torque that accelerates the rotors [N m] or [N]."""
        return self.armature * qdd

    def standing_torque(self, q: Floats) -> Floats:
        """Return the torque of spring and offset at positions (n,) or (N, n) [N m] or [N]."""
        return self.offset + self.stiffness * q

    def friction_torque(
        self, qd: Floats, sliding: Floats | float | None = None, link_torque: Floats | float = 0.0
    ) -> Floats:
        """Return the torque of friction [N m] or [N]."""
        states = smooth_sign(qd) if sliding is None else sliding
        dry = self.coulomb + self.load * np.abs(link_torque)
        return self.viscous * viscous_speed(qd, self.thinning) + dry * states


PER_JOINT = tuple(field.name for field in fields(Drives) if "{}" in field.metadata["name"])
