# Whether a single joint state can be true (state_validator.pxd): its numbers, its speed, and its
# distance from the last state.

from libc.math cimport fabs, isfinite, isnan

from control.validator_state cimport (ABSURD, ACCEPTED, CONTRADICTORY, DISTRUSTED, JUMPED,
                                      NOT_FINITE, TOO_FAST, Judgement, StateValidator, accepted,
                                      forget, judgement)

cdef extern from *:
    """
    #define SPEED_TOLERANCE (1.0)
    #define ABSURDLY_FAR (2.0 * 3.14159265358979323846)
    """
    const double SPEED_TOLERANCE  # [rad/s, m/s] of a measured velocity beyond what is plausible
    const double ABSURDLY_FAR     # [rad, m] beyond a position limit: more than a wrong zero

# A source of states that is often wrong is not accepted even when it may be right: each implausible
# state must be made up for by a plausible one; at most so many are remembered.
cdef extern from *:
    """
    #define MOST_IMPLAUSIBLE (10)
    """
    const int MOST_IMPLAUSIBLE


cdef inline Py_ssize_t out_of_reach(Py_ssize_t n, const double* q, const double* last_q,
                                    const double* speed, double duration,
                                    double tolerance) noexcept nogil:
    """The first joint that cannot have come from one position to another, or -1."""
    cdef Py_ssize_t i
    for i in range(n):
        if not fabs(q[i] - last_q[i]) <= speed[i] * duration + tolerance:
            return i
    return -1


cdef inline Judgement judge_numbers(const StateValidator* v, const double* q,
                                    const double* qd) noexcept nogil:
    """Whether the numbers are numbers, and near where an arm can be.

    A velocity that is NaN was not measured.
    """
    cdef Py_ssize_t i
    for i in range(v.n):
        if not isfinite(q[i]):
            return judgement(NOT_FINITE, i, q[i], 0.0)
        if not (isfinite(qd[i]) or isnan(qd[i])):
            return judgement(NOT_FINITE, i, qd[i], 0.0)
    i = out_of_reach(v.n, q, v.middle, v.half_range, 1.0, ABSURDLY_FAR)
    return accepted() if i < 0 else judgement(ABSURD, i, q[i], v.middle[i] + v.half_range[i])


cdef inline Judgement judge_speed(const StateValidator* v, double now, const double* q,
                                  const double* qd) noexcept nogil:
    """Whether the velocities are ones that the arm may have, or that its positions show."""
    cdef const double* there = v.seen
    cdef double then = v.seen_at, mean, bound
    cdef Py_ssize_t i
    if v.received > then:
        there, then = v.q, v.received
    for i in range(v.n):
        bound = v.plausible_speed[i] + SPEED_TOLERANCE
        if fabs(qd[i]) > bound:
            mean = (q[i] - there[i]) / max(now - then, 1e-6)
            if fabs(qd[i] - mean) > bound:
                return judgement(TOO_FAST, i, qd[i], bound)
    return accepted()


cdef inline Judgement judge_position(StateValidator* v, double now, double dt, const double* q,
                                     double jump_tolerance) noexcept nogil:
    """Whether the arm can have come here since the last good state."""
    # ``seen`` may be old: a position where no arm can be is not kept there.
    cdef bint jumped_before = v.implausible and v.seen_at > v.received
    cdef const double* there = v.seen if jumped_before else v.q
    cdef double duration = now - (v.seen_at if jumped_before else v.received)
    cdef Py_ssize_t i
    if v.fresh:
        i = (out_of_reach(v.n, q, there, v.plausible_speed, duration, jump_tolerance)
             if jumped_before or v.accepted else -1)
        return accepted() if i < 0 else judgement(
            JUMPED, i, q[i] - there[i], v.plausible_speed[i] * duration + jump_tolerance)
    # A position that jumped and stays there does not become plausible with time; see ``forget``.
    duration = min(max(dt, now - v.received), v.jumped)
    i = out_of_reach(v.n, q, v.q, v.plausible_speed, duration, jump_tolerance)
    if i < 0:
        return accepted()
    if v.dt == 0.0 and jumped_before and out_of_reach(v.n, q, v.seen, v.plausible_speed,
                                                      now - v.seen_at, jump_tolerance) < 0:
        forget(v)                                               # two states agree against one
        return accepted()
    v.jumped = duration
    return judgement(JUMPED, i, q[i] - v.q[i], v.plausible_speed[i] * duration + jump_tolerance)


cdef inline Judgement count_implausible(StateValidator* v, Judgement result) noexcept nogil:
    """Count implausible states: each must be made up for by a plausible one.

    Until then, velocities that contradict the positions prove nothing: the positions may well be
    wrong.
    """
    if result.rejection == JUMPED or result.rejection == TOO_FAST or result.rejection == ABSURD:
        v.implausible = min(v.implausible + 1, MOST_IMPLAUSIBLE)
    elif result.rejection == CONTRADICTORY and v.implausible:
        return judgement(DISTRUSTED, -1, v.implausible, 0.0)
    elif result.rejection == ACCEPTED and v.implausible:
        v.implausible -= 1
        if v.implausible:
            return judgement(DISTRUSTED, -1, v.implausible, 0.0)
    return result
