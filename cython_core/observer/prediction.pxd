# The state of the arm a short time ahead under constant torque: forward dynamics with friction and
# armature, integrated by the simulator.

from libc.math cimport isfinite, rint
from libc.string cimport memcpy, memset

from joint_drives cimport has_spring, take_standing
from observer.shadow_settings cimport ShadowSettings

cdef extern from *:
    """
    #define NOT_FINITE PY_SSIZE_T_MIN
    """
    const Py_ssize_t NOT_FINITE


cdef inline bint all_finite(Py_ssize_t count, const double* x) noexcept nogil:
    """Whether all numbers and the sum of their squares are finite."""
    cdef double total = 0.0
    for i in range(count):
        total += x[i] * x[i]
    return isfinite(total)


cdef inline Py_ssize_t predict(const ShadowSettings* settings, Py_ssize_t n, double duration,
                               const double* state, const double* torque, double* scratch,
                               double* predicted) noexcept nogil:
    """Position and velocity (2, n), ``duration`` [s] after a state (2, n) under a constant torque.

    The simulator's time step is fixed. It takes the number of steps nearest to the duration; the
    rest, positive or negative, is covered with the last acceleration. scratch: (2, n). Returns what
    ``SimulatorInterface.advance`` returns, or NOT_FINITE.
    """
    cdef double* q = predicted
    cdef double* qd = predicted + n
    cdef double* qdd = scratch
    cdef double* applied = scratch + n
    memcpy(predicted, state, 2 * n * sizeof(double))
    if duration == 0.0:
        return 0
    steps = max(1, <Py_ssize_t> rint(duration / settings.time_step))
    rest = duration - steps * settings.time_step
    memset(qdd, 0, n * sizeof(double))
    each = 1 if has_spring(&settings.drives, n) else steps
    for i in range(steps // each):
        take_standing(&settings.drives, n, q, torque, applied)
        failure = settings.simulator.advance(settings.simulator.simulator, each, applied, NULL,
                                             NULL, NULL, q, qd, qdd)
        if failure:
            return failure
    for i in range(n):
        qd[i] += rest * qdd[i]
        q[i] += rest * (qd[i] - 0.5 * rest * qdd[i])
    return 0 if all_finite(n, q) and all_finite(n, qd) else NOT_FINITE
