# What is done when the arm does not do what it is asked to: its motion is abandoned; where that
# happens too often, and where it moves dangerously, it is a fault, which damping brakes and only a
# request ends.

from libc.math cimport fabs

from control.controller_state cimport Controller, because, fire
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


cdef inline void begin_fault(Controller* c, double now) noexcept nogil:
    """The last command is part of what went wrong: only the rate limit delays that it ends."""
    if c.phase == FAULT:
        c.fault = c.hold
    begin_hold(c, now)
    begin_transfer(&c.governor, 0.0)
    reset_watch(c)


cdef inline void abandon(Controller* c, double now, Cause cause, Py_ssize_t joint, double found,
                         double bound) noexcept nogil:
    """Give the motion up and come to rest from the state that the arm is in; too often, and it is a
    fault.

    Its effort besides the model's is what has rather led the arm off: only the rate limit delays
    that it ends.

    A deviation from the path counts only beyond path_tolerance, not beyond the trajectory's own
    tolerance, only if the state before shows half of it, not after a gap, which has carried the
    motion ahead, and once until the arm has had the time to stop: a hold that it overruns is no
    other motion.
    """
    cdef bint was_trajectory = c.phase == TRAJECTORY, had_effort = c.motion.has_effort
    cdef bint shown_twice = (joint >= 0
                             and fabs(common(c.desired[joint] - c.validator.q[joint],
                                             c.desired[joint] - c.validator.last_q[joint]))
                             > HALF_WAY * bound)
    if not fire(c, ABANDON):
        return
    because(c, cause, joint, found, bound)
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
            disobeyed(c, now, CAUSE_OFTEN, joint, ABANDONED_TIME)
        elif c.watch.in_a_row >= MOST_ABANDONED:
            disobeyed(c, now, CAUSE_IN_A_ROW, joint, bound)


cdef inline void disobeyed(Controller* c, double now, Cause cause, Py_ssize_t joint,
                           double bound) noexcept nogil:
    """Make it a fault that the arm does not do what it is asked to."""
    if fire(c, FAIL):
        c.watch.abandoned, c.watch.in_a_row = 0.0, 0
        because(c, cause, joint, MOST_ABANDONED, bound)
        begin_fault(c, now)


cdef inline void return_to_fault(Controller* c, double now) noexcept nogil:
    """After a time without states a fault is still one: nobody has asked the arm to hold."""
    if c.fault.cause != NO_CAUSE and fire(c, FAIL):
        because(c, c.fault.cause, c.fault.joint, c.fault.found, c.fault.bound)
        begin_fault(c, now)


cdef inline void fail(Controller* c, double now, Cause cause, Py_ssize_t joint, double found,
                      double bound) noexcept nogil:
    if fire(c, FAIL):
        because(c, cause, joint, found, bound)
        begin_fault(c, now)


cdef inline void fall_back(Controller* c, double now, Cause cause, double found,
                           double bound) noexcept nogil:
    """Abandon the motion for the damped gravity hold, for decay_time after the last call at least.
    """
    if fire(c, FALL_BACK):
        because(c, cause, -1, found, bound)
        begin_hold(c, now)
    c.fallen.cause, c.fallen.joint, c.fallen.found, c.fallen.bound = cause, -1, found, bound
    c.hold_until = now + c.settings.decay_time
