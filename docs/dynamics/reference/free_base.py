"""A floating base: a spacecraft, a walking robot in the air, an arm on a boat.

The base's equation of motion adds six rows, which one 6x6 matrix solves: for forward dynamics P_0,
the articulated inertia of the base (joints free); for inverse dynamics R_0, the inertia of the
whole robot (joints frozen). RBDA sections 9.3 to 9.5; A. Jain, Robot and Multibody Dynamics,
chapter 7. Operators and conventions: ``operators``; the base's quantities are in its own frame.

Gravity is omitted here and added to alpha_0 afterwards, since all bodies fall alike.
"""

import numpy as np

from reference import innovations, operators
from reference.innovations import Innovations
from reference.momentum import locked_inertia
from reference.operators import STILL, Operators
from reference.spatial import Floats, crf


def articulated_inertia(o: Operators, x: Innovations) -> Floats:
    """Return P_0 (6, 6) = M_0 + E_0 (P - G D G*) E_0*: the base's inertia with its joints free.

    Args:
        o: ``Operators``.
        x: Their ``Innovations``.
    """
    return o.M_0 + o.E_0 @ (x.P - x.G @ x.D @ x.G.T) @ o.E_0.T


def base_force(o: Operators, f: Floats, alpha_0: Floats = STILL, V_0: Floats = STILL) -> Floats:
    """Return the force (6,) M_0 alpha_0 + V_0 x* M_0 V_0 + E_0 f that the base's motion needs.

    Args:
        o: ``Operators``.
        f: (6 N,) forces across the joints, as ``operators.inverse_dynamics`` returns them.
        alpha_0: (6,) the base's spatial acceleration.
        V_0: (6,) its velocity.
    """
    return o.M_0 @ alpha_0 + crf(V_0) @ o.M_0 @ V_0 + o.E_0 @ f


def forward_dynamics(
    o: Operators,
    qd: Floats,
    tau: Floats,
    V_0: Floats = STILL,
    f_0: Floats = STILL,
    f_x: Floats | float = 0.0,
) -> tuple[Floats, Floats]:
    """Return alpha_0 (6,) and qdd (n,): the base's spatial acceleration and the joints'.

        z_0 = V_0 x* M_0 V_0 - f_0 + E_0 (z + G e)      force on the base, were alpha_0 = 0
        alpha_0 = - P_0^-1 z_0

    and then as for a base with prescribed alpha_0; z and e are those of ``innovations.inward``.

    Args:
        o: ``Operators``.
        qd: (n,) joint velocities.
        tau: (n,) torques [N m or N].
        V_0: (6,) the base's velocity.
        f_0: (6,) external force on the base.
        f_x: (6 N,) external forces on the bodies, in their frames.
    """
    x = innovations.articulate(o)
    a, b = operators.velocity_terms(o, qd, V_0)
    z, e = innovations.inward(o, x, tau, a, b - f_x)
    z_0 = base_force(o, z + x.G @ e, V_0=V_0) - f_0
    alpha_0 = -np.linalg.solve(articulated_inertia(o, x), z_0)
    return alpha_0, innovations.forward_dynamics(o, qd, tau, alpha_0, f_x, V_0)


def inverse_dynamics(
    o: Operators,
    qd: Floats,
    qdd: Floats,
    V_0: Floats = STILL,
    f_0: Floats = STILL,
    f_x: Floats | float = 0.0,
) -> tuple[Floats, Floats]:
    """Return alpha_0 (6,) and tau (n,) for joint accelerations qdd (n,): RBDA section 9.5.

    alpha_0 = 0 would need a force on the base; without it, R_0 alpha_0 takes its place.
    The other arguments are those of ``forward_dynamics``.
    """
    f, _ = operators.inverse_dynamics(o, qd, qdd, f_x=f_x, V_0=V_0)
    missing = base_force(o, f, V_0=V_0) - f_0
    alpha_0 = -np.linalg.solve(locked_inertia(o), missing)
    _, tau = operators.inverse_dynamics(o, qd, qdd, alpha_0, f_x, V_0)
    return alpha_0, tau
