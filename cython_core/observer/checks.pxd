# What tells whether the effort field keeps its contract: figures gathered state by state, which
# featherstone_ros/observer/rest_check.py and friction_check.py judge. All arrays are (n,).

from libc.math cimport expm1, fabs, fmax, sqrt
from libc.string cimport memset

from observer.effort cimport friction_at, surely_sliding
from observer.settings cimport Settings

cdef extern from *:
    """
    #define REST 0.5
    #define REST_SPEED 0.01
    #define SLIDING 5.0
    """
    const double REST        # [s] of standstill that are averaged
    const double REST_SPEED  # [rad/s or m/s] mean speed below which a joint stands still
    const double SLIDING     # [s] that a joint must slide in either direction, over its range of
                             # positions

cdef struct RestMeans:       # over a time of standstill
    double elapsed           # [s]
    Py_ssize_t count         # states
    double* effort           # sums; after ``rest`` was over the mean effort
    double* square           # of effort; then the standard error of the mean
    double* velocity
    double* least            # position
    double* most

cdef struct SlidingMeans:    # of both directions, forward first
    double* filtered         # friction as the observer would show it, with the observer's delay
    double* time             # (2, n) slid
    double* friction         # (2, n) integrals over that time
    double* external         # (2, n)
    double* share            # scratch


cdef inline void begin_rest(RestMeans* its, Py_ssize_t n) noexcept nogil:
    """Begin another time of standstill."""
    its.elapsed, its.count = 0.0, 0
    memset(its.effort, 0, n * sizeof(double))
    memset(its.square, 0, n * sizeof(double))
    memset(its.velocity, 0, n * sizeof(double))


cdef inline bint has_moved(RestMeans* its, Py_ssize_t n, const double* q) noexcept nogil:
    """Take a position; whether those of this time are too far apart."""
    cdef bint moved = False
    cdef Py_ssize_t i
    for i in range(n):
        its.least[i] = min(q[i], its.least[i]) if its.count else q[i]
        its.most[i] = max(q[i], its.most[i]) if its.count else q[i]
        moved |= its.most[i] - its.least[i] > REST_SPEED * REST
    return moved


cdef inline bint rest(RestMeans* its, Py_ssize_t n, double dt, const double* q, const double* qd,
                      const double* effort) noexcept nogil:
    """Take a state; whether the arm stood still for long enough, and there are means.

    Then ``begin_rest``.
    """
    cdef bint still = True
    cdef Py_ssize_t i
    if has_moved(its, n, q):
        begin_rest(its, n)
        return False
    its.elapsed += dt
    its.count += 1
    for i in range(n):
        its.effort[i] += effort[i]
        its.square[i] += effort[i] * effort[i]
        its.velocity[i] += qd[i]
    if its.elapsed < REST:
        return False
    for i in range(n):
        its.effort[i] /= its.count
        its.square[i] = sqrt(fmax(its.square[i] / its.count - its.effort[i] * its.effort[i], 0.0)
                             / its.count)
        still &= fabs(its.velocity[i] / its.count) < REST_SPEED
    if not still:
        begin_rest(its, n)
    return still


cdef inline void begin_sliding(SlidingMeans* its, Py_ssize_t n) noexcept nogil:
    memset(its.time, 0, 2 * n * sizeof(double))
    memset(its.friction, 0, 2 * n * sizeof(double))
    memset(its.external, 0, 2 * n * sizeof(double))


cdef inline double median(Py_ssize_t count, double* x) noexcept nogil:
    """Of at least one number; sorts them."""
    cdef Py_ssize_t i, k
    cdef double value
    for i in range(1, count):
        value, k = x[i], i
        while k > 0 and x[k - 1] > value:
            x[k] = x[k - 1]
            k -= 1
        x[k] = value
    return 0.5 * (x[(count - 1) // 2] + x[count // 2])


cdef inline bint slide(SlidingMeans* its, const Settings* settings, Py_ssize_t n, double dt,
                       const double* qd, const double* external, double* share) noexcept nogil:
    """Take a state; whether enough joints have slid both ways, and there is a share.

    The difference of the means over both directions is free of what depends on position alone, such
    as errors of the gravity. ``share`` is that of the external torque relative to that of the
    friction: the median of the joints.
    """
    cdef Py_ssize_t i, k, way, ready = 0, frictional = 0
    cdef double bound, friction
    for i in range(n):
        bound = surely_sliding(settings, i)
        frictional += bound > 0.0
        its.filtered[i] -= (expm1(-settings.gain[i] * dt)
                            * (friction_at(settings, i, qd[i]) - its.filtered[i]))
        way = n if its.filtered[i] < 0.0 else 0
        if fabs(its.filtered[i]) > bound:
            its.time[way + i] += dt
            its.friction[way + i] += its.filtered[i] * dt
            its.external[way + i] += external[i] * dt
        if its.time[i] > SLIDING and its.time[n + i] > SLIDING:
            k = n + i
            friction = its.friction[i] / its.time[i] - its.friction[k] / its.time[k]
            its.share[ready] = ((its.external[i] / its.time[i] - its.external[k] / its.time[k])
                                / friction)
            ready += 1
    if frictional == 0 or 2 * ready <= frictional:
        return False
    share[0] = median(ready, its.share)
    begin_sliding(its, n)
    return True
