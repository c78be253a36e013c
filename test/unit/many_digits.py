"""Dynamics of a URDF's moving joints in 60 digits, by the plain matrices of RBDA: the truth that
rounding errors are measured by. Slow: for a few states of a robot.
"""

from types import SimpleNamespace
from xml.etree import ElementTree

import mpmath
import numpy as np

DIGITS = 60


class ManyDigits:
    """A URDF of links and revolute, continuous or prismatic joints, parents first."""

    def __init__(self, text, gravity=(0, 0, -9.81)):
        with mpmath.workdps(DIGITS):
            root = ElementTree.fromstring(text)
            links = {link.get("name"): k for k, link in enumerate(root.iter("link"))}
            inertias = [rigid_body_inertia(link) for link in root.iter("link")]
            self.bodies = []
            slots = {next(iter(links)): -1}  # of the links so far
            for joint in root.iter("joint"):
                slots[joint.find("child").get("link")] = len(self.bodies)
                parent = slots[joint.find("parent").get("link")]
                inertia = inertias[links[joint.find("child").get("link")]]
                self.bodies.append(body(joint, parent, inertia))
            self.n, self.at = len(self.bodies), None
            self.base_acceleration = -vector([0, 0, 0, *gravity])

    def transforms(self, q):
        """iXp of every body, kept: sines in so many digits take longer than the rest."""
        if self.at is None or (self.at != q).any():
            self.at, self.X = q, transforms(self.bodies, q)
        return self.X

    def rnea(self, q, qd, qdd):
        """Table 5.1."""
        with mpmath.workdps(DIGITS):
            q, qd, qdd = vector(q), vector(qd), vector(qdd)
            X, v, a, f = self.transforms(q), [], [], []
            for i, b in enumerate(self.bodies):
                root = b.parent < 0
                v_p = vector([0] * 6) if root else v[b.parent]
                a_p = self.base_acceleration if root else a[b.parent]
                v.append(X[i] @ v_p + b.S * qd[i])
                a.append(X[i] @ a_p + b.S * qdd[i] + motion_cross(v[i]) @ b.S * qd[i])
                f.append(b.I @ a[i] - motion_cross(v[i]).T @ (b.I @ v[i]))
            tau = vector([0] * self.n)
            for i in reversed(range(self.n)):
                tau[i] = self.bodies[i].S @ f[i]
                if self.bodies[i].parent >= 0:
                    f[self.bodies[i].parent] = f[self.bodies[i].parent] + X[i].T @ f[i]
            return tau

    def crba(self, q):
        """Table 6.2."""
        with mpmath.workdps(DIGITS):
            X = self.transforms(vector(q))
            composite = [b.I for b in self.bodies]
            H = vector(np.zeros((self.n, self.n)))
            for i in reversed(range(self.n)):
                b = self.bodies[i]
                if b.parent >= 0:
                    composite[b.parent] = composite[b.parent] + X[i].T @ composite[i] @ X[i]
                F, j = composite[i] @ b.S, i
                while j >= 0:
                    H[i, j] = H[j, i] = self.bodies[j].S @ F
                    F, j = X[j].T @ F, self.bodies[j].parent
            return H

    def minv(self, q, joints=None):
        """The columns of the inverse of ``crba``, some or all, by Table 7.1 under unit torques."""
        with mpmath.workdps(DIGITS):
            X, n = self.transforms(vector(q)), self.n
            torques = np.eye(n)[:, range(n) if joints is None else joints]
            zero = vector(np.zeros((6, torques.shape[1])))
            articulated = [b.I for b in self.bodies]
            U, D = [None] * n, [None] * n
            forces = [zero] * n
            u, accelerations = [None] * n, []
            for i in reversed(range(n)):
                b = self.bodies[i]
                U[i] = articulated[i] @ b.S
                D[i] = b.S @ U[i]
                u[i] = vector(torques[i]) - b.S @ forces[i]
                if b.parent >= 0:
                    left = articulated[i] - np.outer(U[i], U[i]) / D[i]
                    articulated[b.parent] = articulated[b.parent] + X[i].T @ left @ X[i]
                    passed_on = forces[i] + np.outer(U[i], u[i]) / D[i]
                    forces[b.parent] = forces[b.parent] + X[i].T @ passed_on
            inverse = []
            for i, b in enumerate(self.bodies):
                a = zero if b.parent < 0 else X[i] @ accelerations[b.parent]
                inverse.append((u[i] - U[i] @ a) / D[i])
                accelerations.append(a + np.outer(b.S, inverse[i]))
            return np.array(inverse)

    def aba(self, q, qd, tau, inverse):
        """The acceleration under tau, by ``minv`` and ``rnea``."""
        with mpmath.workdps(DIGITS):
            return inverse @ (vector(tau) - self.rnea(q, qd, np.zeros(self.n)))


