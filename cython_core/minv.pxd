# The inverse of the joint-space inertia by articulated bodies: RBDA Table 7.1 under unit torques (Carpentier,
# Analytical inverse of the joint space inertia matrix, 2018).
#
# How the coded lines follow from the table:
# 1. Column j of M^-1 is the acceleration under a unit torque at joint j, of the arm at rest without gravity. IA, U and
#    D of Table 7.1 do not depend on the torque and serve all columns. With the gain K = U / D, and in base coordinates,
#    where no X is left (base_coordinates.pxd), column j is
#        u_i = e_ij - S_i^T pA_i      pA_p += pA_i + K_i u_i         towards the base: zero but for ancestors i of j
#        qdd_i = u_i / D_i - K_i^T a_p      a_i = a_p + S_i qdd_i    away from it: by symmetry as far as j suffices
# 2. IA itself is not needed, only U = IA S. The recursion IA_p += IA - U K^T, written out for all bodies k beyond i,
#    says IA_i = Ic_i - sum U_k K_k^T, where Ic is the composite inertia of Table 6.2. So
#        U_i = Ic_i S_i - sum U_k (K_k^T S_i)      D_i = S_i^T U_i = S_i^T Ic_i S_i - sum (U_k^T S_i)^2 / D_k.
# 3. A pass takes two registers of columns at a time (real is double), or two columns of a register of states: where
#    each operation waits for the one before, two take no longer than one.
# 4. Bodies with different roots do not move each other.
# 5. A D of the size of the rounding error of Ic, as seen from O, stands for zero, as in aba.pxd.

from libc.float cimport DBL_EPSILON

from system cimport Body, System, Workspace
from spatial cimport LANES, real, lanes, add_cross, at_most, broadcast, magnitude, put, reciprocal, unit_lanes
from base_coordinates cimport dot
from crba cimport axis_force, composite_inertias, crba
from kinematics cimport rotate_to_base
from cholesky cimport ltl_inverse


cdef inline void composite_forces(const System* system, Workspace* work, real* U, real* D, real* size) noexcept nogil:
    """U = Ic S in base coordinates, D = S^T U, and the size of the terms that D is the sum of; after base_axes."""
    cdef const Body* b
    cdef const real* r
    cdef const real* Ic
    cdef real[6] F
    cdef Py_ssize_t i
    composite_inertias[real](system, work, <real*> work.inertia)
    for i in range(1, system.N + 1):
        b = &system.body[i]
        r = <real*> work.r + 3 * i
        Ic = <real*> work.inertia + 10 * i
        axis_force(b, Ic, F)
        rotate_to_base[real](work, i, F, U + 6 * i)
        rotate_to_base[real](work, i, F + 3, U + 6 * i + 3)
        add_cross[real](r, U + 6 * i + 3, U + 6 * i)
        D[i] = b.angular * F[2] + b.linear * F[5]
        size[i] = b.linear * b.linear * Ic[9] \
            + b.angular * b.angular * (Ic[0] + Ic[3] + Ic[5] + Ic[9] * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]))


cdef inline Py_ssize_t gains(const System* system, Workspace* work, real* K, real* D) noexcept nogil:
    """K = U / D and 1 / D of every joint, after base_axes (note 2).

    Returns the slot of a joint whose D is zero (note 5), in any lane, else 0.
    """
    cdef const real* S = <real*> work.S
    cdef real* U = <real*> work.U
    cdef real[6] u
    cdef real* size = <real*> work.u
    cdef real d, h, t
    cdef Py_ssize_t i, j, k
    composite_forces(system, work, U, D, size)
    for i in range(system.N, 0, -1):                            # from the tips inward
        if at_most(magnitude(D[i]), 16 * DBL_EPSILON * size[i]):
            return i
        d = reciprocal(D[i])
        D[i] = d
        for k in range(6):
            u[k] = U[6 * i + k]
            K[6 * i + k] = u[k] * d
        j = system.body[i].parent
        while j > 0:
            h = dot(S + 6 * j, u)
            t = h * d
            D[j] -= h * t
            for k in range(6):
                U[6 * j + k] -= u[k] * t
            j = system.body[j].parent
    return 0


