# Derivatives of inverse and forward dynamics: Singh, Russell and Wensing, Efficient analytical
# derivatives of rigid-body dynamics using spatial vector algebra, 2022; forward dynamics by
# Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018.
#
# How the coded lines follow from the sources:
# 1. For joint i, and joint j on its path to the base (j = i included), with I_i, B_i, f_i summed
#    over i's subtree:
#        dtau_i/dq_j  = S_i^T (I_i Psi_ddot_j + 2 B_i Psi_dot_j)
#        dtau_j/dq_i  = S_j^T (I_i Psi_ddot_i + 2 B_i Psi_dot_i + S_i x* f_i)
#        dtau_i/dqd_j = 2 S_i^T (I_i Psi_dot_j + B_i S_j)
#        dtau_j/dqd_i = 2 S_j^T (I_i Psi_dot_i + B_i S_i)
#        M_ij = M_ji  = S_j^T I_i S_i
#        Psi_dot_j    = v_p(j) x S_j
#        Psi_ddot_j   = a_p(j) x S_j + v_p(j) x Psi_dot_j
#    and zero for joints on different branches. a_0 = -gravity. (For one freedom, v_i x S_i is
#    Psi_dot_i as well.)
# 2. B keeps twelve numbers and S^T B three (coriolis.pxd, note 3), and v x* I v = B v.
# 3. S is per unit of q[dof], and what a body contributes is summed by dof: G^T (.) G of a coupled
#    system.
# 4. tau = ID(q, qd, FD(q, qd, tau)) for all q, qd gives  dqdd/dx = -M^-1 dtau/dx  at qdd = FD(q,
#    qd, tau).
# 5. Of a floating base with its S about its own origin, Psi_dot = 0 and S_dot = v x S
#    (base_coordinates.pxd): its columns have I S_dot in place of one of two I Psi_dot, so
#    that  dtau_i/dqd_0 = S_i^T (I_i S_dot_0 + 2 B_i S_0), and Psi_ddot_0 = a_0 x S with a_0 =
#    -gravity: dtau_i/dq_0 is zero along the base's axes and gravity x F about them, F the force of
#    I_i S_i. q_0 is the base's displacement in its own axes, as its velocity is.

from system cimport Body, System, Workspace
from spatial cimport (LANES, add, always_inline, broadcast, clear, copy, lanes, never_inline, put,
                      real, unlikely)
from base_coordinates cimport (base_acceleration_of, base_freedom, cross, dot, force_cross,
                               force_on_base, force_per_base_rate, motion_cross, times_inertia,
                               velocities)
from joint cimport gravity_in_base
from external_forces cimport add_external_stiffness
from coriolis cimport add_coriolis, body_coriolis
from forward_dynamics cimport forward_dynamics
from minv cimport minv


cdef inline never_inline begin_at_base(const System* system, Workspace* work,
                                       const real* qdd) noexcept nogil:
    """a, B and f of a floating base, as from_base leaves them for a body."""
    base_acceleration_of(system, work, qdd)
    body_coriolis[real](<real*> work.base_inertia, <real*> work.velocity, <real*> work.B)
    times_inertia[real](<real*> work.base_inertia, <real*> work.acceleration, <real*> work.f)
    add_coriolis[real](<real*> work.B, <real*> work.velocity, <real*> work.f)


cdef inline always_inline subtree_forces(const Workspace* work, Py_ssize_t i, real* F_q, real* F_qd,
                                         real* F_qdd, real* w) noexcept nogil:
    """Columns: the force on body i's subtree per unit of q_i, qd_i and qdd_i. Row w = S^T 2 B,
    whose linear part is zero.

    The columns are what note 1 multiplies by S_j^T; the sums over the subtree must be complete.
    """
    cdef const real* S = <real*> work.S + 6 * i
    cdef const real* Psi_dot = <real*> work.Psi_dot + 6 * i
    cdef const real* I = <real*> work.base_inertia + 10 * i
    cdef const real* B = <real*> work.B + 12 * i
    cdef real[6] t
    cdef Py_ssize_t k
    times_inertia(I, S, F_qdd)
    times_inertia(I, Psi_dot, F_qd)
    add_coriolis(B, S, F_qd)
    times_inertia[real](I, <real*> work.Psi_ddot + 6 * i, F_q)
    force_cross[real](S, <real*> work.f + 6 * i, t)
    add(t, 6, F_q)
    for k in range(6):
        F_qd[k] *= 2.0
        t[k] = 2.0 * Psi_dot[k]
    add_coriolis(B, t, F_q)
    cross(B + 9, S + 3, w)
    for k in range(3):
        w[k] = 2.0 * (w[k] + B[k] * S[0] + B[3 + k] * S[1] + B[6 + k] * S[2])


