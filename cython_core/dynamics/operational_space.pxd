# The operational-space inertia Lambda of a point of a link (Khatib, A unified approach for motion
# and force control of robot manipulators, 1987): the wrench needed there per unit of acceleration,
# Lambda^-1 = J M^-1 J^T.
#
# How the coded lines follow from RBDA Table 7.1:
# 1. M^-1 is a sum over the bodies: tau^T M^-1 tau = sum u_i^2 / D_i, with the u of minv.pxd that
#    torques tau give. A wrench f at the point acts as tau = J^T f, and its u differs from zero
#    only on the path to the base: with the gain K = U / D,
#        u_i = S_i^T p      p <- p - K_i u_i      Lambda^-1 = sum over the path of u_i u_i^T / D_i
#    for the six unit wrenches p at once: O(n) once K and D are known (Jain, Robot and Multibody
#    Dynamics, 2011, section 10.4; innovations.py of the reference package).
# 2. Where mimic joints couple coordinates, J and M are formed.
# 3. The rank is judged by J alone, whose numbers are of one size; those of M^-1 differ by many
#    orders of magnitude.

from system cimport System, Workspace
from spatial cimport add_cross, at_most, clear, copy, never_inline, put, real, reciprocal, unlikely
from base_coordinates cimport dot, force_on_base
from cholesky cimport ltl_factor, ltl_inverse, ltl_substitute
from crba cimport crba
from kinematics cimport jacobian, turn_by
from minv cimport gains, invert_base_inertia


cdef inline bint loses_rank(Py_ssize_t n, real* J) noexcept nogil:
    """Whether a millionth of a row of J is independent, or less; makes rows orthogonal."""
    cdef real whole, left, share
    cdef real[6] squared
    cdef Py_ssize_t a, c, k
    for a in range(6):
        put(0.0, &whole)
        put(0.0, &left)
        for k in range(n):
            whole += J[a * n + k] * J[a * n + k]
        for c in range(a):
            put(0.0, &share)
            for k in range(n):
                share += J[c * n + k] * J[a * n + k]
            share = share * reciprocal(squared[c])
            for k in range(n):
                J[a * n + k] -= share * J[c * n + k]
        for k in range(n):
            left += J[a * n + k] * J[a * n + k]
        if at_most(left, 1e-12 * whole):
            return True
        squared[a] = left
    return False


cdef inline void unit_wrenches(const real* point, real* p) noexcept nogil:
    """Unit forces along x y z at a point, then moments: force vectors (6, 6)."""
    cdef Py_ssize_t a, k
    clear(p, 36)
    for a in range(3):
        put(1.0, &p[6 * a + 3 + a])
        add_cross(point, p + 6 * a + 3, p + 6 * a)
        put(1.0, &p[6 * (3 + a) + a])


cdef inline void add_along_path(const System* system, const Workspace* work, Py_ssize_t body,
                                const real* K, const real* reciprocal_D, real* p,
                                real* A) noexcept nogil:
    """A += u u^T / D of the joints from a body to the base (note 1)."""
    cdef const real* S
    cdef real[6] u
    cdef real t
    cdef Py_ssize_t i = body, a, c, k
    while i > 0:
        S = <real*> work.S + 6 * i
        for a in range(6):
            u[a] = dot(S, p + 6 * a)
            for k in range(6):
                p[6 * a + k] -= K[6 * i + k] * u[a]
            t = u[a] * reciprocal_D[i]
            for c in range(a + 1):
                A[6 * a + c] += t * u[c]
        i = system.body[i].parent


cdef inline never_inline add_at_base(Workspace* work, const real* p, real* A) noexcept nogil:
    """A += p^T IA^-1 p of a floating base (note 5 of minv.pxd); sets work.failure."""
    cdef real[36] X, f
    cdef real t
    cdef Py_ssize_t a, c, i, k
    work.failure = invert_base_inertia(work, X)
    for a in range(6):
        force_on_base[real](work, p + 6 * a, f + 6 * a)
    for a in range(6):
        for i in range(6):
            put(0.0, &t)
            for k in range(6):
                t += X[6 * i + k] * f[6 * a + k]
            for c in range(a + 1):
                A[6 * a + c] += t * f[6 * c + i]


cdef inline never_inline turn_to_world(const Workspace* work, real* A) noexcept nogil:
    """A, (6, 6), from the axes of a floating base to the world's."""
    cdef real[36] B
    cdef Py_ssize_t i, k
    for k in range(2):                                          # A R^T, transposed; then once more
        for i in range(6):
            turn_by[real](<real*> work.pose, A + 6 * i, B + 6 * i)
            turn_by[real](<real*> work.pose, A + 6 * i + 3, B + 6 * i + 3)
        for i in range(36):
            A[i] = B[6 * (i % 6) + i // 6]


cdef inline Py_ssize_t add_by_matrices(const System* system, Workspace* work, Py_ssize_t body,
                                       const real* point, real* A) noexcept nogil:
    """A += J M^-1 J^T (note 2)."""
    cdef real* J = <real*> work.J
    cdef real* x = <real*> work.tau
    cdef real* H = <real*> work.H
    cdef Py_ssize_t n = system.n, failure, a, c, k
    jacobian(system, work, body, point, J)
    crba(system, work, H)
    failure = ltl_factor(n, H)
    if failure:
        return failure
    for a in range(6):
        copy(J + a * n, n, x)
        ltl_substitute(n, H, x)
        for c in range(a + 1):
            for k in range(n):
                A[6 * a + c] += x[k] * J[c * n + k]
    return 0


cdef inline Py_ssize_t operational_space_inertia(const System* system, Workspace* work,
                                                 Py_ssize_t body, const real* point,
                                                 real* Lambda) noexcept nogil:
    """Lambda, (6, 6), linear rows first, of a point (seen from O) of a body; after base_axes.

    Returns 0, 1 + the index of a singular joint, or n + 1 where the rank of J is below 6 (note 3).
    """
    cdef real[36] p, A
    cdef Py_ssize_t failure, a, c
    for a in range(36):
        put(0.0, &A[a])
    jacobian(system, work, body, point, <real*> work.J)
    if loses_rank(system.n, <real*> work.J):
        return system.n + 1
    if system.coupled:
        failure = add_by_matrices(system, work, body, point, A)
        if failure:
            return failure
    else:
        failure = gains(system, work, False, <real*> work.force_set, <real*> work.D)
        if failure:
            return failure
        unit_wrenches(point, p)
        add_along_path(system, work, body, <real*> work.force_set, <real*> work.D, p, A)
        if unlikely(system.floating):
            add_at_base(work, p, A)
            if work.failure:
                return work.failure
    for a in range(6):
        for c in range(a):
            A[6 * c + a] = A[6 * a + c]
    failure = system.n + 1 if ltl_inverse(6, A, Lambda) else 0
    if unlikely(system.floating):
        turn_to_world(work, Lambda)
    return failure