cdef inline Py_ssize_t minv(const System* system, Workspace* work, real* Minv) noexcept nogil:
    """M(q)^-1, (n, n), after base_axes. Returns 1 + the index of a singular joint, or 0.

    O(n^2) without forming M; where mimic joints couple coordinates M is formed and inverted, O(n^3).
    """
    cdef const Body* b
    cdef const real* S
    cdef const real* K
    cdef lanes* x                                               # at a body: u, then qdd (2); pA, then a (6, 2)
    cdef lanes[12] p                                            # pA or a
    cdef lanes[2] u
    cdef real d
    cdef bint carried
    cdef Py_ssize_t n = system.n, first, last = 1, low, high, i, j, k, c
    if system.coupled:
        crba(system, work, <real*> work.H)
        return ltl_inverse(n, <real*> work.H, Minv)
    i = gains(system, work, <real*> work.force_set, <real*> work.D)
    if i:
        return 1 + system.dof[i]
    for k in range(n * n):
        put(0.0, &Minv[k])

    while last <= system.N:                                     # columns of the bodies first .. last - 1 (note 3)
        first = last
        last = min(first + (2 * LANES if real is double else 2), system.N + 1)
        low = high = system.body[first].root                    # note 4
        for j in range(first, last):
            low = min(low, system.body[j].root)
            high = max(high, system.body[j].root)
        for i in range(low, last):
            if system.body[i].forks:
                x = <lanes*> work.columns + 14 * i
                for k in range(12):
                    x[2 + k] = broadcast(0.0)

        for k in range(12):                                     # so that the compiler sees it set
            p[k] = broadcast(0.0)
        carried = False
        for i in range(last - 1, low - 1, -1):                  # towards the base
            b = &system.body[i]
            if b.root < low or b.root > high:
                continue
            x = <lanes*> work.columns + 14 * i
            S = <real*> work.S + 6 * i
            K = <real*> work.force_set + 6 * i
            if not (carried or b.forks or i >= first):          # no ancestor of any of them
                x[0] = x[1] = broadcast(0.0)
                continue
            if not carried:
                for k in range(12):
                    p[k] = broadcast(0.0)
            if b.forks:
                for k in range(12):
                    p[k] += x[2 + k]
            for c in range(2):
                u[c] = -(S[0] * p[c] + S[1] * p[2 + c] + S[2] * p[4 + c]) \
                    - (S[3] * p[6 + c] + S[4] * p[8 + c] + S[5] * p[10 + c])
                if i >= first:
                    if real is double:
                        u[c] += unit_lanes(i - first - c * LANES)
                    else:
                        u[c] += broadcast(1.0 if i - first == c else 0.0)
                x[c] = u[c]
            for k in range(6):
                for c in range(2):
                    p[2 * k + c] += K[k] * u[c]
            carried = b.parent == i - 1
            if not carried and b.parent > 0:
                x = <lanes*> work.columns + 14 * b.parent
                for k in range(12):
                    x[2 + k] += p[k]

        for i in range(low, last):                              # away from it
            b = &system.body[i]
            if b.root < low or b.root > high:
                continue
            x = <lanes*> work.columns + 14 * i
            S = <real*> work.S + 6 * i
            K = <real*> work.force_set + 6 * i
            d = (<real*> work.D)[i]
            if b.parent == 0:
                for k in range(12):
                    p[k] = broadcast(0.0)
            elif b.parent != i - 1:
                for k in range(12):
                    p[k] = (<lanes*> work.columns)[14 * b.parent + 2 + k]
            for c in range(2):
                u[c] = (d * x[c] - K[0] * p[c] - K[1] * p[2 + c] - K[2] * p[4 + c]) \
                    - (K[3] * p[6 + c] + K[4] * p[8 + c] + K[5] * p[10 + c])
                x[c] = u[c]
            for k in range(6):
                for c in range(2):
                    p[2 * k + c] += S[k] * u[c]
            if b.forks:
                for k in range(12):
                    x[2 + k] = p[k]
            for j in range(max(i, first), last):
                k = system.dof[j]
                if real is double:
                    Minv[b.dof * n + k] = Minv[k * n + b.dof] = (<double*> x)[j - first]
                else:
                    Minv[b.dof * n + k] = Minv[k * n + b.dof] = x[j - first]
    return 0
