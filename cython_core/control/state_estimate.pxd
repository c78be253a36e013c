# Position and velocity of the arm, estimated from the accepted joint states (state_validator.pxd):
# their velocities may be missing or wrong.

from libc.math cimport INFINITY, copysign, fabs, isnan
from libc.string cimport memcpy

from control.state_consistency cimport encoder_step
from control.validator_state cimport CONTRADICTORY, StateValidator, common

# How much a joint's speed may change at once and per second, in speed limits, and for how long [s]
# such a change may have acted. A state that shows more is probably wrong, unless the next ones
# confirm it, as after a hard stop.
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
    const double SPARSE           # [s] between states, from which they are sparse: below 80 Hz

# A velocity contradicts the positions if they show the opposite direction and at least this share
# of the speed.
cdef extern from *:
    """
    #define AGAINST (0.25)
    """
    const double AGAINST


cdef inline double median(double a, double b, double c) noexcept nogil:
    return max(min(a, b), min(max(a, b), c))


cdef inline double plausible_change(const StateValidator* v, Py_ssize_t i,
                                    double dt) noexcept nogil:
    """By how much a joint's velocity plausibly changes in a time dt [s]."""
    return 0.5 * v.plausible_speed[i] * (AT_ONCE + PER_SECOND * dt)


cdef inline double filtered_velocity(const StateValidator* v, Py_ssize_t i, double way, double dt,
                                     double weight) noexcept nogil:
    """The last velocity of a joint, low-pass filtered with a way in a time dt [s]."""
    return v.last_qd[i] + weight * (way / dt - v.last_qd[i])


cdef inline void take_velocity(StateValidator* v, double dt, const double* q, const double* qd,
                               double weight) noexcept nogil:
    """Take the measured velocities; where one is missing, the filtered difference of positions.

    A velocity that contradicts the last two positions and those before would damp the arm in the
    wrong direction: it gets the direction of the positions, and no more than their speed.

    If states are sparse, an unlikely velocity would act for long: then the median of it, the last
    velocity and the positions' is taken. weight: of this difference in the filter.
    """
    cdef double agreed
    cdef Py_ssize_t i
    for i in range(v.n):
        if not isnan(qd[i]):
            v.qd[i] = qd[i]
            agreed = median(v.last_qd[i], qd[i], v.step_velocity[i])
            if dt > SPARSE and not v.fresh and fabs(qd[i] - agreed) > plausible_change(v, i, dt):
                v.qd[i] = agreed
            if (qd[i] * v.shown[i] < 0.0 and fabs(v.shown[i]) > AGAINST * fabs(qd[i])
                    and qd[i] * v.step_velocity[i] <= 0.0):
                v.qd[i] = copysign(
                    min(fabs(qd[i]), fabs(v.shown[i]), fabs(v.step_velocity[i])), v.shown[i])
        elif v.fresh:
            v.qd[i] = 0.0
        else:
            v.qd[i] = filtered_velocity(v, i, q[i] - v.last_q[i], dt, weight)


cdef inline void find_likely_state(StateValidator* v, double now, double dt,
                                   double weight) noexcept nogil:
    """Find the position and velocity that the laws use.

    A value that a joint can hardly have reached, neither from the last state (accepted or not) nor
    from where it likely was, is replaced by the expected one until the next state confirms it: one
    wrong number must not push the arm, least of all if no state follows. Nor must a wrong stamp, by
    which the joint would be expected too far away. To be called before ``received`` changes; dt:
    time since then [s]; weight: as for ``take_velocity``.

    A velocity that is not measured is then estimated from the likely positions: the step to a wrong
    one and back would show many times the joint's speed.
    """
    cdef const double* there = v.last_q
    cdef double since = max(now - v.received, 1e-6) if v.fresh else dt
    cdef double apart = since, limit, reach, speed, before
    cdef bint is_estimated
    cdef Py_ssize_t i
    v.misled = False
    if since == INFINITY:                                       # the first of all
        memcpy(v.likely_q, v.q, v.n * sizeof(double))
        memcpy(v.likely_qd, v.qd, v.n * sizeof(double))
        return
    if v.seen_at > v.received:
        there, apart = v.seen, now - v.seen_at
    for i in range(v.n):
        before, v.likely_q[i] = v.likely_q[i], v.q[i]
        is_estimated = isnan(v.compared_qd[i]) and not v.fresh
        limit = plausible_change(v, i, since)
        reach = limit * GONE_ON + encoder_step(v, i)
        speed = median(v.last_qd[i], v.qd[i], v.shown[i])
        if fabs(v.q[i] - before - since * speed) > reach:
            if is_estimated:
                v.qd[i] = speed
            if fabs(v.q[i] - there[i] - apart * speed) <= reach:
                v.misled = True
            else:
                v.likely_q[i] = median(before, v.q[i], before + since * speed)
        elif is_estimated:
            v.qd[i] = filtered_velocity(v, i, v.q[i] - before, dt, weight)
        speed = median(v.last_qd[i], v.qd[i], (v.q[i] - v.last_q[i]) / since)
        v.likely_qd[i] = speed if fabs(v.qd[i] - speed) > limit else v.qd[i]


cdef inline void best_estimate(const StateValidator* v, double* q, double* qd) noexcept nogil:
    """The most reliable position and velocity at the time of the last good state.

    If velocities contradict the positions, the positions are used, except a last one that does not
    follow from those before.
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
    """Whether the last state shows that the one before was wrong: it begins anew, or it does not
    confirm the likely position, or neither it nor the positions confirm that velocity.
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
    """Steady time of ``best_estimate``."""
    return v.compared_at if v.last.rejection == CONTRADICTORY else v.received
