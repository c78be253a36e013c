# The inverse of the joint-space inertia by articulated bodies: RBDA Table 7.1 under unit torques
# (Carpentier, Analytical inverse of the joint space inertia matrix, 2018).
#
# How the coded lines follow from the table:
# 1. Column j of M^-1 is the acceleration under a unit torque at joint j, of the arm at rest without
#    gravity. IA, U and D of Table 7.1 do not depend on the torque and serve all columns. With the
#    gain K = U / D, and in base coordinates, where no X is left (base_coordinates.pxd), column j is
#        towards the base, zero but for i = j and its ancestors:
#            u_i = e_ij - S_i^T pA_i            pA_p += pA_i + K_i u_i
#        away from it, only for i up to j (the rest follows by symmetry):
#            qdd_i = u_i / D_i - K_i^T a_p      a_i = a_p + S_i qdd_i
# 2. IA and U come from the recursion of Table 7.1 in body coordinates (aba.pxd); about a distant
#    point, or as differences from Ic S, they would lose digits. Only K is then transformed to base
#    coordinates.
# 3. A pass takes two registers of columns at a time (real is double), or two columns of a register
#    of states. Each operation depends on the one before, so two independent chains take no longer
#    than one.
# 4. Bodies with different roots do not move each other.
# 5. At a floating base IA^-1 takes the place of 1 / D; it is the base's own corner of M^-1, and
#    a = -IA^-1 pA.

from system cimport Body, System, Workspace
from spatial cimport (LANES, add, add_cross, always_inline, broadcast, clear, copy, lanes,
                      never_inline, real, unit_lanes, unlikely)
from aba cimport (add_body, articulated_inertia, axis_inertia, clear_sums, inertia_to_parent,
                  invert_D, unpack)
from crba cimport crba
from kinematics cimport rotate_to_base
from cholesky cimport ltl_inverse


cdef inline void in_base_coordinates(const Workspace* work, Py_ssize_t i, const real* f,
                                     real* out) noexcept nogil:
    """out = f, a force vector of body i, seen from O in the base's axes; after base_axes."""
    rotate_to_base[real](work, i, f, out)
    rotate_to_base[real](work, i, f + 3, out + 3)
    add_cross[real](<real*> work.r + 3 * i, out + 3, out)


cdef inline Py_ssize_t gains(const System* system, Workspace* work, bint keep, real* K,
                             real* D) noexcept nogil:
    """K = U / D (base coordinates), 1 / D; leaves IA of a floating base, keep: of all bodies."""
    cdef const Body* b
    cdef real[21] IA
    cdef real[6] U, U_D
    cdef real rounding
    cdef bint from_child = False
    cdef Py_ssize_t i, k, failure
    clear_sums(system, <real*> work.inertia)
    for i in range(system.N, 0, -1):                            # from the tips inward
        b = &system.body[i]
        articulated_inertia[real](b, <real*> work.inertia + 21 * i, from_child, IA)
        if keep:
            copy(IA, 21, <real*> work.inertia + 21 * i)
        axis_inertia(b, IA, U, &D[i], &rounding)
        failure = invert_D(b, <const real*> NULL, <const real*> NULL, rounding, &D[i])
        if failure:
            return failure
        for k in range(6):
            U_D[k] = U[k] * D[i]
        in_base_coordinates(work, i, U_D, K + 6 * i)
        from_child = b.follows
        if not b.grounded:
            inertia_to_parent(b, (<real*> work.cosine)[i], (<real*> work.sine)[i],
                              (<real*> work.d)[i], U, U_D, True, IA)
            if not from_child:
                add(IA, 21, <real*> work.inertia + 21 * b.parent)
    if unlikely(system.floating):
        add_body(&system.body[0], <real*> work.inertia)
    return 0


cdef inline Py_ssize_t invert_base_inertia(const Workspace* work, real* X) noexcept nogil:
    """X = IA^-1 of a floating base, (6, 6) in the order of its freedoms."""
    cdef real[36] A, B
    cdef Py_ssize_t i, k
    unpack(<real*> work.inertia, A)
    for i in range(6):
        for k in range(6):
            B[6 * i + k] = A[6 * ((i + 3) % 6) + (k + 3) % 6]
    return ltl_inverse(6, B, X)