cdef inline always_inline add_freedom(const System* system, const Workspace* work, Py_ssize_t i,
                                      real* dtau_dq, real* dtau_dqd, real* M) noexcept nogil:
    """What body i adds where its freedom meets its own and those of its ancestors j (note 1)."""
    cdef real[6] F_q, F_qd, F_qdd
    cdef real[3] w
    cdef const real* S
    cdef const real* Psi_dot
    cdef const real* Psi_ddot
    cdef Py_ssize_t n = system.n, dof = system.body[i].dof, j = i, row, column
    subtree_forces(work, i, F_q, F_qd, F_qdd, w)
    while j > 0:
        row = dof * n + system.body[j].dof                      # i, j
        column = system.body[j].dof * n + dof                   # j, i
        S = <real*> work.S + 6 * j
        Psi_dot = <real*> work.Psi_dot + 6 * j
        Psi_ddot = <real*> work.Psi_ddot + 6 * j
        dtau_dq[column] += dot(S, F_q)
        dtau_dqd[column] += dot(S, F_qd)
        if M != NULL:
            M[column] += dot(S, F_qdd)
        if j != i:
            dtau_dq[row] += (dot(F_qdd, Psi_ddot)
                             + (w[0] * Psi_dot[0] + w[1] * Psi_dot[1] + w[2] * Psi_dot[2]))
            dtau_dqd[row] += 2.0 * dot(F_qdd, Psi_dot) + (w[0] * S[0] + w[1] * S[1] + w[2] * S[2])
            if M != NULL:
                M[row] += dot(S, F_qdd)
        j = system.body[j].parent


cdef inline never_inline base_coupling(const System* system, const Workspace* work, real* dtau_dq,
                                       real* dtau_dqd, real* M) noexcept nogil:
    """Columns and rows of the joints where they meet a floating base's freedoms (note 5)."""
    cdef real[6] F_q, F_qd, F_qdd, by_q, by_qd, by_qdd, row
    cdef real[3] w, g, turned
    cdef Py_ssize_t n = system.n, slot, i, k
    gravity_in_base(system, work, g)
    for slot in range(system.N, 0, -1):
        i = system.body[slot].dof
        subtree_forces(work, slot, F_q, F_qd, F_qdd, w)
        force_on_base(work, F_q, by_q)
        force_on_base(work, F_qd, by_qd)
        force_on_base(work, F_qdd, by_qdd)
        force_per_base_rate(work, F_qdd, row)
        cross(g, F_qdd + 3, turned)
        for k in range(6):
            dtau_dq[k * n + i] += by_q[k]
            dtau_dqd[k * n + i] += by_qd[k]
            dtau_dqd[i * n + k] += row[k]
            if M != NULL:
                M[k * n + i] += by_qdd[k]
                M[i * n + k] += by_qdd[k]
        for k in range(3):
            dtau_dq[i * n + 3 + k] += turned[k]
            dtau_dqd[i * n + 3 + k] += w[k]


cdef inline never_inline base_corner(const System* system, const Workspace* work, real* dtau_dq,
                                     real* dtau_dqd, real* M) noexcept nogil:
    """The corners of a floating base, after the sums over all bodies (note 5)."""
    cdef real[6] S, S_dot, f, by_qd, by_qdd
    cdef real[3] g, turned
    cdef Py_ssize_t n = system.n, i, k
    gravity_in_base(system, work, g)
    for i in range(6):
        base_freedom(work, i, S)
        times_inertia[real](<real*> work.base_inertia, S, f)
        force_on_base(work, f, by_qdd)
        cross(g, f + 3, turned)
        motion_cross[real](<real*> work.velocity, S, S_dot)
        times_inertia[real](<real*> work.base_inertia, S_dot, f)
        for k in range(6):
            S[k] *= 2.0
        add_coriolis[real](<real*> work.B, S, f)
        force_on_base(work, f, by_qd)
        for k in range(6):
            dtau_dqd[k * n + i] = by_qd[k]
            if M != NULL:
                M[k * n + i] = by_qdd[k]
        copy(turned, 3, dtau_dq + i * n + 3)


cdef inline always_inline from_base(const System* system, Workspace* work, const real* qd,
                                    const real* qdd) noexcept nogil:
    """Psi_ddot, a, B and f of every body, not yet summed over its subtree; after velocities."""
    cdef const Body* b
    cdef const real* S
    cdef const real* Psi_dot
    cdef const real* a_p
    cdef real* Psi_ddot
    cdef real* a
    cdef real* I
    cdef real* B
    cdef real* f
    cdef real[6] t
    cdef Py_ssize_t i, k
    for i in range(1, system.N + 1):
        b = &system.body[i]
        S = <real*> work.S + 6 * i
        Psi_dot = <real*> work.Psi_dot + 6 * i
        Psi_ddot = <real*> work.Psi_ddot + 6 * i
        a_p = <real*> work.acceleration + 6 * b.parent
        a = <real*> work.acceleration + 6 * i
        I = <real*> work.base_inertia + 10 * i
        B = <real*> work.B + 12 * i
        f = <real*> work.f + 6 * i
        motion_cross(a_p, S, Psi_ddot)
        motion_cross[real](<real*> work.velocity + 6 * b.parent, Psi_dot, t)
        for k in range(6):
            Psi_ddot[k] += t[k]
            a[k] = a_p[k] + S[k] * qdd[b.dof] + Psi_dot[k] * qd[b.dof]
        body_coriolis[real](I, <real*> work.velocity + 6 * i, B)
        times_inertia(I, a, f)
        add_coriolis[real](B, <real*> work.velocity + 6 * i, f)


