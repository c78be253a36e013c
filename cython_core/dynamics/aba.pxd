# The Articulated-Body Algorithm, RBDA Table 7.1. Row by row as in the book:
# test/reference/featherstone.py.
#
# How the coded lines follow from the table:
# 1. Accelerations are counted from those at qdd = 0, a0, which the first loop of Table 5.1 gives
#    (rnea.pxd). With a = a0 + a', body i needs the force  f0 + I a',  and  a'_i = iXp a'_p + S
#    qdd  has no velocity-product term c. So
#        pA = f0         U = IA S         D = S^T U        u = tau - S^T pA
#        Ia = IA - U U^T / D              pa = pA + U u / D
#        IA_p += pXi* Ia iXp              pA_p += pXi* pa
#        a' = iXp a'_p                    qdd = (u - U^T a') / D
#        a' = a' + S qdd                  a'_0 = 0
# 2. An inertia on the joint's own axis (armature, or the h damping of an implicit integrator) adds
#    to D alone.
# 3. IA = [I H; H^T M] keeps 6 + 9 + 6 numbers. Seen from a point p away, P = [p]x, with G = H + P M
#    / 2:
#        M,    H + P M,    I - G P - (G P)^T.
# 4. A revolute joint leaves Ia S = 0: the row of I and of H along its axis need not be computed,
#    turned or stored.
# 5. A D of the size of the rounding error of IA stands for zero: nothing resists the joint's
#    acceleration.
# 6. A joint may be held, a' = iXp a'_p whatever torque that takes: 1 / D = 0 says so, and leaves Ia
#    = IA and pa = pA.
# 7. What a body hands to the next slot stays in local variables; the workspace holds the sums of a
#    body that forks.
# 8. A floating base has S = 1: in place of u and D it has the 6 x 6 system  IA a' = tau - pA  (RBDA
#    section 9.4).

from libc.float cimport DBL_EPSILON

from system cimport SHIFT_ALONG_X, SHIFT_GENERAL, Body, System, Workspace
from spatial cimport (add, always_inline, at_most, clear, copy, force_to_parent, magnitude,
                      motion_to_child, never_inline, put, real, reciprocal, turn_pair, turn_plane,
                      twist_general, twist_symmetric, unlikely)
from cholesky cimport ltl_solve


cdef inline always_inline shift_along_z(real d, real* IA) noexcept nogil:
    """IA as seen from -d z (note 3 with p = d z)."""
    cdef real* H = IA + 6
    cdef real* M = IA + 15
    cdef real[4] G2                                             # 2 G = 2 H + P M
    G2[0] = 2.0 * H[0] - d * M[1]
    G2[1] = 2.0 * H[1] - d * M[3]
    G2[2] = 2.0 * H[3] + d * M[0]
    G2[3] = 2.0 * H[4] + d * M[1]
    IA[0] -= d * G2[1]
    IA[1] += 0.5 * d * (G2[0] - G2[3])
    IA[3] += d * G2[2]
    IA[2] -= d * H[7]
    IA[4] += d * H[6]
    H[0] -= d * M[1]
    H[1] -= d * M[3]
    H[2] -= d * M[4]
    H[3] += d * M[0]
    H[4] += d * M[1]
    H[5] += d * M[2]


cdef inline always_inline shift_along_x(double s, real* IA) noexcept nogil:
    """IA as seen from -s x (note 3 with p = s x)."""
    cdef real* H = IA + 6
    cdef real* M = IA + 15
    cdef real[4] G2                                             # 2 G = 2 H + P M
    G2[0] = 2.0 * H[4] - s * M[4]
    G2[1] = 2.0 * H[5] - s * M[5]
    G2[2] = 2.0 * H[7] + s * M[3]
    G2[3] = 2.0 * H[8] + s * M[4]
    IA[3] -= s * G2[1]
    IA[4] += 0.5 * s * (G2[0] - G2[3])
    IA[5] += s * G2[2]
    IA[1] -= s * H[2]
    IA[2] += s * H[1]
    H[3] -= s * M[2]
    H[4] -= s * M[4]
    H[5] -= s * M[5]
    H[6] += s * M[1]
    H[7] += s * M[3]
    H[8] += s * M[4]