cdef inline never_inline base_columns(const System* system, Workspace* work, Py_ssize_t first,
                                      Py_ssize_t last, real* Minv) noexcept nogil:
    """a of a floating base under unit torques, in place of pA in slot 0 (note 5)."""
    cdef lanes* p = <lanes*> work.columns + 2
    cdef lanes[12] f, a                             # (6, 2) in the order of the base's freedoms
    cdef real[3] r
    cdef Py_ssize_t n = system.n, i, j, k, c
    copy(<real*> work.r, 3, r)
    for c in range(2):
        for k in range(3):
            f[2 * k + c] = p[6 + 2 * k + c]
        f[6 + c] = p[c] - (r[1] * p[10 + c] - r[2] * p[8 + c])
        f[8 + c] = p[2 + c] - (r[2] * p[6 + c] - r[0] * p[10 + c])
        f[10 + c] = p[4 + c] - (r[0] * p[8 + c] - r[1] * p[6 + c])
    for i in range(6):
        for c in range(2):
            a[2 * i + c] = broadcast(0.0)
            for k in range(6):
                a[2 * i + c] -= Minv[i * n + k] * f[2 * k + c]
        for j in range(first, last):
            k = system.dof[j]
            if real is double:
                Minv[i * n + k] = Minv[k * n + i] = (<double*> (a + 2 * i))[j - first]
            else:
                Minv[i * n + k] = Minv[k * n + i] = a[2 * i + j - first]
    for c in range(2):
        for k in range(3):
            p[2 * k + c] = a[6 + 2 * k + c]
        p[6 + c] = a[c] + (r[1] * a[10 + c] - r[2] * a[8 + c])
        p[8 + c] = a[2 + c] + (r[2] * a[6 + c] - r[0] * a[10 + c])
        p[10 + c] = a[4 + c] + (r[0] * a[8 + c] - r[1] * a[6 + c])


cdef inline never_inline base_corner(const System* system, Workspace* work,
                                     real* Minv) noexcept nogil:
    """The corner of M^-1 of a floating base (note 5); work.failure: as minv returns."""
    cdef real[36] X
    cdef Py_ssize_t i, k
    work.failure = invert_base_inertia(work, X)
    for i in range(6):
        copy(X + 6 * i, 6, Minv + i * system.n)


cdef struct Columns:         # what a pass computes of M^-1
    Py_ssize_t first, last   # the columns of the bodies first .. last - 1
    Py_ssize_t low, high     # least and greatest of their roots: no body before low moves (note 4)


cdef inline Columns columns_of(const System* system, Py_ssize_t first,
                               Py_ssize_t last) noexcept nogil:
    cdef Columns its = Columns(first, last, system.body[first].root, system.body[first].root)
    cdef Py_ssize_t j
    for j in range(first, last):
        its.low = min(its.low, system.body[j].root)
        its.high = max(its.high, system.body[j].root)
    return its


