# log det M and its gradient by articulated bodies, O(n) (Jain, Compensating mass matrix potential
# for constrained molecular dynamics, 1997, whose potential is Fixman's).
#
# How the coded lines follow from RBDA Table 7.1:
# 1. M = L D L^T with a triangular L that has ones on its diagonal: log det M is the sum of log D_i;
#    a floating base adds log det IA_0.
# 2. A change dIA of a body's articulated inertia changes D by S^T dIA S, and what the parent gets
#    of it by dIa = (1 - K S^T) dIA (1 - S K^T), K = U / D. So it changes the sum of log D over the
#    body and its ancestors by tr(Phi dIA), with
#        Phi_i = S S^T / D + (1 - S K^T) Phi (1 - K S^T)        Phi = iXp Phi_p pXi*
#    from the base outward, Phi_0 = 0, or IA_0^-1 of a floating base: the mobility of the body.
# 3. q_i changes neither IA_i nor D_i, in the body's frame, but how the parent sees Ia_i: by
#    S x* Ia - Ia S x. That is
#        d log det M / dq_i = -2 tr(Phi Ia S x),  Phi before the joint, Ia = IA - U K^T.

from system cimport Body, System, Workspace
from spatial cimport clear, motion_to_child, natural_logarithm, put, real, unlikely
from aba cimport axis_inertia, pack, unpack
from cholesky cimport ltl_inverse
from minv cimport gains


cdef inline void mobility_before(const Body* b, real c, real s, real d, const real* parent,
                                 real* Phi) noexcept nogil:
    """Phi, (6, 6), before the joint of a body: that of its parent (21) in the body's frame."""
    cdef real[36] A
    cdef real[6] column
    cdef Py_ssize_t i, k
    unpack[real](parent, A)
    for i in range(6):                                          # Phi_p is symmetric
        motion_to_child(b, c, s, d, A + 6 * i)
    for k in range(6):
        for i in range(6):
            column[i] = A[6 * i + k]
        motion_to_child(b, c, s, d, column)
        for i in range(6):
            Phi[6 * k + i] = column[i]


cdef inline real entry(const real* Phi, const real* Ia, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """(Phi Ia)_ij of symmetric matrices."""
    cdef const real* row = Phi + 6 * i
    cdef const real* column = Ia + 6 * j
    return ((row[0] * column[0] + row[1] * column[1] + row[2] * column[2])
            + (row[3] * column[3] + row[4] * column[4] + row[5] * column[5]))


cdef inline void add_joint(const Body* b, const real* K, real reciprocal_D,
                           real* Phi) noexcept nogil:
    """Phi of a body, (6, 6), from Phi before its joint (note 2)."""
    cdef real[6] w                                              # Phi K
    cdef real share
    cdef double[6] S
    cdef Py_ssize_t i, k
    for k in range(6):
        S[k] = 0.0
    S[2], S[5] = b.angular, b.linear
    share = reciprocal_D
    for i in range(6):
        put(0.0, &w[i])
        for k in range(6):
            w[i] += Phi[6 * i + k] * K[k]
        share += K[i] * w[i]
    for i in range(6):
        for k in range(6):
            Phi[6 * i + k] += S[i] * S[k] * share - (S[i] * w[k] + w[i] * S[k])


cdef inline Py_ssize_t log_determinant(const System* system, Workspace* work, real* value,
                                       real* gradient) noexcept nogil:
    """log det M and its derivative by q, (n,), after base_axes; no mimic joints."""
    cdef const Body* b
    cdef real* kept
    cdef real[36] Phi, Ia
    cdef real[6] U, K
    cdef real D, rounding
    cdef Py_ssize_t i, j, k, failure
    failure = gains(system, work, True, <real*> work.force_set, <real*> work.D)
    if failure:
        return failure
    clear(value, 1)
    clear(gradient, system.n)
    if unlikely(system.floating):
        unpack[real](<real*> work.inertia, Ia)
        failure = ltl_inverse(6, Ia, Phi)
        if failure:
            return (failure + 2) % 6 + 1
        for k in range(6):
            value[0] += natural_logarithm(Ia[7 * k])
        pack[real](Phi, <real*> work.inertia)
    for i in range(1, system.N + 1):
        b = &system.body[i]
        kept = <real*> work.inertia + 21 * i                    # IA, and from here on Phi
        axis_inertia[real](b, kept, U, &D, &rounding)
        value[0] += natural_logarithm(D)
        for k in range(6):
            K[k] = U[k] * (<real*> work.D)[i]
        if b.grounded:
            clear(Phi, 36)
        else:
            unpack[real](kept, Ia)
            for j in range(6):
                for k in range(6):
                    Ia[6 * j + k] -= U[j] * K[k]
            mobility_before[real](b, (<real*> work.cosine)[i], (<real*> work.sine)[i],
                                  (<real*> work.d)[i], <real*> work.inertia + 21 * b.parent, Phi)
            gradient[b.dof] = -2.0 * (                           # note 3
                b.angular * (entry(Phi, Ia, 0, 1) - entry(Phi, Ia, 1, 0)
                             + entry(Phi, Ia, 3, 4) - entry(Phi, Ia, 4, 3))
                + b.linear * (entry(Phi, Ia, 0, 4) - entry(Phi, Ia, 1, 3)))
        add_joint[real](b, K, (<real*> work.D)[i], Phi)
        pack[real](Phi, kept)
    return 0
