"""The spatial operator algebra: the dynamics of a whole tree in a handful of matrices.

G. Rodriguez, A. Jain, K. Kreutz-Delgado, Spatial Operator Algebra for Multibody System Dynamics,
1992; A. Jain, Robot and Multibody Dynamics, 2011. Conventions, and how the literature's differ:

- Stacked vectors: V = (V_0, ..., V_(N-1)) holds a spatial vector, angular part first, for each
  body; an operator is a matrix (6 N, 6 N) of blocks (6, 6). A* is the transpose of A.
- phi(i, j), the block of phi in row i and column j, takes forces at body j to body i, which carries
  j: RBDA's iXj*. Its transpose takes motions from i outwards to j. E_phi has only the blocks of
  parents and children, and phi = (1 - E_phi)^-1 = 1 + E_phi + E_phi^2 + ... sums over all that a
  body carries.
- Rodriguez and Jain number a chain from the tip to the base, which is N + 1, so their E_phi is
  strictly lower triangular. Here bodies are numbered outwards: our i is their N - i, the base is
  -1, and E_phi is strictly upper triangular.
- The base is not one of the operators' bodies. E_0 (6, 6 N) is the block row that it would have in
  E_phi: it collects the bodies' forces on the base, and E_0* passes the base's motion to them. V_0
  and alpha_0 are velocity and acceleration of a moving base, in its own frame.
- H has a row for each degree of freedom: one per joint of a ``Robot``, up to six for the hinges of
  ``hinges``, whose rates are then quasi-velocities. n counts degrees of freedom, N bodies.

The functions hold in either frames: each body's own (``body_frames``), or the base's for all
(``base_frame``), where phi(i, j) = 1 and the axes and inertias vary with position instead.
Positions, velocities and torques are those of all joints (``Robot.expand`` and ``reduce``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from featherstone_ros.errors import ModelError
from reference.hinges import Hinge
from reference.robot import BASE, Robot
from reference.spatial import Floats, Indices, crf, crm, inverse

Positions = Floats | Sequence[Floats]  # of joints, or of hinges
STILL = np.zeros(6)  # of a fixed base
STILL.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Operators:
    """A tree at one position.

    Attributes:
        E_phi: (6 N, 6 N) forces of children to their parents.
        E_0: (6, 6 N) forces of the base's children to the base.
        phi: (6 N, 6 N) forces of all that a body carries.
        H: (n, 6 N) block diagonal, the joints' axes as rows: V_relative = H* qd, tau = H f.
        dH: (n, n, 6 N), dH[k] is the rate of H in the bodies' frames per rate k: zero except for
            hinges whose axes move in their body (``hinges.Universal``).
        M: (6 N, 6 N) block diagonal, the spatial inertias.
        M_0: (6, 6) the base's.
        rows: N slices, the rows of each joint in H.
    """

    E_phi: Floats
    E_0: Floats
    phi: Floats
    H: Floats
    dH: Floats
    M: Floats
    M_0: Floats
    rows: tuple[slice, ...]


def body_frames(robot: Robot, q: Positions, hinges: Sequence[Hinge] | None = None) -> Operators:
    """Return the ``Operators`` of a robot, each body in its own frame.

    Args:
        robot: A ``Robot``.
        q: (N,) joint positions [rad or m]; with ``hinges``, the position of each.
        hinges: N hinges of ``hinges``, in place of the robot's own joints.
    """
    to_parent, axes, rates = joints_at(robot, q, hinges)
    return assemble(robot.parent, to_parent, axes, rates, robot.I)


def base_frame(robot: Robot, q: Positions, hinges: Sequence[Hinge] | None = None) -> Operators:
    """Return the ``Operators`` of a robot, all bodies in the base's frame.

    The arguments are those of ``body_frames``.
    """
    to_parent, axes, rates = joints_at(robot, q, hinges)
    X0 = np.zeros_like(robot.I)
    X0[BASE] = np.eye(6)
    for i in range(robot.N):
        X0[i] = to_parent[i].T @ X0[robot.parent[i]]
        from_body = inverse(X0[i]).T
        axes[i], rates[i] = axes[i] @ from_body, rates[i] @ from_body
    ones = [np.eye(6)] * robot.N
    return assemble(robot.parent, ones, axes, rates, X0.transpose(0, 2, 1) @ robot.I @ X0)


def joints_at(
    robot: Robot, q: Positions, hinges: Sequence[Hinge] | None = None
) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Return, for N joints at q, lists of phi(parent, i) (6, 6), axes (r, 6) and rates (r, r, 6).

    The arguments are those of ``body_frames``; the frames are the bodies'.
    """
    to_parent: list[Floats] = []
    axes: list[Floats] = []
    rates: list[Floats] = []
    for i in range(robot.N):
        if hinges is None:
            XJ, S = robot.jcalc(i, float(q[i]))
            axes.append(S[None])
            rates.append(np.zeros((1, 1, 6)))
        else:
            XJ = hinges[i].transform(q[i])
            axes.append(hinges[i].H(q[i]))
            rates.append(hinges[i].dH(q[i]))
        to_parent.append((XJ @ robot.Xtree[i]).T)
    return to_parent, axes, rates