cdef inline always_inline towards_base(const System* system, Workspace* work, Columns of,
                                       const real* force_set) noexcept nogil:
    """u of every body under the unit torques; leaves pA of a floating base in slot 0."""
    cdef const Body* b
    cdef const real* S
    cdef const real* K
    cdef lanes* x                                               # of a body: u (2), pA (6, 2)
    cdef lanes[12] p                                            # pA
    cdef lanes[2] u
    cdef bint from_child = False
    cdef Py_ssize_t i, k, c
    for i in range(of.low, of.last):
        if system.body[i].forks:
            clear[lanes](<lanes*> work.columns + 14 * i + 2, 12)
    if unlikely(system.floating):
        clear[lanes](<lanes*> work.columns + 2, 12)
    clear[lanes](p, 12)                                         # so that the compiler sees it set
    for i in range(of.last - 1, of.low - 1, -1):
        b = &system.body[i]
        if b.root < of.low or b.root > of.high:
            continue
        x = <lanes*> work.columns + 14 * i
        S = <real*> work.S + 6 * i
        K = force_set + 6 * i
        if not (from_child or b.forks or i >= of.first):        # not an ancestor
            x[0] = x[1] = broadcast(0.0)
            continue
        if not from_child:
            clear[lanes](p, 12)
        if b.forks:
            add[lanes](x + 2, 12, p)
        for c in range(2):
            u[c] = -(S[0] * p[c] + S[1] * p[2 + c] + S[2] * p[4 + c]) \
                - (S[3] * p[6 + c] + S[4] * p[8 + c] + S[5] * p[10 + c])
            if i >= of.first:
                if real is double:
                    u[c] += unit_lanes(i - of.first - c * LANES)
                else:
                    u[c] += broadcast(1.0 if i - of.first == c else 0.0)
            x[c] = u[c]
        for k in range(6):
            for c in range(2):
                p[2 * k + c] += K[k] * u[c]
        from_child = b.follows
        if not from_child and not b.grounded:
            add[lanes](p, 12, <lanes*> work.columns + 14 * b.parent + 2)


cdef inline always_inline from_base(const System* system, Workspace* work, Columns of,
                                    real* Minv) noexcept nogil:
    """qdd of every body: the columns down to the diagonal, and by symmetry the rows."""
    cdef const Body* b
    cdef const real* S
    cdef const real* K
    cdef lanes* x                                   # of a body: u, then qdd (2); a (6, 2)
    cdef lanes[12] a
    cdef lanes[2] u
    cdef real d
    cdef Py_ssize_t n = system.n, i, j, k, c
    for i in range(of.low, of.last):
        b = &system.body[i]
        if b.root < of.low or b.root > of.high:
            continue
        x = <lanes*> work.columns + 14 * i
        S = <real*> work.S + 6 * i
        K = <real*> work.force_set + 6 * i
        d = (<real*> work.D)[i]
        if b.grounded:
            clear[lanes](a, 12)
        elif not b.follows:
            copy[lanes](<lanes*> work.columns + 14 * b.parent + 2, 12, a)
        for c in range(2):
            u[c] = (d * x[c] - K[0] * a[c] - K[1] * a[2 + c] - K[2] * a[4 + c]) \
                - (K[3] * a[6 + c] + K[4] * a[8 + c] + K[5] * a[10 + c])
            x[c] = u[c]
        for k in range(6):
            for c in range(2):
                a[2 * k + c] += S[k] * u[c]
        if b.forks:
            copy[lanes](a, 12, x + 2)
        for j in range(max(i, of.first), of.last):
            k = system.dof[j]
            if real is double:
                Minv[b.dof * n + k] = Minv[k * n + b.dof] = (<double*> x)[j - of.first]
            else:
                Minv[b.dof * n + k] = Minv[k * n + b.dof] = x[j - of.first]


cdef inline Py_ssize_t minv(const System* system, Workspace* work, real* Minv) noexcept nogil:
    """M(q)^-1, (n, n), after base_axes; O(n^2), with mimic joints by M, O(n^3)."""
    cdef Columns columns
    # note 3
    cdef Py_ssize_t n = system.n, width = 2 * LANES if real is double else 2, first = 1, failure
    if system.coupled:
        crba(system, work, <real*> work.H)
        return ltl_inverse(n, <real*> work.H, Minv)
    failure = gains(system, work, False, <real*> work.force_set, <real*> work.D)
    if failure:
        return failure
    clear(Minv, n * n)
    if unlikely(system.floating):
        base_corner(system, work, Minv)
        if work.failure:
            return work.failure
    while first <= system.N:
        columns = columns_of(system, first, min(first + width, system.N + 1))
        towards_base(system, work, columns, <const real*> work.force_set)
        if unlikely(system.floating):
            base_columns(system, work, columns.first, columns.last, Minv)
        from_base(system, work, columns, Minv)
        first = columns.last
    return 0
