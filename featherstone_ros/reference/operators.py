"""The spatial operator algebra: the dynamics of a whole tree in a handful of matrices.

G. Rodriguez, A. Jain, K. Kreutz-Delgado, Spatial Operator Algebra for Multibody System Dynamics,
1992; A. Jain, Robot and Multibody Dynamics, 2011. Its conventions, and ours beside them:

- Stacked vectors: V = (V_0, ..., V_(N-1)) holds a spatial vector, angular part first, for each
  body; an operator is a matrix (6 N, 6 N) of blocks (6, 6). A* is the transpose of A.
- phi(i, j), the block of phi in row i and column j, takes forces at body j to body i, which
  carries it: RBDA's iXj*. Its transpose takes motions from i to j, out to the tips. E_phi has only
  the blocks of parents and children, and phi = (1 - E_phi)^-1 = 1 + E_phi + E_phi^2 + ... sums
  over all that a body carries.
- Rodriguez and Jain number a chain from the tip to the base, the base being N + 1, which makes
  E_phi strictly lower triangular. Here bodies are numbered outwards: theirs is N - i for our i,
  the base is -1, and E_phi is strictly upper triangular.
- The base is no body of the operators. E_0 (6, 6 N) is the block row of E_phi that it would have:
  it collects the forces of the bodies on the base, and E_0* hands its motion to them.

No function needs to know in which frames the blocks are: each body's own (``body_frames``), or the
base's for all (``base_frame``), where phi(i, j) = 1 and the axes and inertias are what moves.
Positions, velocities and torques are those of all N joints (``Robot.expand`` and ``reduce``).
"""

from dataclasses import dataclass

import numpy as np

from featherstone_ros.reference.robot import BASE
from featherstone_ros.reference.spatial import crf, crm, inverse

STILL = (0.0,) * 6  # of a fixed base


@dataclass(frozen=True, eq=False)
class Operators:
    """A tree at one position.

    Attributes:
        E_phi: (6 N, 6 N) forces of children to their parents.
        E_0: (6, 6 N) forces of the base's children to the base.
        phi: (6 N, 6 N) forces of all that a body carries.
        H: (N, 6 N) block diagonal, the joints' axes as rows: V_relative = H* qd, tau = H f.
        M: (6 N, 6 N) block diagonal, the spatial inertias.
        M_0: (6, 6) the base's.
    """

    E_phi: np.ndarray
    E_0: np.ndarray
    phi: np.ndarray
    H: np.ndarray
    M: np.ndarray
    M_0: np.ndarray


def body_frames(robot, q):
    """Return the ``Operators`` of a robot at q (N,) [rad or m], each body in its own frame."""
    to_parent, axes = np.zeros((robot.N, 6, 6)), np.zeros((robot.N, 6))
    for i in range(robot.N):
        XJ, axes[i] = robot.jcalc(i, q[i])
        to_parent[i] = (XJ @ robot.Xtree[i]).T
    return assemble(robot.parent, to_parent, axes, robot.I)


def base_frame(robot, q):
    """Return the ``Operators`` of a robot at q (N,) [rad or m], all bodies in the base's frame."""
    X0 = robot.X0(q)
    axes = [inverse(X0[i]) @ robot.jcalc(i, q[i])[1] for i in range(robot.N)]
    return assemble(robot.parent, [np.eye(6)] * robot.N, axes, X0.transpose(0, 2, 1) @ robot.I @ X0)


def assemble(parent, to_parent, axes, inertias):
    """Return ``Operators`` of blocks: phi(parent, i) and the axis of each body, N + 1 inertias."""
    N = len(parent)
    E = np.zeros((N + 1, 6, N, 6))
    for i in range(N):
        E[parent[i], :, i] = to_parent[i]
    E_phi, E_0 = E[:BASE].reshape(6 * N, 6 * N), E[BASE].reshape(6, 6 * N)
    return Operators(
        E_phi=E_phi,
        E_0=E_0,
        phi=np.linalg.inv(np.eye(6 * N) - E_phi),
        H=block_diagonal([axis[None] for axis in axes]),
        M=block_diagonal(inertias[:BASE]),
        M_0=inertias[BASE],
    )


def block_diagonal(blocks):
    """Return the matrix (N r, N c) with these N blocks (r, c) on its diagonal."""
    N, (rows, columns) = len(blocks), np.shape(blocks[0])
    A = np.zeros((N, rows, N, columns))
    for i in range(N):
        A[i, :, i] = blocks[i]
    return A.reshape(N * rows, N * columns)


