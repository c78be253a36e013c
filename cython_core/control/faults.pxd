# What is done when the arm does not follow: its motion is abandoned. If that happens too often, or
# if the arm moves dangerously, it is a fault: damping brakes the arm, and only a request ends it.

from libc.math cimport fabs

from control.controller_state cimport Controller, fire, note_cause
from control.events cimport (CAUSE_IN_A_ROW, CAUSE_OFF_PATH, CAUSE_OFTEN, CAUSE_STANDS, NO_CAUSE,
                             Cause)
from control.phases cimport ABANDON, FAIL, FALL_BACK, FAULT, TRAJECTORY
from control.stop cimport begin_hold, latch, reset_watch
from control.torque_governor cimport begin_transfer
from control.validator_state cimport common

cdef extern from *:
    """
    #define MOST_ABANDONED (3)
    #define ABANDONED_TIME (10.0)
    #define HALF_WAY (0.5)
    """
    const int MOST_ABANDONED       # motions within
    const double ABANDONED_TIME    # [s]
    const double HALF_WAY          # share of the tolerance that the state before has to be off


cdef inline double max_speed_share(const Controller* c) noexcept nogil:
    """The speed of the fastest joint over its limit."""
    cdef double fastest = 0.0
    cdef Py_ssize_t i
    for i in range(c.n):
        fastest = max(fastest, fabs(c.validator.likely_qd[i]) / c.limits.velocity[i])
    return fastest


cdef inline void begin_fault(Controller* c, double now) noexcept nogil:
    """Begin without a transfer from the last command, which is part of what went wrong: only the
    rate limit remains.
    """
    if c.phase == FAULT:
        c.fault = c.hold
    c.watch.braked_from = max_speed_share(c)
    begin_hold(c, now)
    begin_transfer(&c.governor, 0.0)
    reset_watch(c)


cdef inline void abandon(Controller* c, double now, Cause cause, Py_ssize_t joint, double found,
                         double bound) noexcept nogil:
    """Give the motion up and come to rest from the present state; if too often, it is a fault.

    A trajectory's own effort has probably led the arm off the path, so it ends without a transfer.

    A deviation from the path is counted only if it exceeds path_tolerance (not only the
    trajectory's own tolerance), if the state before shows half of it, and if there was no gap,
    during which the motion went ahead. It is counted once until the arm has had time to stop.
    """
    cdef bint was_trajectory = c.phase == TRAJECTORY, had_effort = c.motion.has_effort
    cdef bint shown_twice = (joint >= 0
                             and fabs(common(c.desired[joint] - c.validator.q[joint],
                                             c.desired[joint] - c.validator.last_q[joint]))
                             > HALF_WAY * bound)
    if not fire(c, ABANDON):
        return
    note_cause(c, cause, joint, found, bound)
    latch(c)
    if had_effort:
        begin_transfer(&c.governor, 0.0)
    if (cause == CAUSE_STANDS
            or (cause == CAUSE_OFF_PATH and shown_twice and bound == c.settings.path_tolerance
                and c.validator.dt <= c.settings.state_timeout and c.watch.incident <= 0.0)):
        c.watch.abandoned += 1.0
        c.watch.incident = c.settings.stop_time
        c.watch.in_a_row += was_trajectory
        if c.watch.abandoned > MOST_ABANDONED - 0.5:
            fail_to_follow(c, now, CAUSE_OFTEN, joint, ABANDONED_TIME)
        elif c.watch.in_a_row >= MOST_ABANDONED:
            fail_to_follow(c, now, CAUSE_IN_A_ROW, joint, bound)


cdef inline void fail_to_follow(Controller* c, double now, Cause cause, Py_ssize_t joint,
                                double bound) noexcept nogil:
    """Make it a fault that the arm does not follow."""
    if fire(c, FAIL):
        c.watch.abandoned, c.watch.in_a_row = 0.0, 0
        note_cause(c, cause, joint, MOST_ABANDONED, bound)
        begin_fault(c, now)


cdef inline void return_to_fault(Controller* c, double now) noexcept nogil:
    """After a time without states a fault goes on: nobody has asked the arm to hold."""
    if c.fault.cause != NO_CAUSE and fire(c, FAIL):
        note_cause(c, c.fault.cause, c.fault.joint, c.fault.found, c.fault.bound)
        begin_fault(c, now)


cdef inline void fail(Controller* c, double now, Cause cause, Py_ssize_t joint, double found,
                      double bound) noexcept nogil:
    if fire(c, FAIL):
        note_cause(c, cause, joint, found, bound)
        begin_fault(c, now)


cdef inline void fall_back(Controller* c, double now, Cause cause, double found,
                           double bound) noexcept nogil:
    """Abandon the motion for the damped gravity hold, which lasts at least decay_time from the last
    call.
    """
    if fire(c, FALL_BACK):
        note_cause(c, cause, -1, found, bound)
        begin_hold(c, now)
    c.fallen.cause, c.fallen.joint, c.fallen.found, c.fallen.bound = cause, -1, found, bound
    c.hold_until = now + c.settings.decay_time
