# Cartesian impedance control (cartesian_impedance.pxd): the damper of what the wrench does by
# turning its own lever arms (rule 10).

from libc.math cimport fabs, fmax, fmin, sqrt
from libc.string cimport memcpy

from control.impedance_modes cimport damper, max_frequency
from control.impedance_state cimport Impedance
from dynamics_interface cimport DynamicsInterface
from task_space.small_matrices cimport (cholesky, congruent, divide_by_lower, divide_by_upper,
                                        eigenvectors, times_lower)


cdef inline bint find_bending(Impedance* law, const DynamicsInterface* arm,
                              const double* q) noexcept nogil:
    """Find the modes of the arm that the wrench makes stiff, or unstable; False if there are none.
    """
    cdef double[3] point
    cdef Py_ssize_t n = law.n, i
    for i in range(3):
        point[i] = law.pose[4 * i + 3]
    arm.geometric_stiffness(arm.self, law.link, point, q, law.load, law.bending)
    memcpy(law.Lq, law.Minv, n * n * sizeof(double))
    if not cholesky(n, law.Lq):
        return False
    congruent(n, law.Lq, law.bending, law.square)
    eigenvectors(n, law.bending, law.bending_modes, law.square)
    return True


cdef inline double damping_of_hand(const Impedance* law, const double* x) noexcept nogil:
    """x^T J^T D J x of a motion of the joints (n,)."""
    cdef double[6] v, drag
    cdef double power = 0.0
    cdef Py_ssize_t i, k
    for k in range(6):
        v[k] = 0.0
        for i in range(law.n):
            v[k] += law.Jc[k * law.n + i] * x[i]
    damper(law, v, drag)
    for k in range(6):
        power += drag[k] * v[k]
    return power


cdef inline double missing_damping(const Impedance* law, double stiffness,
                                   double damping) noexcept nogil:
    """What a mode of mass 1 lacks to be critically damped, and to bear the delay."""
    cdef double most = 2.0 * max_frequency(&law.settings, 1.0)
    return fmax(fmin(sqrt(4.0 * fabs(stiffness) + damping * damping), most) - damping, 0.0)


cdef inline void damp_bending(Impedance* law, const DynamicsInterface* arm, const double* q,
                              const double* qd, double* tau) noexcept nogil:
    """tau -= the damping that the arm's modes under the wrench lack (rule 10)."""
    cdef double* mode = law.scratch                             # joint motion of one
    cdef double* force = law.scratch + law.n
    cdef double* speed = law.scratch + 2 * law.n
    cdef double along
    cdef Py_ssize_t n = law.n, i, k
    if not find_bending(law, arm, q):
        return
    memcpy(speed, qd, n * sizeof(double))
    divide_by_lower(n, law.Lq, speed)
    for i in range(n):
        force[i] = 0.0
    for k in range(n):
        if law.bending[(n + 1) * k] == 0.0:
            continue
        along = 0.0
        for i in range(n):
            mode[i] = law.bending_modes[n * i + k]
            along += mode[i] * speed[i]
        times_lower(n, law.Lq, mode)
        along *= missing_damping(law, law.bending[(n + 1) * k], damping_of_hand(law, mode))
        for i in range(n):
            force[i] += along * law.bending_modes[n * i + k]
    divide_by_upper(n, law.Lq, 1, force)
    for i in range(n):
        tau[i] -= force[i]