def assemble(
    parent: Indices,
    to_parent: Sequence[Floats],
    axes: Sequence[Floats],
    rates: Sequence[Floats],
    inertias: Floats,
) -> Operators:
    """Return ``Operators`` of what ``joints_at`` returns and N + 1 inertias."""
    N = len(parent)
    E = np.zeros((N + 1, 6, N, 6))
    for i in range(N):
        E[parent[i], :, i] = to_parent[i]
    E_phi, E_0 = E[:BASE].reshape(6 * N, 6 * N), E[BASE].reshape(6, 6 * N)
    end = np.cumsum([len(axis) for axis in axes])
    rows = tuple(slice(k - len(axis), k) for k, axis in zip(end, axes, strict=True))
    dH = np.zeros((end[-1], end[-1], 6 * N))
    for i, k in enumerate(rows):
        dH[k, k, 6 * i : 6 * i + 6] = rates[i]
    return Operators(
        E_phi=E_phi,
        E_0=E_0,
        phi=np.linalg.inv(np.eye(6 * N) - E_phi),
        H=block_diagonal(axes),
        dH=dH,
        M=block_diagonal(inertias[:BASE]),
        M_0=inertias[BASE],
        rows=rows,
    )


def block_diagonal(blocks: Sequence[Floats] | Floats) -> Floats:
    """Return the matrix with these blocks, of any shapes (r, c), on its diagonal."""
    ends = np.cumsum([np.shape(block) for block in blocks], axis=0)
    A = np.zeros(ends[-1])
    for (i, k), block in zip(ends, blocks, strict=True):
        r, c = np.shape(block)
        A[i - r : i, k - c : k] = block
    return A


def each(cross: Callable[[Floats], Floats], V: Floats) -> Floats:
    """Return the block-diagonal matrix (6 N, 6 N) of ``cross(v)`` for each body's vector v in V."""
    return block_diagonal([cross(v) for v in V.reshape(-1, 6)])


def velocities(o: Operators, qd: Floats, V_0: Floats = STILL) -> Floats:
    """Return V (6 N,) = phi* (H* qd + E_0* V_0), the bodies' spatial velocities.

    Args:
        o: ``Operators``.
        qd: (n,) joint velocities, or quasi-velocities of hinges.
        V_0: (6,) the base's velocity in its frame.
    """
    return o.phi.T @ (o.H.T @ qd + o.E_0.T @ V_0)


def mass_matrix(o: Operators) -> Floats:
    """Return the joint-space inertia (n, n) = H phi M phi* H*.

    Read from the right: joint rates to bodies' velocities, to their momenta, to sums over all that
    each joint carries, to the components along the joint.
    """
    return o.H @ o.phi @ o.M @ o.phi.T @ o.H.T


def axes_rate(o: Operators, qd: Floats, V_0: Floats = STILL) -> Floats:
    """Return Hdot* (6 N, n), the axes' rate: V x H* as their bodies move, and dH within them."""
    V = velocities(o, qd, V_0)
    return each(crm, V) @ o.H.T + np.tensordot(qd, o.dH, 1).T


def velocity_terms(o: Operators, qd: Floats, V_0: Floats = STILL) -> tuple[Floats, Floats]:
    """Return a and b (6 N,): Coriolis accelerations Hdot* qd, gyroscopic forces V x* M V.

    Hdot* qd = V x H* qd where axes are fixed in their bodies.

    Args:
        o: ``Operators``.
        qd: (n,) joint velocities.
        V_0: (6,) the base's velocity, in its frame.
    """
    V = velocities(o, qd, V_0)
    return axes_rate(o, qd, V_0) @ qd, each(crf, V) @ o.M @ V


def coriolis(o: Operators, qd: Floats, V_0: Floats = STILL) -> Floats:
    """Return the torques (n,) C = H phi (M phi* a + b): they keep qd (n,) and V_0 (6,) constant."""
    a, b = velocity_terms(o, qd, V_0)
    return o.H @ o.phi @ (o.M @ o.phi.T @ a + b)


