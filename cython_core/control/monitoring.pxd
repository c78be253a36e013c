# What every command is checked for: that the arm keeps to its path and its speed, that it does not
# oscillate, and that it moves at all when its hand is pulled.

from libc.math cimport copysign, fabs, isnan
from libc.string cimport memcpy

from control.controller_state cimport Controller
from control.events cimport (CAUSE_OFF_PATH, CAUSE_OFF_SPEED, CAUSE_OSCILLATION, CAUSE_STANDS,
                             CAUSE_TOO_FAST)
from control.faults cimport abandon, fail
from control.phases cimport REFERENCE, TRAJECTORY
from control.state_consistency cimport encoder_step
from control.validator_state cimport StateValidator, common, same

cdef extern from *:
    """
    #define SPEEDING (1.2)
    #define SPEEDING_TIME (0.1)
    #define SWING (0.25)
    #define MOST_SWINGS (6)
    #define SWING_TIME (2.0)
    #define PUSHED (0.1)
    #define PULLED_FAR (0.2)
    #define PULLED_TIME (0.5)
    """
    const double SPEEDING          # times the velocity limit, or the desired velocity: too fast
    const double SPEEDING_TIME     # [s] of such speed, lately, that is a fault
    const double SWING             # share of the velocity limit: an oscillation is too fast beyond
    const int MOST_SWINGS          # changes of its direction within
    const double SWING_TIME        # [s]
    const double PUSHED            # share of the effort limit that, beyond friction, moves any free
                                   # joint
    const double PULLED_FAR        # [rad, m] by which the desired position moves meanwhile
    const double PULLED_TIME       # [s] for which this may last: longer than a transfer


cdef inline double excess_velocity(const StateValidator* v, Py_ssize_t i,
                                   double desired) noexcept nogil:
    """Velocity minus the desired one, as far as the positions show it too: a single wrong number is
    not a motion.

    Nor is one step of an encoder from which the velocity is estimated.
    """
    cdef double shown
    if v.dt <= 0.0:
        return 0.0
    shown = (v.q[i] - v.last_q[i]) / v.dt - desired
    if isnan(v.compared_qd[i]):                                 # it was not measured
        shown = copysign(max(fabs(shown) - encoder_step(v, i) / v.dt, 0.0), shown)
    return common(v.qd[i] - desired, shown)


cdef inline void watch_speed(Controller* c, double now, double dt) noexcept nogil:
    """Fail if a joint is faster than allowed and than a motion that is followed, for longer than a
    bump lasts.
    """
    cdef bint follows = c.phase == TRAJECTORY or c.phase == REFERENCE
    cdef double speed, bound
    cdef Py_ssize_t i
    for i in range(c.n):
        speed = fabs(excess_velocity(&c.validator, i, 0.0))
        bound = SPEEDING * max(c.limits.velocity[i], fabs(c.desired[c.n + i]) if follows else 0.0)
        c.watch.speeding[i] = max(c.watch.speeding[i]
                                  + (dt * speed / bound if speed > bound else -0.5 * dt), 0.0)
        if c.watch.speeding[i] > SPEEDING_TIME:
            fail(c, now, CAUSE_TOO_FAST, i, speed, bound)
            return


cdef inline void watch_oscillation(Controller* c, double now, double dt) noexcept nogil:
    """Fail if a joint oscillates at speed without being asked to."""
    cdef double error, bound, direction
    cdef Py_ssize_t i
    for i in range(c.n):
        error = excess_velocity(&c.validator, i, c.desired[c.n + i])
        bound = SWING * c.limits.velocity[i]
        c.watch.swings[i] = max(c.watch.swings[i] - dt * MOST_SWINGS / SWING_TIME, 0.0)
        if fabs(error) <= bound:
            continue
        direction = 1.0 if error > 0.0 else -1.0
        if direction == -c.watch.direction[i]:
            c.watch.swings[i] += 1.0
        c.watch.direction[i] = direction
        if c.watch.swings[i] > 0.5 * MOST_SWINGS:
            fail(c, now, CAUSE_OSCILLATION, i, fabs(error), bound)
            return


cdef inline double smaller_tolerance(double a, double b) noexcept nogil:
    """The smaller of two tolerances, of which 0 means none."""
    return min(a, b) if a > 0.0 and b > 0.0 else max(a, b)


cdef inline void watch_path(Controller* c, double now) noexcept nogil:
    """Abandon a motion that the arm does not follow: what holds it back may let go at any time."""
    cdef const double* own = (c.motion.path.tolerance
                              if c.phase == TRAJECTORY and c.motion.path != NULL else c.zero)
    cdef double worst = 1.0, error, bound
    cdef Py_ssize_t i, joint = -1
    for i in range(c.n):
        error = fabs(c.desired[i] - c.validator.q[i])
        bound = smaller_tolerance(c.settings.path_tolerance, own[i])
        if bound > 0.0 and error > worst * bound:
            worst, joint = error / bound, i
    if joint >= 0:
        bound = smaller_tolerance(c.settings.path_tolerance, own[joint])
        abandon(c, now, CAUSE_OFF_PATH, joint, worst * bound, bound)
        return
    for i in range(c.n):
        error, bound = fabs(c.desired[c.n + i] - c.validator.qd[i]), own[c.n + i]
        if 0.0 < bound < error:
            abandon(c, now, CAUSE_OFF_SPEED, i, error, bound)
            return


cdef inline void watch_standing(Controller* c, double now, double dt) noexcept nogil:
    """Abandon the motion of a hand that is pulled while no position changes: brakes hold it, or
    states are frozen.
    """
    cdef Py_ssize_t n = c.n, i, k
    cdef double effort, bound
    if not same(n, c.validator.q, c.validator.last_q):
        memcpy(c.hand.standing_from, c.desired, n * sizeof(double))
        return
    for i in range(n):
        effort, bound = 0.0, c.settings.coulomb[i] + PUSHED * c.settings.effort_limit[i]
        for k in range(6):
            effort += c.hand.law.J[k * n + i] * c.hand.law.wrench[k]
        if fabs(effort) > bound and fabs(c.desired[i] - c.hand.standing_from[i]) > PULLED_FAR:
            c.hand.pulled += dt
            if c.hand.pulled > PULLED_TIME:
                abandon(c, now, CAUSE_STANDS, i, fabs(effort), bound)
            return
    c.hand.pulled = 0.0
