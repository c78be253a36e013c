# Whether joint states are consistent with each other (state_validator.pxd): velocities with
# positions, and unchanged positions with an arm that should move.

from libc.math cimport exp, fabs, isnan
from libc.string cimport memcpy, memset

from control.validator_state cimport (ACCEPTED, CONTRADICTORY, REPEATED, Judgement, StateValidator,
                                      accepted, common, is_frozen, judgement, low_pass_weight,
                                      same, trust)

# Positions are compared with the integral of the velocities over a sliding time [s]. They may
# differ by jump_tolerance plus a share of the distance travelled: velocities are filtered,
# positions have a resolution.
cdef extern from *:
    """
    #define COMPARED_OVER (0.25)
    #define WAY_SHARE (0.3)
    """
    const double COMPARED_OVER
    const double WAY_SHARE

# A position is the last one repeated if no joint's changes by a single bit although the velocities
# show a motion of MEASURED_MOTION [rad, m], or although the desired motion is DESIRED_MOTION. This
# lasts until the position changes or the velocities show that the arm stands. (One velocity alone
# proves nothing: it may be wrong.) The position of a single joint is repeated if it stays the same
# although feedback must have moved the joint (dead_reckoning.pxd) by PUSHED_MOTION and by more than
# a step of its encoder. An encoder's step is the smallest change of the position so far; before the
# first change, that of 10 bits a turn is assumed.
cdef extern from *:
    """
    #define MEASURED_MOTION (0.02)
    #define STILL (0.02)
    #define DESIRED_MOTION (0.2)
    #define PUSHED_MOTION (0.005)
    #define COARSEST_STEP (0.0062)
    #define HIDDEN_STEPS (1.5)
    """
    const double MEASURED_MOTION
    const double STILL             # [rad/s, m/s] a joint with a smaller velocity stands
    const double DESIRED_MOTION
    const double PUSHED_MOTION
    const double COARSEST_STEP
    const double HIDDEN_STEPS      # of its encoder: a motion that two states may not show


cdef inline Judgement judge_consistency(StateValidator* v, double dt, const double* q,
                                        const double* qd, double jump_tolerance, double cutoff,
                                        double state_timeout) noexcept nogil:
    """Whether positions and velocities agree over a sliding time, which begins anew after a gap.

    Positions may repeat: a controller manager may be faster than its hardware.
    """
    cdef double left = exp(-dt / COMPARED_OVER), duration = v.unchanged + dt, step, bound
    cdef double weight = low_pass_weight(cutoff, duration)
    cdef bint changed = not same(v.n, q, v.compared_q)
    cdef Py_ssize_t i
    cdef Judgement result = accepted()
    for i in range(v.n):
        step = q[i] - v.compared_q[i]
        if (not 0.0 < dt < state_timeout or
                v.fresh and fabs(step) > jump_tolerance):       # it was moved while nobody looked
            v.discrepancy[i] = v.travelled[i] = 0.0
            v.shown[i] = v.step_velocity[i] = 0.0 if isnan(qd[i]) else qd[i]
            continue
        if changed:
            # one wrong position shows nothing
            v.shown[i] += weight * (common(step / duration, v.step_velocity[i]) - v.shown[i])
            v.step_velocity[i] = step / duration
        if isnan(qd[i]) or isnan(v.compared_qd[i]):
            v.discrepancy[i] = v.travelled[i] = 0.0
            continue
        v.discrepancy[i] = left * (v.discrepancy[i] + step - 0.5 * (qd[i] + v.compared_qd[i]) * dt)
        v.travelled[i] = left * (v.travelled[i] + 0.5 * fabs(qd[i] + v.compared_qd[i]) * dt)
        bound = jump_tolerance + WAY_SHARE * v.travelled[i]
        if fabs(v.discrepancy[i]) > bound and result.rejection == ACCEPTED:
            result = judgement(CONTRADICTORY, i, v.discrepancy[i], bound)
    v.unchanged = 0.0 if changed or not 0.0 < dt < state_timeout else duration
    memcpy(v.compared_q, q, v.n * sizeof(double))
    memcpy(v.compared_qd, qd, v.n * sizeof(double))
    return result


cdef inline bint same_position(const StateValidator* v, const double* q) noexcept nogil:
    return v.accepted > 0 and same(v.n, q, v.q)


cdef inline double encoder_step(const StateValidator* v, Py_ssize_t i) noexcept nogil:
    """The largest motion of a joint that may not change its measured position."""
    return min(v.smallest_step[i], COARSEST_STEP) if v.smallest_step[i] > 0.0 else COARSEST_STEP


cdef inline void learn_encoder_steps(StateValidator* v) noexcept nogil:
    """From the last two positions."""
    cdef double step
    cdef Py_ssize_t i
    for i in range(v.n):
        step = fabs(v.q[i] - v.last_q[i])
        if step > 0.0 and (step < v.smallest_step[i] or v.smallest_step[i] == 0.0):
            v.smallest_step[i] = step


cdef inline Judgement judge_repetition(StateValidator* v, double dt, const double* q,
                                       const double* qd, const double* desired,
                                       const double* pushed, const double* likely) noexcept nogil:
    """Whether a position is repeated although the arm moves, or should."""
    cdef double bound
    cdef Py_ssize_t i
    cdef bint all_same = same_position(v, q)
    if all_same if v.all_frozen else is_frozen(v) and q[v.frozen.joint] == v.q[v.frozen.joint]:
        return v.frozen
    trust(v)
    if v.accepted > 0:
        for i in range(v.n):
            bound = max(PUSHED_MOTION, HIDDEN_STEPS * encoder_step(v, i))
            if q[i] == v.q[i] and fabs(pushed[i]) > bound:
                v.frozen, v.all_frozen = judgement(REPEATED, i, pushed[i], bound), all_same
                return v.frozen
    if not all_same:
        memcpy(v.repeated_from, desired, v.n * sizeof(double))
        memset(v.moved, 0, v.n * sizeof(double))
        return accepted()
    for i in range(v.n):
        if not isnan(qd[i]) and dt > 0.0:
            v.moved[i] = v.moved[i] + common(qd[i], v.qd[i]) * dt if fabs(qd[i]) > STILL else 0.0
        if fabs(v.moved[i]) > MEASURED_MOTION:
            # the joint follows, but its position does not show it
            if fabs(common(v.moved[i], likely[i])) > 0.5 * MEASURED_MOTION:
                v.frozen, v.all_frozen = judgement(REPEATED, i, v.moved[i], MEASURED_MOTION), True
                return v.frozen
            return judgement(REPEATED, i, v.moved[i], MEASURED_MOTION)
        if fabs(desired[i] - v.repeated_from[i]) > DESIRED_MOTION:
            v.frozen, v.all_frozen = (
                judgement(REPEATED, i, desired[i] - v.repeated_from[i], DESIRED_MOTION), True)
            return v.frozen
    return accepted()
