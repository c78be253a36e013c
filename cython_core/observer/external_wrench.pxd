# The wrench on one link that would explain the external joint torques, by a damped pseudo-inverse:
#
#     J^T w = r,    w = (J J^T + damping^2)^-1 J r.
#
# A wrench along a direction in which the link cannot move loads no joint and is estimated as zero.
# With fewer than six joints there is always such a direction, near a singularity one more. Along a
# singular direction of J with singular value s, s^2 / (s^2 + damping^2) of the wrench is found.

from libc.string cimport memset

from dynamics_interface cimport DynamicsInterface
from task_space.inverse_kinematics cimport cholesky_solve


cdef inline void estimate_wrench(const DynamicsInterface* dynamics, Py_ssize_t link, double damping,
                                 const double* q, const double* torque, double* J,
                                 double* wrench) noexcept nogil:
    """Force [N] and torque [N m] (6,) on a link, at its origin, in its axes. J: (6, n) scratch."""
    cdef Py_ssize_t n = dynamics.n, i, j, k
    cdef double[36] A
    cdef double[16] pose
    cdef double[6] w
    dynamics.frame(dynamics.self, link, NULL, q, pose, J)
    memset(A, 0, sizeof(A))
    for i in range(6):
        A[7 * i], w[i] = damping * damping, 0.0
        for k in range(n):
            w[i] += J[n * i + k] * torque[k]
            for j in range(i + 1):
                A[6 * i + j] += J[n * i + k] * J[n * j + k]
    if not cholesky_solve(6, A, w):  # damping below the rounding errors
        memset(w, 0, sizeof(w))
    for k in range(3):
        wrench[k] = wrench[3 + k] = 0.0
        for i in range(3):
            wrench[k] += pose[4 * i + k] * w[i]
            wrench[3 + k] += pose[4 * i + k] * w[3 + i]