def each(cross, V):
    """Return block diagonal (6 N, 6 N) the matrices ``cross(v)`` of each body's vector v in V."""
    return block_diagonal([cross(v) for v in V.reshape(-1, 6)])


def velocities(o, qd, V_0=STILL):
    """Return V (6 N,) = phi* (H* qd + E_0* V_0), the bodies' spatial velocities.

    Args:
        o: ``Operators``.
        qd: (N,) joint velocities.
        V_0: (6,) the base's velocity in its frame.
    """
    return o.phi.T @ (o.H.T @ qd + o.E_0.T @ V_0)


def mass_matrix(o):
    """Return the joint-space inertia (N, N) = H phi M phi* H*.

    From the right: joint rates to bodies' velocities, to their momenta, to sums over all that each
    joint carries, to what of it acts on the joint.
    """
    return o.H @ o.phi @ o.M @ o.phi.T @ o.H.T


def velocity_terms(o, qd):
    """Return a and b (6 N,): Coriolis accelerations V x H* qd, gyroscopic forces V x* M V."""
    V = velocities(o, qd)
    return each(crm, V) @ o.H.T @ qd, each(crf, V) @ o.M @ V


def coriolis(o, qd):
    """Return the torques (N,) C = H phi (M phi* a + b) that keep velocities qd (N,) constant."""
    a, b = velocity_terms(o, qd)
    return o.H @ o.phi @ (o.M @ o.phi.T @ a + b)


def coriolis_matrix(o, qd):
    """Return C (N, N) with C qd = ``coriolis`` and Mdot = C + C*: Mdot - 2 C is skew-symmetric.

    It is the one that Christoffel symbols give (``explicit.coriolis_matrix``).
    In the base's frame phi is constant, Hdot* = V x H* and Mdot = V x* M - M V x. So
    C = H phi (M phi* Hdot* + B phi* H*) will do if B V = V x* M V and Mdot - 2 B is skew. The
    gyroscopic force is also W V, with W of the momenta p = M V: W w = w x* p, which is skew; and
    V x V = 0. Half the sum of Mdot and W therefore has both properties.
    S. Echeandia, P. Wensing, Numerical methods to compute the Coriolis matrix and Christoffel
    symbols for rigid-body systems, 2021.
    """
    V = velocities(o, qd)
    W = each(momentum_cross, o.M @ V)
    B = (each(crf, V) @ o.M - o.M @ each(crm, V) + W) / 2
    return o.H @ o.phi @ (o.M @ o.phi.T @ each(crm, V) @ o.H.T + B @ o.phi.T @ o.H.T)


def momentum_cross(p):
    """Return the matrix (6, 6) whose product with a motion w is w x* p, for a momentum p (6,)."""
    return np.array([crf(w) @ p for w in np.eye(6)]).T


def weights(robot, q):
    """Return (6 N,) gravity as a force on each body, m g at its centre of mass, in its frame."""
    R, _ = robot.poses(q)
    blocks = []
    for i in range(robot.N):
        weight = robot.m[i] * R[i].T @ robot.gravity
        blocks += [np.cross(robot.c[i], weight), weight]
    return np.concatenate(blocks)


def inverse_dynamics(o, qd, qdd, alpha_0=STILL, f_x=0.0):
    """Return f (6 N,) and tau (N,): forces across the joints and what of them the joints exert.

    alpha = phi* (H* qdd + a + E_0* alpha_0),  f = phi (M alpha + b - f_x),  tau = H f.

    Gravity is either one: an acceleration alpha_0 = (0, -g) of the base, or a force in f_x, the
    bodies' ``weights``.

    Args:
        o: ``Operators``.
        qd: (N,) joint velocities.
        qdd: (N,) accelerations.
        alpha_0: (6,) the base's acceleration, in its frame.
        f_x: (6 N,) external forces on the bodies, in their frames.
    """
    a, b = velocity_terms(o, qd)
    alpha = o.phi.T @ (o.H.T @ qdd + a + o.E_0.T @ alpha_0)
    f = o.phi @ (o.M @ alpha + b - f_x)
    return f, o.H @ f


def mass_matrix_by_columns(o):
    """Return the joint-space inertia (N, N): column k is the torques of unit acceleration k."""
    N = len(o.H)
    still = np.zeros(N)
    columns = [inverse_dynamics(o, still, unit)[1] for unit in np.eye(N)]
    return np.stack(columns, axis=1)
