# How the arm comes to rest: from its desired state, from its present state, by gravity and damping
# alone without a desired position, or without joint states (open_loop_stop.pxd goes on from here).

from libc.string cimport memcpy, memset

from control.arm cimport leads_end_effector
from control.cartesian_mode cimport begin_mode, stop_target
from control.controller_state cimport Controller, begin_supervision
from control.events cimport CAUSE_STUCK
from control.motion cimport sample, stop_from
from control.phases cimport FLOAT, STATES_STOPPED
from control.state_machine cimport Hold, fire, note_cause
from control.torque_governor cimport begin_transfer, push_no_further


cdef inline void stop_desired(Controller* c) noexcept nogil:
    """Come to rest from the desired state."""
    if leads_end_effector(&c.arm):
        stop_target(&c.hand, c.arm.settings.stop_time)
        begin_transfer(&c.governor, c.arm.settings.blend_time)
    sample(&c.motion, c.clock.time, c.state)
    stop_from(&c.motion, c.clock.time, c.state, c.arm.settings.stop_time, &c.arm.limits)


cdef inline void hold_from(Controller* c, const double* q, const double* qd) noexcept nogil:
    """Come to rest from a state; position and velocity (n,)."""
    memset(c.state, 0, 4 * c.n * sizeof(double))
    memcpy(c.state, q, c.n * sizeof(double))
    memcpy(c.state + c.n, qd, c.n * sizeof(double))
    stop_from(&c.motion, c.clock.time, c.state, c.arm.settings.stop_time, &c.arm.limits)
    c.stuck.begins = True
    sample(&c.motion, c.clock.time, c.desired)
    if leads_end_effector(&c.arm):
        begin_mode(&c.hand, c.arm.models.newest.model, q, qd, c.arm.settings.stop_time)
    begin_transfer(&c.governor, c.arm.settings.blend_time)
    push_no_further(&c.governor, qd)


cdef inline void hold_present_state(Controller* c) noexcept nogil:
    """Come to rest from the state in which the arm is.

    Drives that follow positions bring it to where they were told.
    """
    if c.positions.used and c.has_commanded:
        hold_from(c, c.positions.q, c.positions.qd)
    else:
        hold_from(c, c.observer.q, c.observer.qd)


cdef inline void begin_tracking(Controller* c) noexcept nogil:
    """Hold the arm where it comes to rest from its present state; after a change of phase to
    HOLDING.
    """
    hold_present_state(c)
    begin_supervision(&c.watch, c.n)
    if c.floats:
        fire(&c.machine, FLOAT)


cdef inline void begin_hold(Controller* c, double now) noexcept nogil:
    """Begin to hold the arm without a desired position."""
    c.machine.held_since, c.is_open_loop = now, False
    memset(c.desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
    begin_transfer(&c.governor, c.arm.settings.decay_time)


cdef inline void begin_open_loop_stop(Controller* c, double now, const Hold* reason) noexcept nogil:
    """Begin to brake the arm by the model: its joint states do not tell where it is.

    What the feedback of a joint that does not move has asked for was wrong: it ends without a
    transfer.
    """
    if not fire(&c.machine, STATES_STOPPED):
        return
    note_cause(&c.machine, reason)
    begin_hold(c, now)
    if reason.cause == CAUSE_STUCK:
        c.stuck.joint = reason.joint
        begin_transfer(&c.governor, 0.0)
