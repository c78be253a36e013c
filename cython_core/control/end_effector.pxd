# What Cartesian impedance control (cartesian_impedance.pxd) needs of the model.

from libc.string cimport memcpy

from control.impedance_state cimport Impedance
from dynamics_interface cimport DynamicsInterface


cdef inline void update_kinematics(Impedance* law, const DynamicsInterface* arm, const double* q,
                                   const double* qd) noexcept nogil:
    """Find the end effector's pose, Jacobian and velocity."""
    cdef Py_ssize_t i, k
    arm.frame(arm.self, law.link, law.offset, q, law.pose, law.J)
    for i in range(6):
        law.velocity[i] = 0.0
        for k in range(law.n):
            law.velocity[i] += law.J[i * law.n + k] * qd[k]


cdef inline Py_ssize_t update_inertia(const Impedance* law, const DynamicsInterface* arm,
                                      const double* armature, const double* q) noexcept nogil:
    """Find Minv = (M + diag(armature))^-1, one drive after another (Sherman and Morrison).

    Returns 1 + the index of a joint that moves no inertia, or 0.
    """
    cdef double* column = law.scratch
    cdef double share
    cdef Py_ssize_t n = law.n, i, j, k, failure = arm.minv(arm.self, q, law.Minv)
    for i in range(n if failure == 0 else 0):
        if armature[i] == 0.0:
            continue
        share = armature[i] / (1.0 + armature[i] * law.Minv[i * (n + 1)])
        memcpy(column, law.Minv + i * n, n * sizeof(double))
        for j in range(n):
            for k in range(n):
                law.Minv[j * n + k] -= share * column[j] * column[k]
    return failure