cdef inline always_inline shift(const double* p, real* IA) noexcept nogil:
    """IA as seen from -p (note 3)."""
    cdef real[9] G, K
    cdef real* H = IA + 6
    cdef real* M = IA + 15
    cdef Py_ssize_t k
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
        H[k] += K[k]
    IA[0] -= 2.0 * (G[1] * p[2] - G[2] * p[1])                  # -G P - (G P)^T
    IA[1] -= (G[2] * p[0] - G[0] * p[2]) + (G[4] * p[2] - G[5] * p[1])
    IA[2] -= (G[0] * p[1] - G[1] * p[0]) + (G[7] * p[2] - G[8] * p[1])
    IA[3] -= 2.0 * (G[5] * p[0] - G[3] * p[2])
    IA[4] -= (G[3] * p[1] - G[4] * p[0]) + (G[8] * p[0] - G[6] * p[2])
    IA[5] -= 2.0 * (G[6] * p[1] - G[7] * p[0])


cdef inline always_inline add_body(const Body* b, real* IA) noexcept nogil:
    """IA += I of the body itself: rotational inertia, H = [h]x, M = mass 1."""
    cdef Py_ssize_t k
    for k in range(6):
        IA[k] += b.inertia[k]
    IA[7] -= b.h[2]
    IA[8] += b.h[1]
    IA[9] += b.h[2]
    IA[11] -= b.h[0]
    IA[12] -= b.h[1]
    IA[13] += b.h[0]
    IA[15] += b.mass
    IA[18] += b.mass
    IA[20] += b.mass


cdef inline always_inline axis_inertia(const Body* b, const real* IA, real* U, real* D,
                                       real* rounding) noexcept nogil:
    """U = IA S, D = S^T U, and what D's rounding error is measured by (note 5)."""
    if b.revolute:
        U[0] = IA[2]
        U[1] = IA[4]
        U[2] = IA[5]
        U[3] = IA[12]
        U[4] = IA[13]
        U[5] = IA[14]
        D[0] = U[2]
        rounding[0] = magnitude(IA[0]) + magnitude(IA[3]) + magnitude(IA[5])
    else:
        U[0] = b.angular * IA[2] + b.linear * IA[8]
        U[1] = b.angular * IA[4] + b.linear * IA[11]
        U[2] = b.angular * IA[5] + b.linear * IA[14]
        U[3] = b.angular * IA[12] + b.linear * IA[17]
        U[4] = b.angular * IA[13] + b.linear * IA[19]
        U[5] = b.angular * IA[14] + b.linear * IA[20]
        D[0] = b.angular * U[2] + b.linear * U[5]
        rounding[0] = (b.angular * b.angular
                       * (magnitude(IA[0]) + magnitude(IA[3]) + magnitude(IA[5]))
                       + b.linear * b.linear
                       * (magnitude(IA[15]) + magnitude(IA[18]) + magnitude(IA[20])))


cdef inline always_inline beyond_joint(real c, real s, const real* U, const real* K, bint free,
                                       real* IA) noexcept nogil:
    """IA <- Ia = IA - U K^T, in axes that theta does not turn; free: Ia S = 0 (note 4)."""
    cdef real* H = IA + 6
    cdef real* M = IA + 15
    cdef real ss = s * s, cs = c * s
    cdef Py_ssize_t k
    M[0] -= U[3] * K[3]
    M[1] -= U[3] * K[4]
    M[2] -= U[3] * K[5]
    M[3] -= U[4] * K[4]
    M[4] -= U[4] * K[5]
    M[5] -= U[5] * K[5]
    turn_plane(ss, cs, M, 0, 1, 1, 3)
    turn_pair(c, s, M, 2, 4)
    for k in range(3):
        H[k] -= K[0] * U[3 + k]
        H[3 + k] -= K[1] * U[3 + k]
    turn_plane(ss, cs, H, 0, 1, 3, 4)
    turn_pair(c, s, H, 2, 5)
    IA[0] -= U[0] * K[0]
    IA[1] -= U[0] * K[1]
    IA[3] -= U[1] * K[1]
    turn_plane(ss, cs, IA, 0, 1, 1, 3)
    if free:
        clear(H + 6, 3)
        put(0.0, &IA[2])
        put(0.0, &IA[4])
        put(0.0, &IA[5])
    else:
        for k in range(3):
            H[6 + k] -= K[2] * U[3 + k]
        turn_pair(c, s, H, 6, 7)
        IA[2] -= U[0] * K[2]
        IA[4] -= U[1] * K[2]
        IA[5] -= U[2] * K[2]
        turn_pair(c, s, IA, 2, 4)


