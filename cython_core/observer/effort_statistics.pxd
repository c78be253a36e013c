# Statistics that show whether the effort field keeps its contract. They are gathered state by state
# and judged by featherstone_ros/observer/rest_check.py and friction_check.py. Arrays are (n,)
# unless another shape is given.

from libc.math cimport expm1, fabs, fmax, sqrt
from libc.string cimport memset

from observer.effort cimport friction_at, sliding_threshold
from observer.settings cimport Settings

cdef extern from *:
    """
    #define REST 0.5
    #define REST_SPEED 0.01
    #define SLIDING 5.0
    """
    const double REST        # length of a standstill that is averaged [s]
    const double REST_SPEED  # mean speed below which a joint stands still [rad/s or m/s]
    const double SLIDING     # how long a joint must slide in each direction [s]

cdef struct RestMeans:       # of one standstill
    double elapsed           # [s]
    Py_ssize_t count         # states
    double* effort           # sum; the mean once ``update_rest`` has returned True
    double* square           # sum of effort^2; then the standard error of the mean effort
    double* velocity         # sum
    double* least            # smallest position
    double* most             # largest position

cdef struct SlidingMeans:    # (2, n): forward, then backward
    double* filtered         # (n,) friction, with the delay of the momentum observer
    double* time             # (2, n) of sliding [s]
    double* friction         # (2, n) integral of the filtered friction over that time
    double* external         # (2, n) integral of the external torque
    double* share            # (n,) scratch


cdef inline void begin_rest(RestMeans* its, Py_ssize_t n) noexcept nogil:
    """Begin a new standstill."""
    its.elapsed, its.count = 0.0, 0
    memset(its.effort, 0, n * sizeof(double))
    memset(its.square, 0, n * sizeof(double))
    memset(its.velocity, 0, n * sizeof(double))


cdef inline bint has_moved(RestMeans* its, Py_ssize_t n, const double* q) noexcept nogil:
    """Take a position; return whether those of this standstill are too far apart."""
    cdef bint moved = False
    cdef Py_ssize_t i
    for i in range(n):
        its.least[i] = min(q[i], its.least[i]) if its.count else q[i]
        its.most[i] = max(q[i], its.most[i]) if its.count else q[i]
        moved |= its.most[i] - its.least[i] > REST_SPEED * REST
    return moved


cdef inline bint update_rest(RestMeans* its, Py_ssize_t n, double dt, const double* q,
                             const double* qd, const double* effort) noexcept nogil:
    """Take a state, dt [s] after the last; return whether the arm has now stood still for long
    enough.

    The means are then ready; call ``begin_rest`` before the next state.
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
    """Median of at least one number; sorts x in place."""
    cdef Py_ssize_t i, k
    cdef double value
    for i in range(1, count):
        value, k = x[i], i
        while k > 0 and x[k - 1] > value:
            x[k] = x[k - 1]
            k -= 1
        x[k] = value
    return 0.5 * (x[(count - 1) // 2] + x[count // 2])


cdef inline bint update_sliding(SlidingMeans* its, const Settings* settings, Py_ssize_t n,
                                double dt, const double* qd, const double* external,
                                double* share) noexcept nogil:
    """Take a state, dt [s] after the last; return whether enough joints have slid both ways.

    ``share`` is then how much of the friction appears as external torque: for each joint, the mean
    external torque in forward motion minus that in backward motion, divided by the same difference
    of the friction; of these, the median over the joints. Errors that depend on position alone,
    such as those of gravity, cancel in the differences.
    """
    cdef Py_ssize_t i, k, way, ready = 0, frictional = 0
    cdef double bound, friction
    for i in range(n):
        bound = sliding_threshold(settings, i)
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
