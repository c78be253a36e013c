# Hybrid dynamics, RBDA section 9.2: some joints have a given torque, the others a given
# acceleration.
#
# How the coded lines follow from the book:
# 1. Accelerations are counted from qdd_0: what is given, and zero elsewhere. With C' = ID(q, qd,
#    qdd_0), what is added, qdd', solves H qdd' = tau - C' at the joints with a given torque; the
#    other joints are held, qdd' = 0.
# 2. All accelerations known, the unknown torques are those of Table 5.1.

from system cimport System, Workspace
from spatial cimport real
from rnea cimport rnea
from forward_dynamics cimport added_acceleration, given_motion


cdef inline Py_ssize_t hybrid(const System* system, Workspace* work, const real* qd,
                              const real* given, const real* held, const real* f_ext, real* qdd,
                              real* tau) noexcept nogil:
    """All of qdd and tau, after jcalc for q.

    f_ext: as for rnea. held: (n,) 1 where given (n,) is a joint's acceleration, 0 where it is its
    torque.
    """
    cdef Py_ssize_t i, failure
    for i in range(system.n):
        qdd[i] = held[i] * given[i]
    # tau is qdd' for a while
    given_motion(system, work, qd, <const real*> qdd, f_ext)
    failure = added_acceleration(system, work, given, <const real*> NULL, held, tau)
    if failure:
        return failure
    for i in range(system.n):
        qdd[i] += tau[i]
    rnea(system, work, qd, <const real*> qdd, f_ext, tau)
    for i in range(system.n):
        tau[i] = held[i] * tau[i] + (1.0 - held[i]) * given[i]
    return 0
