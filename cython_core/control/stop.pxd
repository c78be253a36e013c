# How the arm comes to rest: from its desired state, from its present state, or by gravity and
# damping alone, without a desired position.

from libc.string cimport memcpy, memset

from control.cartesian_mode cimport begin_mode, stop_target
from control.controller_state cimport Controller, fire, leads_hand
from control.motion cimport sample, stop_from
from control.phases cimport FLOAT
from control.torque_governor cimport begin_transfer, drive_no_further


cdef inline void stop_motion(Controller* c, double time, const double* state) noexcept nogil:
    """Come to rest from a motion state, which must not be in ``offset``: that is overwritten."""
    stop_from(&c.motion, time, state, c.settings.stop_time, c.limits.lower, c.limits.upper,
              c.offset, c.zero)


cdef inline void stop_desired(Controller* c) noexcept nogil:
    """Come to rest from the desired state."""
    if leads_hand(c):
        stop_target(&c.hand.law, c.settings.stop_time)
        begin_transfer(&c.governor, c.settings.blend_time)
    sample(&c.motion, c.validator.time, c.scratch)
    stop_motion(c, c.validator.time, c.scratch)


cdef inline void latch(Controller* c) noexcept nogil:
    """Come to rest from the state that the arm is likely in."""
    memset(c.state, 0, 4 * c.n * sizeof(double))
    memcpy(c.state, c.validator.likely_q, c.n * sizeof(double))
    memcpy(c.state + c.n, c.validator.likely_qd, c.n * sizeof(double))
    stop_motion(c, c.validator.time, c.state)
    c.reckoning.begins = True
    sample(&c.motion, c.validator.time, c.desired)
    # this jump of the desired position is not a motion
    memcpy(c.validator.repeated_from, c.desired, c.n * sizeof(double))
    if leads_hand(c):
        begin_mode(&c.hand, c.models.newest.model, c.validator.likely_q, c.validator.likely_qd,
                   c.settings.stop_time)
    begin_transfer(&c.governor, c.settings.blend_time)
    drive_no_further(&c.governor, c.validator.likely_qd)
    c.latched = c.validator.accepted


cdef inline void reset_watch(Controller* c) noexcept nogil:
    memset(c.watch.speeding, 0, c.n * sizeof(double))
    memset(c.watch.swings, 0, c.n * sizeof(double))
    memset(c.watch.direction, 0, c.n * sizeof(double))
    c.watch.coasts_until = 0.0


cdef inline void begin_tracking(Controller* c) noexcept nogil:
    """Hold the arm where it comes to rest from its present state; after a change of phase to
    HOLDING.
    """
    latch(c)
    reset_watch(c)
    if c.floats:
        fire(c, FLOAT)


cdef inline void begin_hold(Controller* c, double now) noexcept nogil:
    """Begin to hold the arm without a desired position."""
    c.held_since, c.expects = now, False
    memset(c.desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
    begin_transfer(&c.governor, c.settings.decay_time)