cdef inline always_inline inertia_to_parent(const Body* b, real c, real s, real d, const real* U,
                                            const real* K, bint bare, real* IA) noexcept nogil:
    """IA <- pXi* Ia iXp, what the body is to its parent; K = U / D. bare: D = S^T U and no more."""
    beyond_joint(c, s, U, K, b.revolute and bare, IA)
    if b.offset:
        shift_along_z(d, IA)
    twist_symmetric(b, IA + 15)
    twist_general(b, IA + 6)
    twist_symmetric(b, IA)
    if b.shift == SHIFT_GENERAL:
        shift(b.s, IA)
    elif b.shift == SHIFT_ALONG_X:
        shift_along_x(b.s[0], IA)


cdef inline void unpack(const real* IA, real* A) noexcept nogil:
    """A, (6, 6) row by row, of the 21 numbers of IA (note 3)."""
    cdef Py_ssize_t i, j, k = 0
    for i in range(3):
        for j in range(i, 3):
            A[6 * i + j] = A[6 * j + i] = IA[k]
            A[6 * (3 + i) + 3 + j] = A[6 * (3 + j) + 3 + i] = IA[15 + k]
            k += 1
        for j in range(3):
            A[6 * i + 3 + j] = A[6 * (3 + j) + i] = IA[6 + 3 * i + j]


cdef inline void pack(const real* A, real* IA) noexcept nogil:
    """The inverse of unpack: the 21 numbers of a symmetric A, (6, 6)."""
    cdef Py_ssize_t i, j, k = 0
    for i in range(3):
        for j in range(i, 3):
            IA[k] = A[6 * i + j]
            IA[15 + k] = A[6 * (3 + i) + 3 + j]
            k += 1
        for j in range(3):
            IA[6 + 3 * i + j] = A[6 * i + 3 + j]


cdef inline never_inline base_acceleration(const System* system, Workspace* work, const real* tau,
                                           const real* held, real* qdd) noexcept nogil:
    """a' of a floating base (note 8) and its qdd; work.failure: as aba returns."""
    cdef real* a = <real*> work.a
    cdef real[36] A
    cdef Py_ssize_t i, k
    add_body(&system.body[0], <real*> work.inertia)
    unpack(<real*> work.inertia, A)
    for k in range(6):
        a[k] = tau[(3 + k) % 6] - (<real*> work.f)[k]
    if held != NULL:  # note 6: rows and columns become those of 1
        for k in range(6):
            a[k] *= 1.0 - held[(3 + k) % 6]
            for i in range(6):
                A[6 * k + i] *= (1.0 - held[(3 + k) % 6]) * (1.0 - held[(3 + i) % 6])
            A[7 * k] += held[(3 + k) % 6]
    work.failure = ltl_solve(6, A, a)
    if not work.failure:
        for k in range(6):
            qdd[(3 + k) % 6] = a[k]


cdef inline void clear_sums(const System* system, real* IA) noexcept nogil:
    """Rows IA of the bodies that fork (note 7)."""
    cdef Py_ssize_t i
    for i in range(system.ground + 1, system.N + 1):
        if system.body[i].forks:
            clear(IA + 21 * i, 21)


cdef inline always_inline articulated_inertia(const Body* b, const real* sums, bint from_child,
                                              real* IA) noexcept nogil:
    """IA of a body: its own, and its children's; from_child: see note 7."""
    if not from_child:
        clear(IA, 21)
    if b.forks:
        add(sums, 21, IA)
    add_body(b, IA)


cdef inline real free_torque(const Body* b, real tau, const real* pA) noexcept nogil:
    """u = tau - S^T pA."""
    if b.revolute:
        return tau - pA[2]
    return tau - b.angular * pA[2] - b.linear * pA[5]


