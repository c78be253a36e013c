# External forces, fixed in their bodies: the torque they take, tau = -J^T f_ext, and how it changes
# with position.
#
# How the coded lines follow from RBDA Table 5.1, of which they are the terms linear in f_ext:
# 1. f_i = -f_ext, summed over i's subtree, and tau_i = S_i^T f_i; seen from the point O of
#    base_coordinates.pxd.
# 2. Joint i turns all of its subtree, and with it f_i, which changes by S_i x* f_i: for j on its
#    path to the base (i included) dtau_j/dq_i = S_j^T (S_i x* f_i). A motion of such a j moves S_i
#    and f_i together, so that tau_i does not change.
# 3. A displacement of a floating base, in its own axes, moves all forces together.
#
# A wrench that keeps its axes is on a point whose velocity per rate of joint i is [v_i; w_i]. A
# joint j on i's path to the base turns both: tau_i changes by f . (w_j x v_i) + m . (w_j x w_i).

from system cimport System, Workspace
from spatial cimport add_cross, clear, never_inline, put, real, unlikely
from base_coordinates cimport dot, force_cross, force_on_base
from kinematics cimport joint_column


cdef inline never_inline forces_on_bodies(const System* system, Workspace* work,
                                          const real* f_ext) noexcept nogil:
    """Row f of every body, and the base's: -f_ext, (6) per slot as for rnea; after base_axes."""
    cdef const real* R
    cdef const real* given
    cdef real* f
    cdef Py_ssize_t i, k
    for k in range(6):
        put(0.0, <real*> work.f + k)
    for i in range(system.ground + 1, system.N + 1):
        R = <real*> work.R + 9 * i
        f = <real*> work.f + 6 * i
        given = f_ext + 6 * i
        for k in range(3):
            f[k] = -(R[3 * k] * given[0] + R[3 * k + 1] * given[1] + R[3 * k + 2] * given[2])
            f[3 + k] = -(R[3 * k] * given[3] + R[3 * k + 1] * given[4] + R[3 * k + 2] * given[5])
        add_cross[real](<real*> work.r + 3 * i, f + 3, f)


cdef inline never_inline external_torque(const System* system, Workspace* work, const real* f_ext,
                                         real* tau) noexcept nogil:
    """tau = -J^T f_ext, (n,), after base_axes (note 1)."""
    cdef real* f
    cdef Py_ssize_t i, k
    forces_on_bodies(system, work, f_ext)
    clear(tau, system.n)
    for i in range(system.N, 0, -1):                            # from the tips inward
        f = <real*> work.f + 6 * i
        tau[system.body[i].dof] += dot[real](<real*> work.S + 6 * i, f)
        for k in range(6):
            (<real*> work.f)[6 * system.body[i].parent + k] += f[k]
    if unlikely(system.floating):
        force_on_base[real](work, <real*> work.f, tau)


cdef inline never_inline add_external_stiffness(const System* system, Workspace* work,
                                                const real* f_ext, real* dtau_dq) noexcept nogil:
    """Add the derivative of external_torque to dtau_dq, (n, n), after base_axes (note 2)."""
    cdef real* f
    cdef real[6] F, on_base
    cdef Py_ssize_t n = system.n, i, j, k
    forces_on_bodies(system, work, f_ext)
    for i in range(system.N, 0, -1):                            # from the tips inward
        f = <real*> work.f + 6 * i
        force_cross[real](<real*> work.S + 6 * i, f, F)
        j = i
        while j > 0:
            dtau_dq[system.body[j].dof * n + system.body[i].dof] += dot[real](<real*> work.S
                                                                              + 6 * j, F)
            j = system.body[j].parent
        if unlikely(system.floating):
            force_on_base(work, F, on_base)
            for k in range(6):
                dtau_dq[k * n + system.body[i].dof] += on_base[k]
        for k in range(6):
            (<real*> work.f)[6 * system.body[i].parent + k] += f[k]


cdef inline double triple(const double* a, const double* b, const double* c) noexcept nogil:
    """a . (b x c)."""
    return (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2])
            + a[2] * (b[0] * c[1] - b[1] * c[0]))


cdef inline void geometric_stiffness(const System* system, const Workspace* work, Py_ssize_t body,
                                     const double* point, const double* F,
                                     double* K) noexcept nogil:
    """-d(J^T F)/dq's symmetric part K, (n, n), of a wrench F on a point; after poses."""
    cdef double[6] inner, outer
    cdef double change
    cdef Py_ssize_t n = system.n, i = body, j, k
    for k in range(n * n):
        K[k] = 0.0
    while i > 0:
        joint_column[double](&system.body[i], work, i, point, outer)
        j = i
        while j > 0:
            joint_column[double](&system.body[j], work, j, point, inner)
            change = triple(F, inner + 3, outer) + 0.5 * triple(F + 3, inner + 3, outer + 3)
            K[system.body[i].dof * n + system.body[j].dof] -= change
            if j != i:
                K[system.body[j].dof * n + system.body[i].dof] -= change
            j = system.body[j].parent
        i = system.body[i].parent