cdef inline void rnea_derivatives(const System* system, Workspace* work, const real* qd,
                                  const real* qdd, real* dtau_dq, real* dtau_dqd,
                                  real* M) noexcept nogil:
    """dtau/dq, dtau/dqd and dtau/dqdd = M of tau = ID(q, qd, qdd), (n, n) each, after
    base_coordinates.

    M may be NULL. Leaves the sums over subtrees in base_inertia, B and f.
    """
    cdef const Body* b
    cdef Py_ssize_t n = system.n, i, k
    for k in range(n * n):
        put(0.0, &dtau_dq[k])
        put(0.0, &dtau_dqd[k])
    if M != NULL:
        clear(M, n * n)
    velocities(system, work, qd)
    if unlikely(system.floating):
        begin_at_base(system, work, qdd)
    from_base(system, work, qd, qdd)
    for i in range(system.N, 0, -1):                            # from the tips inward
        b = &system.body[i]
        add_freedom(system, work, i, dtau_dq, dtau_dqd, M)
        if not b.grounded:
            add(<real*> work.base_inertia + 10 * i, 10, <real*> work.base_inertia + 10 * b.parent)
            add(<real*> work.B + 12 * i, 12, <real*> work.B + 12 * b.parent)
            add(<real*> work.f + 6 * i, 6, <real*> work.f + 6 * b.parent)
    if unlikely(system.floating):
        base_coupling(system, work, dtau_dq, dtau_dqd, M)
        base_corner(system, work, dtau_dq, dtau_dqd, M)


cdef inline always_inline add_four_rows(const real* A, const Py_ssize_t* rows, Py_ssize_t low,
                                        Py_ssize_t high, const lanes* columns,
                                        lanes* sums) noexcept nogil:
    """sums (4, 2) = -A columns of four rows of A, given by where they begin; columns: (n, 2)."""
    cdef Py_ssize_t j, row, c
    clear[lanes](sums, 8)
    for j in range(low, high):
        for row in range(4):
            for c in range(2):
                sums[2 * row + c] -= A[rows[row] + j] * columns[2 * j + c]


cdef inline void negative_product(const System* system, const real* A, real* X,
                                  lanes* columns) noexcept nogil:
    """X <- -A X, (n, n) each, both zero where joints do not share a root. columns: (n, 2) scratch.

    Takes two registers of columns at a time, or two columns of a register of states, and four rows:
    eight sums, so that none waits for its last addition, and each number read serves several.
    """
    cdef lanes[8] sums
    cdef Py_ssize_t[4] rows
    cdef Py_ssize_t n = system.n, width = 2 * LANES if real is double else 2, first = 0, last, low
    cdef Py_ssize_t high, i, j, k, row
    while first < n:
        last = min(first + width, n)
        low = n
        high = 0
        for j in range(first, last):
            low = min(low, system.reach[2 * j])
            high = max(high, system.reach[2 * j + 1])
        for i in range(low, high):
            if real is double:
                columns[2 * i] = broadcast(0.0)
                columns[2 * i + 1] = broadcast(0.0)
                for k in range(last - first):
                    (<double*> (columns + 2 * i))[k] = X[i * n + first + k]
            else:
                for k in range(last - first):
                    columns[2 * i + k] = X[i * n + first + k]
        for i in range(low, high, 4):
            for row in range(4):
                rows[row] = n * min(i + row, high - 1)
            add_four_rows(A, rows, low, high, columns, sums)
            for row in range(min(4, high - i)):
                for k in range(last - first):
                    if real is double:
                        X[rows[row] + first + k] = (<double*> (sums + 2 * row))[k]
                    else:
                        X[rows[row] + first + k] = sums[2 * row + k]
        first = last


cdef inline Py_ssize_t aba_derivatives(const System* system, Workspace* work, const real* qd,
                                       const real* tau, const real* f_ext, real* dqdd_dq,
                                       real* dqdd_dqd, real* Minv) noexcept nogil:
    """dqdd/dq, dqdd/dqd and dqdd/dtau = M^-1 of qdd = FD(q, qd, tau), (n, n) each, after
    base_coordinates (note 4).

    f_ext: as for rnea.
    """
    cdef real* qdd = <real*> work.qdd
    cdef Py_ssize_t failure = minv(system, work, Minv)
    if failure:
        return failure
    # Minv (tau - C) would lose as many digits as M's condition number has.
    failure = forward_dynamics(system, work, qd, tau, f_ext, <const real*> NULL, qdd)
    if failure:
        return failure
    rnea_derivatives(system, work, qd, qdd, dqdd_dq, dqdd_dqd, <real*> NULL)
    if f_ext != NULL:
        add_external_stiffness(system, work, f_ext, dqdd_dq)
    negative_product(system, Minv, dqdd_dq, <lanes*> work.columns)
    negative_product(system, Minv, dqdd_dqd, <lanes*> work.columns)
    return 0