cdef inline Py_ssize_t invert_D(const Body* b, const real* armature, const real* held,
                                real rounding, real* D) noexcept nogil:
    """D <- 1 / D. armature, held: as for aba."""
    if armature != NULL:
        D[0] = D[0] + armature[b.dof]                           # note 2
    if held != NULL:                                            # note 6
        D[0] = D[0] + held[b.dof] * (1.0 + rounding)
    if at_most(magnitude(D[0]), 8 * DBL_EPSILON * rounding):
        return 1 + b.dof
    D[0] = reciprocal(D[0])
    if held != NULL:
        D[0] = D[0] * (1.0 - held[b.dof])
    return 0


cdef inline Py_ssize_t towards_base(const System* system, Workspace* work, const real* tau,
                                    const real* armature, const real* held) noexcept nogil:
    """Rows u / D and U / D of every body: the second loop of Table 7.1."""
    cdef const Body* b
    cdef real[21] IA
    cdef real[6] pA, U
    cdef real* K
    cdef real c, s, D, u, rounding
    cdef bint from_child = False
    cdef Py_ssize_t i, k, failure
    clear_sums(system, <real*> work.inertia)
    for i in range(system.N, 0, -1):
        b = &system.body[i]
        c = (<real*> work.cosine)[i]
        s = (<real*> work.sine)[i]
        articulated_inertia[real](b, <real*> work.inertia + 21 * i, from_child, IA)
        if not from_child:
            clear(pA, 6)
        add(<real*> work.f + 6 * i, 6, pA)
        axis_inertia(b, IA, U, &D, &rounding)
        u = free_torque[real](b, tau[b.dof], pA)
        failure = invert_D(b, armature, held, rounding, &D)
        if failure:
            return failure
        (<real*> work.u)[i] = u * D
        K = <real*> work.force_set + 6 * i
        for k in range(6):
            K[k] = U[k] * D
        from_child = b.follows
        if b.grounded:
            continue
        for k in range(6):                                      # pa = pA + U u / D
            pA[k] += K[k] * u
        inertia_to_parent(b, c, s, (<real*> work.d)[i], U, K, armature == NULL and held == NULL, IA)
        force_to_parent(b, c, s, (<real*> work.d)[i], pA)
        if not from_child:
            add(IA, 21, <real*> work.inertia + 21 * b.parent)
            add(pA, 6, <real*> work.f + 6 * b.parent)
    return 0


cdef inline void from_base(const System* system, Workspace* work, real* qdd) noexcept nogil:
    """a' and qdd of every body: the last loop of Table 7.1."""
    cdef const Body* b
    cdef const real* K
    cdef real[6] a
    cdef real u
    cdef Py_ssize_t i
    clear(a, 6)
    for i in range(1, system.N + 1):
        b = &system.body[i]
        u = (<real*> work.u)[i]
        if b.grounded:
            clear(a, 6)                                         # a'_0 = 0
        else:
            if not b.follows:
                copy(<real*> work.a + 6 * b.parent, 6, a)
            motion_to_child(b, (<real*> work.cosine)[i], (<real*> work.sine)[i],
                            (<real*> work.d)[i], a)
            K = <real*> work.force_set + 6 * i
            u = ((u - (K[0] * a[0] + K[1] * a[1]))
                 - ((K[2] * a[2] + K[3] * a[3]) + (K[4] * a[4] + K[5] * a[5])))
        qdd[b.dof] = u
        if b.revolute:
            a[2] += u
        else:
            a[2] += b.angular * u
            a[5] += b.linear * u
        if b.forks:
            copy(a, 6, <real*> work.a + 6 * i)


cdef inline Py_ssize_t aba(const System* system, Workspace* work, const real* tau,
                           const real* armature, const real* held, real* qdd) noexcept nogil:
    """qdd = (H + diag(armature))^-1 (tau - C), after jcalc for q and body_forces with qdd = 0; no
    mimic joints.

    armature: (n,) or NULL. held: (n,) 1 for a joint that is held (its qdd is 0), else 0; or NULL.
    tau and qdd may be the same memory. Returns 1 + the index of a freedom whose D is zero (note 5),
    in any lane (qdd is then not written), or 0.
    """
    cdef Py_ssize_t failure = towards_base(system, work, tau, armature, held)
    if failure:
        return failure
    if unlikely(system.floating):
        base_acceleration(system, work, tau, held, qdd)
        if work.failure:
            return work.failure
    from_base(system, work, qdd)
    return 0
