# qdd = FD(q, qd, tau): the bias by Table 5.1, then the articulated bodies of Table 7.1, or, where mimic joints couple
# coordinates, the joint-space inertia: G^T H G qdd = tau - G^T C, RBDA equation 3.20 with a constant G (its g is zero).

from system cimport System, Workspace
from spatial cimport real
from rnea cimport rnea
from aba cimport aba
from crba cimport crba
from cholesky cimport ldl_solve


cdef inline Py_ssize_t solve_inertia(const System* system, Workspace* work, const double* armature,
                                     real* x) noexcept nogil:
    """x <- (H(q) + diag(armature))^-1 x, after jcalc for q. Returns 1 + the index of a singular joint, or 0."""
    cdef Py_ssize_t i
    if not system.coupled:
        i = aba(system, work, x, armature, x)
        return 1 + system.body[i].dof if i else 0
    crba(system, work, <real*> work.H)
    if armature != NULL:
        for i in range(system.n):
            (<real*> work.H)[i * (system.n + 1)] += armature[i]
    return ldl_solve(system.n, <real*> work.H, x)


cdef inline Py_ssize_t forward_dynamics(const System* system, Workspace* work, const real* qd, const real* tau,
                                        const real* f_ext, const double* armature, real* qdd) noexcept nogil:
    """qdd = (H + diag(armature))^-1 (tau - C), after jcalc for q. Returns 1 + the index of a singular joint, or 0."""
    cdef Py_ssize_t i
    rnea(system, work, qd, <const real*> NULL, f_ext, <real*> work.tau)
    for i in range(system.n):
        qdd[i] = tau[i] - (<real*> work.tau)[i]
    return solve_inertia(system, work, armature, qdd)