def body(joint, parent, inertia):
    origin, axis = joint.find("origin"), joint.find("axis")
    z = numbers(axis, "xyz")
    z = z / mpmath.sqrt(z @ z)
    prismatic = joint.get("type") == "prismatic"
    none = vector([0, 0, 0])
    return SimpleNamespace(
        parent=parent,
        E=rotation(*numbers(origin, "rpy")).T,
        r=numbers(origin, "xyz"),
        S=np.concatenate([none, z] if prismatic else [z, none]),
        I=inertia,
    )


def transforms(bodies, q):
    """iXp of every body: the fixed part of its joint, then the moving one."""
    return [moved(b.S, angle) @ transform(b.E, b.r) for b, angle in zip(bodies, q, strict=True)]


def moved(S, q):
    if S[3:].any():
        return transform(vector(np.eye(3)), q * S[3:])
    z = cross(S[:3])
    return transform(
        vector(np.eye(3)) - mpmath.sin(q) * z + (1 - mpmath.cos(q)) * (z @ z), vector([0, 0, 0])
    )


def transform(E, r):
    """RBDA equation 2.24."""
    X = vector(np.zeros((6, 6)))
    X[:3, :3] = X[3:, 3:] = E
    X[3:, :3] = -E @ cross(r)
    return X


def rigid_body_inertia(link):
    """RBDA equation 2.63, about the link's origin."""
    inertial = link.find("inertial")
    if inertial is None:
        return vector(np.zeros((6, 6)))
    m = numbers(inertial.find("mass"), "value")[0]
    c = cross(numbers(inertial.find("origin"), "xyz"))
    R = rotation(*numbers(inertial.find("origin"), "rpy"))
    inertia = inertial.find("inertia")
    xx, xy, xz, yy, yz, zz = (
        numbers(inertia, key)[0] for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    result = vector(np.zeros((6, 6)))
    result[:3, :3] = R @ about @ R.T - m * c @ c
    result[:3, 3:], result[3:, :3] = m * c, -m * c
    result[3:, 3:] = m * vector(np.eye(3))
    return result


def rotation(roll, pitch, yaw):
    x, y, z = (
        vector([[mpmath.cos(a), -mpmath.sin(a), 0], [mpmath.sin(a), mpmath.cos(a), 0], [0, 0, 1]])
        for a in (roll, pitch, yaw)
    )
    return z @ turned(y, [2, 0, 1]) @ turned(x, [1, 2, 0])


def turned(R, axes):
    """The rotation about another axis: its plane is spanned by the first two of ``axes``."""
    result = vector(np.zeros((3, 3)))
    result[np.ix_(axes, axes)] = R
    return result


def cross(r):
    x, y, z = r
    return vector([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def motion_cross(v):
    """RBDA equation 2.31."""
    result = vector(np.zeros((6, 6)))
    result[:3, :3] = result[3:, 3:] = cross(v[:3])
    result[3:, :3] = cross(v[3:])
    return result


def vector(values):
    """An array of exact numbers, to the last bit those of floats."""
    return np.vectorize(mpmath.mpf, otypes=[object])(values)


def numbers(element, key):
    """What is in an attribute, as floats read it: rounding that is no business of ours."""
    return vector([float(word) for word in element.get(key).split()])


def error(actual, exact):
    """Greatest error relative to the greatest entry."""
    with mpmath.workdps(DIGITS):
        return float(np.abs(vector(actual) - exact).max() / np.abs(exact).max())
