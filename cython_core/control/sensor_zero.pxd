# The zero of a force-torque sensor: what it reads while nothing acts on it, found at request while
# the arm is held still (``zero_wrench`` in request_handlers.pxd).
#
# Mean and scatter are kept with every reading, with exponentially decreasing weights: the mean is
# as old as that of the last SETTLED_AFTER seconds, at any rate of the sensor, without memory of
# single readings. In the beginning all readings count alike.

from libc.math cimport fmax, fmin, sqrt
from libc.string cimport memcpy, memset

from control.fault_bounds cimport SCATTER_OF_FORCE, SCATTER_OF_MOMENT, SETTLED_AFTER

cdef struct Readings:        # since the last silence, without the offset
    double[6] mean
    double[6] variance
    long long count
    double begin             # steady time of the first [s]
    double last


cdef inline void note_reading(Readings* r, const double* wrench, double at) noexcept nogil:
    """Take a reading (6) of a steady time [s]."""
    cdef double share, difference
    cdef Py_ssize_t k
    if r.count == 0:
        r.begin = r.last = at
        memcpy(r.mean, wrench, 6 * sizeof(double))
        memset(r.variance, 0, 6 * sizeof(double))
    r.count += 1
    share = fmin(fmax(1.0 / r.count, (at - r.last) / (0.5 * SETTLED_AFTER)), 1.0)
    r.last = at
    for k in range(6):
        difference = wrench[k] - r.mean[k]
        r.mean[k] += share * difference
        r.variance[k] = (1.0 - share) * (r.variance[k] + share * difference * difference)


cdef inline bint are_enough(const Readings* r) noexcept nogil:
    return r.count > 1 and r.last - r.begin >= SETTLED_AFTER


cdef inline double scatter(const Readings* r, Py_ssize_t half) noexcept nogil:
    """Standard deviation of the force (half 0) or the moment (1), as a vector."""
    cdef const double* v = r.variance + 3 * half
    return sqrt(v[0] + v[1] + v[2])


cdef inline double max_scatter(const double* dead_zone, Py_ssize_t half) noexcept nogil:
    """The largest with which a mean is taken; dead_zone: of force and moment."""
    return fmax(dead_zone[half], SCATTER_OF_MOMENT if half else SCATTER_OF_FORCE)
