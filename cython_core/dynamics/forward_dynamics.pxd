# qdd = FD(q, qd, tau): articulated bodies, or, where mimic joints couple coordinates, the
# joint-space inertia: G^T H G qdd = tau - G^T C, RBDA equation 3.20 with a constant G (its g is
# zero).

from system cimport System, Workspace
from spatial cimport clear, real
from rnea cimport body_forces, rnea
from external_forces cimport external_torque
from aba cimport aba
from crba cimport crba
from cholesky cimport ltl_solve


cdef inline void given_motion(const System* system, Workspace* work, const real* qd,
                              const real* qdd_0, const real* f_ext) noexcept nogil:
    """The forces that qd and qdd_0 take, for added_acceleration; after jcalc for q."""
    if system.coupled:
        rnea(system, work, qd, qdd_0, f_ext, <real*> work.tau)
    else:
        body_forces(system, work, qd, qdd_0, f_ext)


cdef inline Py_ssize_t added_acceleration(const System* system, Workspace* work, const real* tau,
                                          const real* armature, const real* held,
                                          real* qdd) noexcept nogil:
    """qdd = (H + diag(armature))^-1 (tau - ID(q, qd, qdd_0)): the acceleration that tau adds to
    qdd_0; after given_motion.

    armature, held: (n,) or NULL, which means zero. Where held is 1, qdd = 0 and tau is ignored.
   
    """
    cdef Py_ssize_t n = system.n, i, j
    cdef real* H = <real*> work.H
    if not system.coupled:
        return aba(system, work, tau, armature, held, qdd)
    for i in range(n):
        qdd[i] = tau[i] - (<real*> work.tau)[i]
    crba(system, work, H)
    if armature != NULL:
        for i in range(n):
            H[i * (n + 1)] += armature[i]
    if held != NULL:  # their rows and columns become those of 1
        for i in range(n):
            qdd[i] *= 1.0 - held[i]
            for j in range(i):
                H[i * n + j] *= (1.0 - held[i]) * (1.0 - held[j])
            H[i * n + i] = H[i * n + i] * (1.0 - held[i]) + held[i]
    return ltl_solve(n, H, qdd)


cdef inline Py_ssize_t forward_dynamics(const System* system, Workspace* work, const real* qd,
                                        const real* tau, const real* f_ext, const real* armature,
                                        real* qdd) noexcept nogil:
    """qdd = (H + diag(armature))^-1 (tau - C), after jcalc for q."""
    given_motion(system, work, qd, <const real*> NULL, f_ext)
    return added_acceleration(system, work, tau, armature, <const real*> NULL, qdd)


cdef inline Py_ssize_t impulse_response(const System* system, Workspace* work, const real* p,
                                        real* dqd) noexcept nogil:
    """dqd = H^-1 J^T p, the jump of the velocity under impulses p on the bodies, as f_ext for
    body_forces: the acceleration of a robot at rest under such forces alone; after base_axes.
    """
    cdef Py_ssize_t k
    if system.coupled:
        external_torque(system, work, p, <real*> work.tau)
    else:
        for k in range(6 * (system.N + 1)):
            (<real*> work.f)[k] = -p[k]
    clear(dqd, system.n)
    return added_acceleration(system, work, dqd, <const real*> NULL, <const real*> NULL, dqd)
