# Which joint states are accepted, and how much time passes between two of them.
#
# The time between two states is the difference of their stamps if both have one, so that the
# controller depends neither on transport delays nor on how fast a simulation runs. If stamps are
# missing (0) or jump to another time, it is the steady time between their arrivals.
#
# state_plausibility.pxd judges a single state, state_consistency.pxd several; state_estimate.pxd
# estimates the arm's state from them, and validator_state.pxd is what is stored.

from libc.math cimport INFINITY, NAN, exp, isnan
from libc.string cimport memcpy

from control.state_consistency cimport judge_consistency, judge_repetition, learn_encoder_steps
from control.state_estimate cimport find_likely_state, take_velocity
from control.state_plausibility cimport (count_implausible, judge_numbers, judge_position,
                                         judge_speed)
from control.validator_state cimport (ACCEPTED, DISTRUSTED, JUMPED, LATE, NOT_NEWER, TOO_FAST,
                                      Judgement, StateValidator, accepted, forget_clocks, judgement,
                                      low_pass_weight)

cdef extern from *:
    """
    #define CLOCK_JUMP (0.5)
    #define CLOCK_DRIFT (1e-3)
    #define CLOCK_SET (0.01)
    """
    const double CLOCK_JUMP       # [s] a stamp that differs by more from the last one belongs to
                                  # another clock
    const double CLOCK_DRIFT      # of the clocks of two computers, at most
    const double CLOCK_SET        # [s] by which a state may seem later than it can be

# How long a long time between states is remembered [s].
cdef extern from *:
    """
    #define SPARSE_FOR (0.1)
    """
    const double SPARSE_FOR


cdef inline double elapsed(const StateValidator* v, double now, double stamp) noexcept nogil:
    """Time since the last good state [s]; not positive if this one is older."""
    cdef double dt
    if stamp > 0.0:  # the last one may have been 0: a simulation's first state
        dt = stamp - v.stamp
        if -CLOCK_JUMP < dt < CLOCK_JUMP:
            return dt
    return max(now - v.received, 1e-6)


cdef inline double since_compared(const StateValidator* v, double now, double stamp) noexcept nogil:
    """Time since the last state whose positions and velocities were compared [s]; by stamps where
    both have one.
    """
    cdef double dt = stamp - v.compared_stamp
    if stamp > 0.0 and v.compared_stamp > 0.0 and -CLOCK_JUMP < dt < CLOCK_JUMP:
        return dt
    return now - v.compared_at


cdef inline bint is_old(const StateValidator* v, double dt, double stamp) noexcept nogil:
    """Whether a state is not newer than those before it; after ``forget``, too."""
    if stamp > 0.0 and v.newest_stamp - CLOCK_JUMP < stamp <= v.newest_stamp:
        return True
    return not v.fresh and dt <= 0.0


cdef inline void watch_clocks(StateValidator* v, double now, double on_its_way) noexcept nogil:
    """Forget how long states were on their way when one of the two clocks was set.

    A delay cannot grow by more than the time that has passed. If it seems to in three states in a
    row, a clock was set; if only in one, its stamp is wrong.
    """
    cdef double before = max(v.transits[0], v.transits[1])
    if before == -INFINITY or not on_its_way - before > now - v.transit_at + CLOCK_SET:
        v.too_late = 0
        return
    v.too_late += 1
    if v.too_late == 3:
        forget_clocks(v)


cdef inline Judgement judge_transit(StateValidator* v, double now, double on_its_way,
                                    double longest) noexcept nogil:
    """Whether a state was on its way for too long. on_its_way [s] is by two clocks, so only its
    growth counts; NaN: unknown.

    The shortest delay is taken from three states in a row: a single early one has a wrong stamp,
    and all states after it would seem late.
    """
    cdef double longest_of_three = max(on_its_way, v.transits[0], v.transits[1])
    if isnan(on_its_way):
        return accepted()
    if v.transits[0] == -INFINITY:
        v.transit = longest_of_three
    else:
        v.transit = min(v.transit + CLOCK_DRIFT * (now - v.transit_at), longest_of_three)
    if not v.too_late:
        v.transits[0], v.transits[1] = v.transits[1], on_its_way
        v.transit_at = now
    if on_its_way - v.transit > longest:
        return judgement(LATE, -1, on_its_way - v.transit, longest)
    return accepted()


