# The Articulated-Body Algorithm, RBDA Table 7.1.
#
# How the coded lines follow from the table:
# 1. The equation of motion H qdd = tau - C is linear in tau, and C = ID(q, qd, 0) is Table 5.1's work (rnea.pxd). What
#    is left for Table 7.1 is H qdd = tau - C: the same arm at rest, without gravity and external forces. Then v, c and
#    the bias force v x* I v are zero, and
#        U = IA S    D = S^T U    u = tau - S^T pA    Ia = IA - U U^T / D    pa = pA + U u / D
#        IA_p += pXi* Ia iXp      pA_p += pXi* pa     a' = iXp a_p           qdd = (u - U^T a') / D     a = a' + S qdd
# 2. An inertia on the joint's own axis (armature, or the h damping of an implicit integrator) adds to D alone.
# 3. IA = [I H; H^T M] keeps 6 + 9 + 6 numbers. Seen from a point p away, P = [p]x, with G = H + P M / 2:
#        M,    H + P M,    I - G P - (G P)^T.
# 4. A D of the size of the rounding error of IA stands for zero: nothing resists the joint's acceleration.

from libc.float cimport DBL_EPSILON
from libc.math cimport fabs

from system cimport Body, System, Workspace
from spatial cimport real, to_child, to_parent, add_cross, symmetric_to_parent, general_to_parent


cdef inline void add_articulated_inertia_to_parent(const Body* b, real c, real s, const real* p, const real* child,
                                                   real* parent) noexcept nogil:
    """IA_p += pXi* Ia iXp (note 3)."""
    cdef real[21] X
    cdef real[9] G, K
    cdef real* H = X + 6
    cdef real* M = X + 15
    cdef Py_ssize_t k
    for k in range(21):
        X[k] = child[k]
    symmetric_to_parent[real](b, c, s, X)
    general_to_parent[real](b, c, s, H)
    symmetric_to_parent[real](b, c, s, M)
    K[0] = p[1] * M[2] - p[2] * M[1]                            # K = P M
    K[1] = p[1] * M[4] - p[2] * M[3]
    K[2] = p[1] * M[5] - p[2] * M[4]
    K[3] = p[2] * M[0] - p[0] * M[2]
    K[4] = p[2] * M[1] - p[0] * M[4]
    K[5] = p[2] * M[2] - p[0] * M[5]
    K[6] = p[0] * M[1] - p[1] * M[0]
    K[7] = p[0] * M[3] - p[1] * M[1]
    K[8] = p[0] * M[4] - p[1] * M[2]
    for k in range(9):
        G[k] = H[k] + 0.5 * K[k]
    parent[0] += X[0] - 2.0 * (G[1] * p[2] - G[2] * p[1])       # -G P - (G P)^T
    parent[1] += X[1] - (G[2] * p[0] - G[0] * p[2]) - (G[4] * p[2] - G[5] * p[1])
    parent[2] += X[2] - (G[0] * p[1] - G[1] * p[0]) - (G[7] * p[2] - G[8] * p[1])
    parent[3] += X[3] - 2.0 * (G[5] * p[0] - G[3] * p[2])
    parent[4] += X[4] - (G[3] * p[1] - G[4] * p[0]) - (G[8] * p[0] - G[6] * p[2])
    parent[5] += X[5] - 2.0 * (G[6] * p[1] - G[7] * p[0])
    for k in range(9):
        parent[6 + k] += H[k] + K[k]
    for k in range(6):
        parent[15 + k] += M[k]


