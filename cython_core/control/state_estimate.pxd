# Position and velocity of the arm by the joint states that were believed (state_validator.pxd), for
# states that have no velocity, or a wrong one.

from libc.math cimport INFINITY, M_PI, copysign, exp, fabs, isnan
from libc.string cimport memcpy

from control.state_consistency cimport encoder_step
from control.validator_state cimport CONTRADICTORY, StateValidator, common

# What a joint may gain at once and per second, in speed limits, and how long it may have gone on
# with that [s]: a state that says more, and is the last one, is rather wrong. In a hard stop it may
# be right, and is believed if others follow.
cdef extern from *:
    """
    #define AT_ONCE (0.05)
    #define PER_SECOND (5.0)
    #define GONE_ON (0.1)
    #define SPARSE (0.0125)
    """
    const double AT_ONCE
    const double PER_SECOND
    const double GONE_ON
    const double SPARSE           # [s] between states: below 80 Hz, or some are missing

# A velocity goes against the positions if these show the opposite direction, and at least this
# share of the speed.
cdef extern from *:
    """
    #define AGAINST (0.25)
    """
    const double AGAINST


cdef inline double median(double a, double b, double c) noexcept nogil:
    return max(min(a, b), min(max(a, b), c))


cdef inline double plausible_change(const StateValidator* v, Py_ssize_t i,
                                    double dt) noexcept nogil:
    """Half of what a joint's velocity rather changes by, at most, in a time dt [s]."""
    return 0.5 * v.plausible_speed[i] * (AT_ONCE + PER_SECOND * dt)


cdef inline void take_velocity(StateValidator* v, double dt, const double* q, const double* qd,
                               double cutoff) noexcept nogil:
    """Measured velocities, and first-order filtered differences of the position where there is
    none.

    One that goes against the positions, the last two as well as those before, would damp the arm
    the wrong way: its size counts, as far as they show it.

    Where states are sparse, an unlikely one would last: what it and the last one and the positions
    agree on counts.
    """
    cdef double weight = 1.0 - exp(-2.0 * M_PI * cutoff * dt)
    cdef double agreed
    cdef Py_ssize_t i
    for i in range(v.n):
        if not isnan(qd[i]):
            v.qd[i] = qd[i]
            agreed = median(v.last_qd[i], qd[i], v.pace[i])
            if dt > SPARSE and not v.fresh and fabs(qd[i] - agreed) > plausible_change(v, i, dt):
                v.qd[i] = agreed
            if (qd[i] * v.shown[i] < 0.0 and fabs(v.shown[i]) > AGAINST * fabs(qd[i])
                    and qd[i] * v.pace[i] <= 0.0):
                v.qd[i] = copysign(min(fabs(qd[i]), fabs(v.shown[i]), fabs(v.pace[i])), v.shown[i])
        elif v.fresh:
            v.qd[i] = 0.0
        else:
            v.qd[i] = v.last_qd[i] + weight * ((q[i] - v.last_q[i]) / dt - v.last_qd[i])


cdef inline void find_likely_state(StateValidator* v, double now, double dt) noexcept nogil:
    """Find the position and velocity that the joints' laws go by; the hand's law goes by the state.

    What a joint can hardly have come to, neither from the last state, believed or not, nor from
    where it likely was, counts as it was expected until the next state confirms it, or its way
    does: one wrong number must not push the arm, least of all if no state comes after it. A wrong
    stamp must not either, which expects the joint too far away. To be called before ``received``
    changes; dt: since then [s].
    """
    cdef const double* there = v.last_q
    cdef double since = now - v.received if v.fresh else dt
    cdef double apart = since, limit, reach, speed, before
    cdef Py_ssize_t i
    v.misled = False
    if since == INFINITY:                                       # the first of all
        memcpy(v.likely_q, v.q, v.n * sizeof(double))
        memcpy(v.likely_qd, v.qd, v.n * sizeof(double))
        return
    if v.seen_at > v.received:
        there, apart = v.seen, now - v.seen_at
    for i in range(v.n):
        before, v.likely_q[i], v.likely_qd[i] = v.likely_q[i], v.q[i], v.qd[i]
        limit = plausible_change(v, i, since)
        reach = limit * GONE_ON + encoder_step(v, i)
        speed = median(v.last_qd[i], v.qd[i], v.shown[i])
        if fabs(v.q[i] - before - since * speed) > reach:
            if fabs(v.q[i] - there[i] - apart * speed) <= reach:
                v.misled = True
            else:
                v.likely_q[i] = median(before, v.q[i], before + since * speed)
        speed = median(v.last_qd[i], v.qd[i], (v.q[i] - v.last_q[i]) / since)
        if fabs(v.qd[i] - speed) > limit:
            v.likely_qd[i] = speed


cdef inline void best_estimate(const StateValidator* v, double* q, double* qd) noexcept nogil:
    """Position and velocity when the last good state came, as far as one may rely on it.

    If velocities contradict the positions, these are relied on, but for a last one that they do not
    lead to.
    """
    cdef double dt = v.compared_at - v.received
    cdef Py_ssize_t i
    if v.last.rejection != CONTRADICTORY:
        memcpy(q, v.likely_q, v.n * sizeof(double))
        memcpy(qd, v.likely_qd, v.n * sizeof(double))
        return
    memcpy(q, v.compared_q, v.n * sizeof(double))
    memcpy(qd, v.shown, v.n * sizeof(double))
    for i in range(v.n):
        if not fabs(q[i] - v.q[i] - dt * qd[i]) <= plausible_change(v, i, dt) * GONE_ON:
            q[i] = v.q[i] + dt * qd[i]


cdef inline bint was_misled(const StateValidator* v) noexcept nogil:
    """Whether the last state shows that the one before was wrong: it follows on nothing instead,
    or not on the position that was likely, or shows nothing of its velocity, nor does the way.
    """
    cdef double limit
    cdef Py_ssize_t i
    if v.dt <= 0.0 or v.misled:
        return True
    for i in range(v.n):
        limit = plausible_change(v, i, v.dt)
        if (fabs(common(v.qd[i] - v.last_qd[i], (v.q[i] - v.last_q[i]) / v.dt - v.last_qd[i]))
                > limit):
            return True
    return False


cdef inline double seen_since(const StateValidator* v) noexcept nogil:
    """Steady time of what ``best_estimate`` says."""
    return v.compared_at if v.last.rejection == CONTRADICTORY else v.received