def coriolis_matrix(o: Operators, qd: Floats) -> Floats:
    """Return C (n, n) with C qd = ``coriolis`` and Mdot = C + C*: Mdot - 2 C is skew-symmetric.

    It is the matrix from Christoffel symbols (``explicit.coriolis_matrix``). The base is at rest.
    In the base's frame phi is constant, Hdot* is ``axes_rate`` and Mdot = V x* M - M V x. So
    C = H phi (M phi* Hdot* + B phi* H*) has these properties if B V = V x* M V and Mdot - 2 B is
    skew. The gyroscopic force is also W V with the skew matrix W of the momenta p = M V, defined by
    W w = w x* p; and V x V = 0. Hence B = (Mdot + W) / 2 has both properties.
    S. Echeandia, P. Wensing, Numerical methods to compute the Coriolis matrix and Christoffel
    symbols for rigid-body systems, 2021.
    """
    V = velocities(o, qd)
    W = each(momentum_cross, o.M @ V)
    B = (each(crf, V) @ o.M - o.M @ each(crm, V) + W) / 2
    return o.H @ o.phi @ (o.M @ o.phi.T @ axes_rate(o, qd) + B @ o.phi.T @ o.H.T)


def momentum_cross(p: Floats) -> Floats:
    """Return the matrix (6, 6) whose product with a motion w is w x* p, for a momentum p (6,)."""
    return np.array([crf(w) @ p for w in np.eye(6)]).T


def weights(robot: Robot, q: Floats) -> Floats:
    """Return (6 N,) the weight of each body as a force, m g at its centre of mass, in its frame."""
    R, _ = robot.poses(q)
    blocks = []
    for i in range(robot.N):
        weight = robot.m[i] * R[i].T @ robot.gravity
        blocks += [np.cross(robot.c[i], weight), weight]
    return np.concatenate(blocks)


def inverse_dynamics(
    o: Operators,
    qd: Floats,
    qdd: Floats,
    alpha_0: Floats = STILL,
    f_x: Floats | float = 0.0,
    V_0: Floats = STILL,
) -> tuple[Floats, Floats]:
    """Return f (6 N,) and tau (n,): forces across the joints, and their components along them.

    alpha = phi* (H* qdd + a + E_0* alpha_0),  f = phi (M alpha + b - f_x),  tau = H f.

    Gravity enters either as an acceleration alpha_0 = (0, -g) of the base or as the bodies'
    ``weights`` in f_x.

    Args:
        o: ``Operators``.
        qd: (n,) joint velocities.
        qdd: (n,) accelerations.
        alpha_0: (6,) the base's spatial acceleration, in its frame.
        f_x: (6 N,) external forces on the bodies, in their frames.
        V_0: (6,) the base's velocity, in its frame.
    """
    a, b = velocity_terms(o, qd, V_0)
    alpha = o.phi.T @ (o.H.T @ qdd + a + o.E_0.T @ alpha_0)
    f = o.phi @ (o.M @ alpha + b - f_x)
    return f, o.H @ f


def mass_matrix_by_columns(o: Operators) -> Floats:
    """Return the joint-space inertia (n, n): column k has the torques of unit acceleration k."""
    n = len(o.H)
    still = np.zeros(n)
    columns = [inverse_dynamics(o, still, unit)[1] for unit in np.eye(n)]
    return np.stack(columns, axis=1)


def pick_off(robot: Robot, links: Sequence[str]) -> Floats:
    """Return B (6 N, 6 K), whose transpose picks the motions of K links out of the bodies'.

    B* V are the links' velocities, each at its link's origin and in its axes, angular part first;
    B f are the forces f_x on the bodies of forces f on the links there. For ``body_frames``.

    Args:
        robot: A ``Robot``.
        links: K names of moving links.
    """
    B = np.zeros((robot.N, 6, len(links), 6))
    for k, link in enumerate(links):
        body, X = robot.links[link]
        if body == BASE:
            raise ModelError(f"link {link!r} is on the base, expected one that joints move")
        B[body, :, k] = X.T
    return B.reshape(6 * robot.N, 6 * len(links))


def jacobian(o: Operators, B: Floats) -> Floats:
    """Return J (6 K, n) = B* phi* H*: velocities of the links of ``pick_off`` per joint velocity.

    Its transpose H phi B gives the torques that balance forces on the links. With innovations'
    compliance, B* Omega B = J M^-1 J* is the inverse of Khatib's operational-space inertia.
    """
    return B.T @ o.phi.T @ o.H.T
