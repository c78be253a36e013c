"""The kinematic tree that all reference algorithms share: RBDA chapter 4.

Bodies are numbered 0..N-1, parents before children, and body i is moved by joint i. The base is
number BASE = -1, in Python the last row: an array of N + 1 rows holds the bodies, then the base, so
that ``v[parent[i]]`` needs no special first body.

Arrays of joints are in the order of ``model.joint_names``. The algorithms work on the positions of
all N joints. Where joints mimic others, these are more than the n of ``joint_names``: ``expand``
computes them from the coordinates of the model (q_J = G q + q_0), and ``reduce`` maps torques and
matrices back (G^T tau_J, G^T M_J G); without mimic joints both change nothing.

    robot = Robot.of(model)
    q_J, qd_J, qdd_J = robot.expand(q, qd, qdd)
    tau = robot.reduce(rnea(robot, q_J, qd_J, qdd_J))
    M = robot.reduce(crba(robot, q_J))
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.errors import ModelError
from featherstone_ros.model.body_tree import BodyTree
from featherstone_ros.model.model import Model
from reference.spatial import Floats, Indices, mcI, parts_of, rot, skew, turn, xlt

BASE = -1
Wrenches = Mapping[str, ArrayLike]  # on links, by their names


@dataclass(frozen=True, eq=False)
class Robot:
    """A kinematic tree in RBDA's notation; body frames are the moved links' URDF frames.

    Attributes:
        N: Number of bodies and of joints.
        n: Number of coordinates; less than N where joints mimic others.
        parent: (N,) the book's lambda; BASE for a body on the base.
        axis: (N, 3) unit vector of each joint.
        motion: (N, 2) angle about and distance along the axis per unit of joint position:
            (1, 0) revolute, (0, 1) prismatic, (1, h) a screw of pitch h [m/rad].
        Xtree: (N, 6, 6) from the parent body's frame to the joint's, the book's X_T.
        m: (N + 1,) mass [kg].
        c: (N + 1, 3) centre of mass in the body's frame [m].
        I_C: (N + 1, 3, 3) rotational inertia about it, in the body's axes [kg m^2].
        I: (N + 1, 6, 6) spatial inertia in the body's frame; the last row is the base's.
        gravity: (3,) in the base's frame [m/s^2].
        G: (N, n) joint velocities per rate of the coordinates.
        q_0: (N,) joint positions where the coordinates are zero.
        links: Link name to (the body that carries it, the transform from that body's frame).
        names: The N + 1 names of the bodies, for messages; the last is the base's.
    """

    N: int
    n: int
    parent: Indices
    axis: Floats
    motion: Floats
    Xtree: Floats
    m: Floats
    c: Floats
    I_C: Floats
    I: Floats
    gravity: Floats
    G: Floats
    q_0: Floats
    links: dict[str, tuple[int, Floats]]
    names: tuple[str, ...]

    @classmethod
    def of(cls, model: Model) -> "Robot":
        """Return the robot that a ``featherstone_ros.Model`` describes.

        Raises:
            ModelError: ``model.joint_names`` has a joint before one that carries it.
        """
        tree = model.tree
        N, n = len(tree.parent), model.n
        joints = numbering(tree)
        number = np.append(np.argsort(joints), BASE)  # of the model's bodies; -1 is its base, too
        rows = np.append(joints + 1, 0)  # in the model's arrays of N + 1 the base is first
        m = tree.mass[rows]
        c = tree.first_moment[rows] / np.where(m == 0, 1.0, m)[:, None]
        C = np.array([skew(c_i) for c_i in c])
        I_C = tree.inertia[rows] - m[:, None, None] * C @ C.transpose(0, 2, 1)
        G = np.zeros((N, n))
        G[np.arange(N), tree.dof[joints]] = tree.multiplier[joints]
        joint_frames = zip(tree.rotation[joints], tree.translation[joints], strict=True)
        links = zip(
            tree.link_names,
            number[tree.link_body],
            tree.link_rotation,
            tree.link_translation,
            strict=True,
        )
        return cls(
            N=N,
            n=n,
            parent=number[tree.parent[joints]],
            axis=tree.axis[joints],
            motion=tree.motion[joints],
            Xtree=np.array([rot(R.T) @ xlt(r) for R, r in joint_frames]).reshape(N, 6, 6),
            m=m,
            c=c,
            I_C=I_C,
            I=np.array([mcI(*body) for body in zip(m, c, I_C, strict=True)]),
            gravity=model.gravity,
            G=G,
            q_0=tree.offset[joints],
            links={name: (body, rot(R.T) @ xlt(r)) for name, body, R, r in links},
            names=tuple(tree.body_names[row] for row in rows),
        )

    def jcalc(self, i: int, q: float) -> tuple[Floats, Floats]:
        """Return XJ (6, 6) and S (6,) of joint i at position q: RBDA section 4.4.

        XJ takes motions from the joint's frame to the body's; S, in the body's frame, does not
        depend on q. No other function depends on the joint's type.
        """
        angular, linear = self.motion[i]
        XJ = rot(turn(self.axis[i], angular * q)) @ xlt(linear * q * self.axis[i])
        S = np.concatenate([angular * self.axis[i], linear * self.axis[i]])
        return XJ, S

    def X0(self, q: Floats) -> Floats:
        """Return (N + 1, 6, 6) transforms from the base's frame to each body's, at q (N,)."""
        X0 = np.zeros((self.N + 1, 6, 6), self.Xtree.dtype)
        X0[BASE] = np.eye(6)
        for i in range(self.N):
            XJ, _ = self.jcalc(i, q[i])
            X0[i] = XJ @ self.Xtree[i] @ X0[self.parent[i]]
        return X0

    @overload
    def expand(self, q: Floats) -> Floats: ...

    @overload
    def expand(self, q: Floats, rate: Floats, /, *rates: Floats) -> tuple[Floats, ...]: ...

    def expand(self, q: Floats, *rates: Floats) -> Floats | tuple[Floats, ...]:
        """Return q_J = G q + q_0 (N,), and G times each of ``rates`` (velocities, accelerations).

        Args:
            q: (n,) coordinates, in the model's order [rad or m].
            rates: Each (n,).
        """
        q_J = self.G @ q + self.q_0
        return (q_J, *(self.G @ rate for rate in rates)) if rates else q_J

    def reduce(self, full: Floats) -> Floats:
        """Return G^T tau_J (n,) for torques (N,), or G^T M_J G (n, n) for a matrix (N, N)."""
        return self.G.T @ full if full.ndim == 1 else self.G.T @ full @ self.G

    def body_forces(self, f_ext: Wrenches | None) -> Floats:
        """Return (N + 1, 6) spatial forces on the bodies, each in its own frame.

        Args:
            f_ext: Link name to [fx fy fz tx ty tz], at the link's origin in its own axes, as
                ``featherstone_ros.Dynamics`` takes it; or None.
        """
        f = np.zeros((self.N + 1, 6))
        for link, wrench in (f_ext or {}).items():
            body, X = self.links[link]
            force, moment = np.split(np.asarray(wrench), 2)
            f[body] += X.T @ np.concatenate([moment, force])
        return f

    def base_forces(self, f_ext: Wrenches | None, q: Floats) -> Floats:
        """Return (N + 1, 6) the same forces in base coordinates, at q (N,)."""
        pairs = zip(self.X0(q), self.body_forces(f_ext), strict=True)
        return np.array([X.T @ f for X, f in pairs])

    def poses(self, q: Floats) -> tuple[Floats, Floats]:
        """Return R (N + 1, 3, 3) and p (N + 1, 3), axes and origin of each body in the base.

        R[i] turns vectors from body i's axes to the base's.
        """
        parts = [parts_of(X) for X in self.X0(q)]
        return np.array([E.T for E, _ in parts]), np.array([p for _, p in parts])


def numbering(tree: BodyTree) -> Indices:
    """Return (N,) a model's bodies in the order of its ``joint_names``: the ``Robot``'s numbers.

    With mimic joints, for which ``joint_names`` has no place, the model's own order.

    Raises:
        ModelError: A joint is listed before one that carries it.
    """
    if tree.n < len(tree.parent):
        return np.arange(len(tree.parent))
    for k, body in enumerate(tree.joint_body):
        parent = tree.parent[body]
        if parent != BASE and tree.dof[parent] > k:
            name, carrier = tree.joint_names[k], tree.joint_names[tree.dof[parent]]
            outwards = [tree.joint_names[dof] for dof in tree.dof]
            raise ModelError(
                f"joint {name!r} is listed before {carrier!r}, which carries it; expected a model "
                f"with its joints from the base outwards: joints={outwards}"
            )
    return tree.joint_body
