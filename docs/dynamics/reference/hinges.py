"""Hinges with several degrees of freedom, for the operators: H(k) with several rows.

A hinge's position q may have more numbers than degrees of freedom (a quaternion has four). It moves
at quasi-velocities beta, V_relative = H* beta in the body's frame, which need not be the derivative
of anything; ``rates`` turns beta into the derivative of q.
A. Jain, Robot and Multibody Dynamics, chapter 3; RBDA section 4.4 and table 4.1.

    hinge        q                              beta                              rows
    Universal    two angles                     their rates                       2
    Cylindrical  angle, distance                their rates                       2
    Planar       angle, x, y                    about z; along the body's x, y    3
    Spherical    quaternion x y z w             angular velocity, body's axes     3
    Free         position, quaternion           spatial velocity, body's frame    6

    o = operators.body_frames(robot, [q_0, q_1, ...], [Spherical(), Universal(x, y), ...])

The joints of a ``Robot`` have one axis each and need none of this.
"""

from dataclasses import dataclass

import numpy as np

from reference.spatial import Floats, rot, skew, turn, xlt

X, Y, Z = np.eye(3)
NONE = np.zeros(3)


class Hinge:
    """A hinge; by default its axes are fixed in the body (dH = 0) and beta = qd."""

    def transform(self, q: Floats) -> Floats:
        """Return XJ (6, 6), which takes motions from the joint's frame to the body's."""
        raise NotImplementedError

    def H(self, q: Floats) -> Floats:
        """Return the axes (r, 6), in the body's frame: V_relative = H* beta."""
        raise NotImplementedError

    def dH(self, q: Floats) -> Floats:
        """Return (r, r, 6), how the axes move in the body: Hdot = sum of beta_k dH[k]."""
        r = len(self.H(q))
        return np.zeros((r, r, 6))

    def rates(self, q: Floats, beta: Floats) -> Floats:
        """Return the derivative of q by time at quasi-velocities beta (r,)."""
        return np.asarray(beta)


@dataclass(frozen=True)
class Universal(Hinge):
    """Turns about a first axis, fixed in the joint's frame, then about one fixed in the body.

    Attributes:
        first: Unit vector, in the joint's frame.
        second: Unit vector in the body's frame, which coincides with the joint's at q = 0.
    """

    first: tuple[float, float, float]
    second: tuple[float, float, float]

    def transform(self, q: Floats) -> Floats:
        return rot(turn(self.second, q[1]) @ turn(self.first, q[0]))

    def H(self, q: Floats) -> Floats:
        return np.array([[*turn(self.second, q[1]) @ self.first, *NONE], [*self.second, *NONE]])

    def dH(self, q: Floats) -> Floats:
        dH = np.zeros((2, 2, 6))
        dH[1, 0, :3] = (
            -skew(self.second) @ self.H(q)[0, :3]
        )  # seen from the body, it turns backwards
        return dH


@dataclass(frozen=True)
class Cylindrical(Hinge):
    """Turns about and slides along one axis.

    Attributes:
        axis: Unit vector.
    """

    axis: tuple[float, float, float]

    def transform(self, q: Floats) -> Floats:
        return rot(turn(self.axis, q[0])) @ xlt(q[1] * np.asarray(self.axis))

    def H(self, q: Floats) -> Floats:
        return np.array([[*self.axis, *NONE], [*NONE, *self.axis]])


@dataclass(frozen=True)
class Planar(Hinge):
    """Slides in the x-y plane of the joint's frame and turns about z.

    q is the angle and the position in the joint's axes; beta the rate of the angle and the velocity
    in the body's axes, in which H is constant.
    """

    def transform(self, q: Floats) -> Floats:
        return rot(turn(Z, q[0])) @ xlt(np.array([q[1], q[2], 0.0]))

    def H(self, q: Floats) -> Floats:
        return np.array([[*Z, *NONE], [*NONE, *X], [*NONE, *Y]])

    def rates(self, q: Floats, beta: Floats) -> Floats:
        v = turn(Z, q[0]).T @ [beta[1], beta[2], 0.0]
        return np.array([beta[0], v[0], v[1]])


@dataclass(frozen=True)
class Spherical(Hinge):
    """Turns about a point. Angular velocity is not the rate of any three angles."""

    def transform(self, q: Floats) -> Floats:
        return rot(from_quaternion(q))

    def H(self, q: Floats) -> Floats:
        return np.hstack([np.eye(3), np.zeros((3, 3))])

    def rates(self, q: Floats, beta: Floats) -> Floats:
        return quaternion_rate(q, beta)


@dataclass(frozen=True)
class Free(Hinge):
    """No constraint: a floating body, or a floating base."""

    def transform(self, q: Floats) -> Floats:
        return rot(from_quaternion(q[3:])) @ xlt(np.asarray(q[:3]))

    def H(self, q: Floats) -> Floats:
        return np.eye(6)

    def rates(self, q: Floats, beta: Floats) -> Floats:
        velocity = from_quaternion(q[3:]).T @ beta[3:]
        return np.concatenate([velocity, quaternion_rate(q[3:], beta[:3])])


def from_quaternion(q: Floats) -> Floats:
    """Return E (3, 3), which gives coordinates in a frame oriented as unit quaternion x y z w."""
    u, w = np.asarray(q[:3]), q[3]
    return np.eye(3) - 2 * w * skew(u) + 2 * skew(u) @ skew(u)


def quaternion_rate(q: Floats, omega: Floats) -> Floats:
    """Return the derivative (4,) of a quaternion x y z w at omega (3,) [rad/s], in body axes."""
    u, w = np.asarray(q[:3]), q[3]
    return np.array([*(w * np.asarray(omega) + np.cross(u, omega)), -u @ omega]) / 2