cdef inline Py_ssize_t aba(const System* system, Workspace* work, const real* tau, const double* armature,
                           real* qdd) noexcept nogil:
    """qdd = (H(q) + diag(armature))^-1 tau, after jcalc for q, for a system without mimic joints.

    armature: (n,) or NULL. tau and qdd may be the same memory.
    Returns the slot of a joint whose D is zero (note 4) (qdd is then not written), else 0.
    """
    cdef const Body* b
    cdef const real* p
    cdef real* IA
    cdef real* U
    cdef real* pA
    cdef real* a
    cdef real c, s, D, u
    cdef real[6] t
    cdef Py_ssize_t i, j, k

    for i in range(1, system.N + 1):                            # IA = I and pA = 0
        b = &system.body[i]
        IA = <real*> work.inertia + 21 * i
        for k in range(6):
            IA[k] = b.inertia[k]
            IA[15 + k] = 0.0
            (<real*> work.f)[6 * i + k] = 0.0
        IA[6] = IA[10] = IA[14] = 0.0                           # H = [h]x, M = mass 1
        IA[7] = -b.h[2]
        IA[8] = b.h[1]
        IA[9] = b.h[2]
        IA[11] = -b.h[0]
        IA[12] = -b.h[1]
        IA[13] = b.h[0]
        IA[15] = IA[18] = IA[20] = b.mass

    for i in range(system.N, 0, -1):                            # from the tips inward
        b = &system.body[i]
        c = (<real*> work.cos_sin)[2 * i]
        s = (<real*> work.cos_sin)[2 * i + 1]
        p = <real*> work.p + 3 * i
        IA = <real*> work.inertia + 21 * i
        U = <real*> work.force_set + 6 * i
        pA = <real*> work.f + 6 * i
        U[0] = b.angular * IA[2] + b.linear * IA[8]             # U = IA S
        U[1] = b.angular * IA[4] + b.linear * IA[11]
        U[2] = b.angular * IA[5] + b.linear * IA[14]
        U[3] = b.angular * IA[12] + b.linear * IA[17]
        U[4] = b.angular * IA[13] + b.linear * IA[19]
        U[5] = b.angular * IA[14] + b.linear * IA[20]
        D = b.angular * U[2] + b.linear * U[5]
        if armature != NULL:
            D = D + armature[b.dof]                             # note 2
        if fabs(D) <= 8 * DBL_EPSILON * (fabs(b.angular) * (fabs(IA[0]) + fabs(IA[3]) + fabs(IA[5]))
                                         + fabs(b.linear) * (fabs(IA[15]) + fabs(IA[18]) + fabs(IA[20]))):
            return i
        D = 1.0 / D
        u = tau[b.dof] - b.angular * pA[2] - b.linear * pA[5]
        (<real*> work.D)[i] = D
        (<real*> work.u)[i] = u
        if b.parent == 0:
            continue
        for k in range(6):                                      # Ia = IA - U U^T / D
            t[k] = U[k] * D
        IA[0] -= U[0] * t[0]
        IA[1] -= U[0] * t[1]
        IA[2] -= U[0] * t[2]
        IA[3] -= U[1] * t[1]
        IA[4] -= U[1] * t[2]
        IA[5] -= U[2] * t[2]
        for k in range(3):
            IA[6 + k] -= U[0] * t[3 + k]
            IA[9 + k] -= U[1] * t[3 + k]
            IA[12 + k] -= U[2] * t[3 + k]
        IA[15] -= U[3] * t[3]
        IA[16] -= U[3] * t[4]
        IA[17] -= U[3] * t[5]
        IA[18] -= U[4] * t[4]
        IA[19] -= U[4] * t[5]
        IA[20] -= U[5] * t[5]
        for k in range(6):                                      # pa = pA + U u / D
            t[k] = pA[k] + t[k] * u
        to_parent(b, c, s, t[0], t[1], t[2], t)
        to_parent(b, c, s, t[3], t[4], t[5], t + 3)
        add_cross(p, t + 3, t)
        pA = <real*> work.f + 6 * b.parent
        for k in range(6):
            pA[k] += t[k]
        add_articulated_inertia_to_parent(b, c, s, p, IA, <real*> work.inertia + 21 * b.parent)

    for i in range(1, system.N + 1):                            # from the base outward
        b = &system.body[i]
        j = b.parent
        c = (<real*> work.cos_sin)[2 * i]
        s = (<real*> work.cos_sin)[2 * i + 1]
        U = <real*> work.force_set + 6 * i
        a = <real*> work.motion + 6 * i
        if j == 0:
            for k in range(6):
                a[k] = 0.0
        else:
            for k in range(6):
                t[k] = (<real*> work.motion)[6 * j + k]
            add_cross(t, <real*> work.p + 3 * i, t + 3)         # w_dot x p
            to_child(b, c, s, t[0], t[1], t[2], a)
            to_child(b, c, s, t[3], t[4], t[5], a + 3)
        u = (<real*> work.u)[i]
        for k in range(6):
            u = u - U[k] * a[k]
        u = u * (<real*> work.D)[i]
        qdd[b.dof] = u
        a[2] += b.angular * u
        a[5] += b.linear * u
    return 0