cdef inline Judgement judge(StateValidator* v, double now, double dt, double stamp,
                            double on_its_way, const double* q, const double* qd,
                            const double* desired, const double* pushed, const double* likely,
                            double jump_tolerance, double cutoff,
                            double state_timeout) noexcept nogil:
    """All that can be wrong with a state, the most obvious first."""
    cdef Judgement consistency, result = judge_numbers(v, q, qd)
    if result.rejection != ACCEPTED:
        return result
    watch_clocks(v, now, on_its_way)
    if is_old(v, dt, stamp):
        return judgement(NOT_NEWER, -1, stamp, v.newest_stamp)
    v.newest_stamp = stamp
    result = judge_transit(v, now, on_its_way, state_timeout)
    if result.rejection == ACCEPTED:
        result = judge_speed(v, now, q, qd)
    if result.rejection == ACCEPTED:
        result = judge_position(v, now, dt, q, jump_tolerance)
    if result.rejection != ACCEPTED:
        return result
    dt = since_compared(v, now, stamp)
    v.compared_at, v.compared_stamp = now, stamp
    consistency = judge_consistency(v, dt, q, qd, jump_tolerance, cutoff, state_timeout)
    result = judge_repetition(v, dt, q, qd, desired, pushed, likely)
    return consistency if result.rejection == ACCEPTED else result


cdef inline void pass_time(StateValidator* v, double stamp) noexcept nogil:
    """Advance the controller's time; with stamps by their difference from the first, so that
    rounding errors do not add up.
    """
    if v.stamp > 0.0 and v.dt == stamp - v.stamp:
        v.time = stamp - v.origin
    else:
        v.time += v.dt
        v.origin = stamp - v.time if stamp > 0.0 else NAN


cdef inline void take_over(StateValidator* v, double now, double dt, double stamp, const double* q,
                           const double* qd, double cutoff, double state_timeout) noexcept nogil:
    """Make a state the last good one."""
    cdef double weight = low_pass_weight(cutoff, dt)
    v.q, v.last_q = v.last_q, v.q
    v.qd, v.last_qd = v.last_qd, v.qd
    take_velocity(v, dt, q, qd, weight)
    memcpy(v.q, q, v.n * sizeof(double))
    if not v.fresh:
        learn_encoder_steps(v)
    find_likely_state(v, now, dt, weight)
    v.dt = 0.0 if v.fresh else dt
    v.interval = max(v.dt if v.dt < state_timeout else 0.0, v.interval * exp(-v.dt / SPARSE_FOR))
    pass_time(v, stamp)
    v.received, v.stamp, v.fresh, v.jumped = now, stamp, False, INFINITY
    v.accepted += 1


cdef inline bint accept(StateValidator* v, double now, double stamp, double on_its_way,
                        const double* q, const double* qd, const double* desired,
                        const double* pushed, const double* likely, double jump_tolerance,
                        double cutoff, double state_timeout) noexcept nogil:
    """Judge one state and take it over if it is good.

    now: steady time [s]; stamp: 0 for none; on_its_way: time since it was sent or measured, by two
    clocks, NaN: unknown; qd: (n,) NaN where it was not measured; desired: (n,) desired position, q
    if there is none; pushed: (n,) how far feedback must have moved each joint since its position
    last changed; likely: (n,) how far it has moved since then if it follows.
    """
    cdef double dt = elapsed(v, now, stamp)
    cdef Judgement result = judge(v, now, dt, stamp, on_its_way, q, qd, desired, pushed, likely,
                                  jump_tolerance, cutoff, state_timeout)
    v.last = count_implausible(v, result)
    if v.last.rejection == ACCEPTED:
        take_over(v, now, dt, stamp, q, qd, cutoff, state_timeout)
        return True
    v.rejected[<int> v.last.rejection] += 1
    if v.last.rejection in (JUMPED, TOO_FAST, DISTRUSTED):
        memcpy(v.seen, q, v.n * sizeof(double))
        v.seen_at = now
    return False
