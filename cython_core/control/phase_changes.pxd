# All changes of phase: each event (the table in featherstone_ros/control/phases.py), and what the
# controller begins with it. Nothing else fires events.
#
# An event with a cause is the answer to something that is wrong; ``respond`` looks it up in the
# table of featherstone_ros/control/causes.py.

from libc.math cimport fabs
from libc.string cimport memcpy, memset

from control.arm cimport drives_end_effector, is_of_end_effector, leads_end_effector
from control.cartesian_mode cimport begin_mode, is_idle, stop_target
from control.controller_state cimport (Controller, Hold, StateMachine, begin_supervision, fire,
                                       hold_reason, note_cause)
from control.events cimport (ABANDON_MOTION, CAUSE_DEACTIVATED, CAUSE_EXECUTOR, CAUSE_GAP,
                             CAUSE_NO_WRENCH, CAUSE_STUCK, DECLARE_FAULT, HOLD_BY_GRAVITY, LEAVE,
                             NO_CAUSE, STOP_OPEN_LOOP, Action)
from control.fault_bounds cimport STANDING, STANDING_SPEED
from control.motion cimport leads_to_rest, sample, stop_from
from control.phases cimport (ABANDON, ACTIVATE, ARRIVED, BLIND, DAMPED, DEACTIVATE, FAIL, FALL_BACK,
                             FAULT, FLOAT, FOLLOW, GIVE_UP, HOLD, HOLDING, INACTIVE, RECOVER,
                             REFERENCE, SETTLED, SETTLING, SET_POINT, SET_POINTS_STOPPED, STATE,
                             STATES_STOPPED, STOPPED, STOPPING, TRACK)
from control.settings cimport CARTESIAN_IMPEDANCE, Mode
from control.state_clock cimport start_clock
from control.state_observer cimport Observer, forget, max_speed_share, trust_velocities
from control.torque_governor cimport begin_transfer, push_no_further


# How the arm comes to rest.

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
    c.machine.held_since, c.has_planned_stop = now, False
    memset(c.desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
    begin_transfer(&c.governor, c.arm.settings.decay_time)


# What follows a cause.

cdef inline bint begin_open_loop_stop(Controller* c, double now,
                                      const Hold* reason) noexcept nogil:
    """Begin to brake the arm by the model: its joint states do not tell where it is.

    What the feedback of a joint that does not move has asked for was wrong: it ends without a
    transfer.
    """
    if not fire(&c.machine, STATES_STOPPED):
        return False
    note_cause(&c.machine, reason)
    begin_hold(c, now)
    if reason.cause == CAUSE_STUCK:
        c.stuck.joint = reason.joint
        begin_transfer(&c.governor, 0.0)
    return True


cdef inline bint declare_fault(Controller* c, double now, const Hold* reason) noexcept nogil:
    """Begin a fault, which only a request ends. No transfer from the last command, which is part of
    what went wrong: only the rate limit remains.
    """
    if not fire(&c.machine, FAIL):
        return False
    note_cause(&c.machine, reason)
    if c.machine.phase == FAULT:
        c.machine.fault = c.machine.hold
    begin_hold(c, now)
    begin_transfer(&c.governor, 0.0)
    begin_supervision(&c.watch, c.n)
    c.watch.braked_from = max_speed_share(&c.observer)
    return True


cdef inline void rest_off_path(Controller* c, bint follows_positions) noexcept nogil:
    """Come to rest from the present state, which need not be on the path.

    A trajectory's own effort has probably led the arm off it, so it ends without a transfer.
    """
    cdef bint had_effort = c.motion.has_effort
    if follows_positions:
        hold_from(c, c.positions.q, c.zero)
    else:
        hold_from(c, c.observer.q, c.observer.qd)
    if had_effort:
        begin_transfer(&c.governor, 0.0)


cdef inline bint abandon(Controller* c, const Hold* reason) noexcept nogil:
    """Give the motion up and come to rest; returns whether there was one."""
    if not fire(&c.machine, ABANDON):
        return False
    note_cause(&c.machine, reason)
    if reason.cause == CAUSE_EXECUTOR:                          # the arm is on its path
        stop_desired(c)
    elif reason.cause == CAUSE_NO_WRENCH:                       # the virtual arm comes to rest
        c.hand.is_anchored = False
    else:       # in a gap drives that follow positions stood; else they need not have followed
        rest_off_path(c, c.positions.used and reason.cause == CAUSE_GAP)
    return True


cdef inline bint fall_back(Controller* c, double now, const Hold* reason) noexcept nogil:
    """Abandon the motion for the damped gravity hold, which lasts at least decay_time from the last
    call; returns whether this begins it.
    """
    cdef bint begins = fire(&c.machine, FALL_BACK)
    if begins:
        note_cause(&c.machine, reason)
        begin_hold(c, now)
    c.machine.fallen = reason[0]
    c.machine.hold_until = now + c.arm.settings.decay_time
    return begins


cdef inline bint leave(Controller* c, double now, const Hold* reason) noexcept nogil:
    """Come to rest; then the commands end. Returns whether they had not been ending."""
    if not fire(&c.machine, DEACTIVATE):
        return False
    note_cause(&c.machine, reason)
    if c.machine.phase == STOPPING:
        if drives_end_effector(&c.arm):                         # its target may be far away
            hold_present_state(c)
        elif leads_end_effector(&c.arm):
            hold_from(c, c.desired, c.desired + c.n)
        else:
            stop_desired(c)
        c.machine.held_since = now
    elif c.machine.phase == SETTLING:
        begin_hold(c, now)
    elif c.machine.phase == INACTIVE:
        c.has_commanded = False
    return True


cdef inline bint respond(Controller* c, double now, const Hold* reason) noexcept nogil:
    """Do what the table of causes says; returns whether that changes the phase."""
    cdef Action action = <Action> c.machine.action[<int> reason.cause]
    if action == DECLARE_FAULT:
        return declare_fault(c, now, reason)
    if action == HOLD_BY_GRAVITY:
        return fall_back(c, now, reason)
    if action == STOP_OPEN_LOOP:
        return begin_open_loop_stop(c, now, reason)
    if action == ABANDON_MOTION:
        return abandon(c, reason)
    if action == LEAVE:
        return leave(c, now, reason)
    note_cause(&c.machine, reason)                              # it is not taken over
    return False


# What a joint state, or the time, changes.

cdef inline double standing_speed(const Observer* o, Py_ssize_t i) noexcept nogil:
    return min(STANDING * o.limits.velocity[i], STANDING_SPEED)


cdef inline bint stands(const Observer* o) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(o.n):
        if fabs(o.qd[i]) > standing_speed(o, i):
            return False
    return True


cdef inline void return_to_fault(Controller* c, double now) noexcept nogil:
    """After a time without states a fault goes on: nobody has asked the arm to hold."""
    if c.machine.fault.cause != NO_CAUSE:
        declare_fault(c, now, &c.machine.fault)


cdef inline void take_over(Controller* c, double now) noexcept nogil:
    """Begin with a state from which the arm can be held."""
    fire(&c.machine, STATE)
    begin_tracking(c)
    return_to_fault(c, now)


cdef inline void resume(Controller* c, double now) noexcept nogil:
    """Go on when states tell where the arm is, after an open-loop stop."""
    fire(&c.machine, STATE)
    if c.machine.phase != HOLDING:                              # leaving
        begin_hold(c, now)
        return
    begin_tracking(c)
    return_to_fault(c, now)
    if now < c.machine.hold_until and fire(&c.machine, FALL_BACK):
        note_cause(&c.machine, &c.machine.fallen)
        begin_hold(c, now)


cdef inline void give_up(Controller* c) noexcept nogil:
    """End the commands of an open-loop stop."""
    c.has_commanded = c.machine.phase == BLIND
    fire(&c.machine, GIVE_UP)


cdef inline void arrive(Controller* c) noexcept nogil:
    """The trajectory has ended, and was followed."""
    fire(&c.machine, ARRIVED)
    c.watch.in_a_row = 0


cdef inline bint let_time_pass(Controller* c, double now, double time) noexcept nogil:
    """Go over to another phase where it is time to; returns whether commands end."""
    cdef bint is_over = now - c.machine.held_since >= c.arm.settings.give_up_after
    if (c.machine.phase == SETTLING and is_over and stands(&c.observer)
            and fire(&c.machine, SETTLED)):
        c.has_commanded = False
        return True
    if c.machine.phase == DAMPED and now >= c.machine.hold_until and fire(&c.machine, RECOVER):
        begin_tracking(c)
    if c.machine.phase == STOPPING and time >= c.motion.end and fire(&c.machine, STOPPED):
        begin_hold(c, now)
    if (c.machine.phase == REFERENCE and not leads_end_effector(&c.arm)
            and now - c.set_point_at > c.arm.settings.reference_timeout
            and not leads_to_rest(&c.motion, time) and fire(&c.machine, SET_POINTS_STOPPED)):
        stop_desired(c)
    if (c.machine.phase == REFERENCE and leads_end_effector(&c.arm)
            and is_idle(&c.hand, now, c.arm.settings.target_timeout)):
        fire(&c.machine, SET_POINTS_STOPPED)
    return False


# What a request changes.

cdef inline void activate(Controller* c, double now) noexcept nogil:
    """Begin with the next joint state, or go on if the arm has not come to rest yet."""
    c.updated = now
    c.machine.hold.cause = c.machine.fault.cause = NO_CAUSE
    if c.machine.phase == INACTIVE:
        forget(&c.observer)
        c.stuck.joint = -1
        start_clock(&c.clock, now)                              # clocks may have been set meanwhile
    if fire(&c.machine, ACTIVATE) and c.machine.phase == HOLDING:
        begin_tracking(c)


cdef inline void deactivate(Controller* c, double now) noexcept nogil:
    """Come to rest; then the commands end."""
    cdef Hold reason = hold_reason(CAUSE_DEACTIVATED, -1, 0.0, 0.0)
    respond(c, now, &reason)


cdef inline void end_fault(Controller* c) noexcept nogil:
    """Hold the arm again after a fault, as somebody asks for."""
    fire(&c.machine, HOLD)
    c.machine.hold.cause = c.machine.fault.cause = NO_CAUSE
    c.watch.in_a_row = 0
    begin_tracking(c)


cdef inline void stop_and_hold(Controller* c) noexcept nogil:
    """Come to rest on the path, as somebody asks for."""
    fire(&c.machine, HOLD)
    if c.motion.has_effort:
        begin_transfer(&c.governor, c.arm.settings.blend_time)
    stop_desired(c)


cdef inline void begin_trajectory(StateMachine* m, Observer* o) noexcept nogil:
    trust_velocities(o)
    fire(m, FOLLOW)


cdef inline void begin_reference(StateMachine* m) noexcept nogil:
    """Follow a set-point of the joints, or a target of the end effector."""
    fire(m, SET_POINT)


cdef inline void change_law(Controller* c, Mode before) noexcept nogil:
    """Go over from another mode to the one in force."""
    cdef bint led_end_effector = is_of_end_effector(before)
    c.let_go |= led_end_effector and c.floats
    if c.floats:
        fire(&c.machine, FLOAT)
        c.machine.fault.cause = NO_CAUSE
    elif fire(&c.machine, TRACK):
        begin_tracking(c)
    elif before != c.arm.settings.mode and (led_end_effector or leads_end_effector(&c.arm)) and (
            c.machine.phase != FAULT):
        fire(&c.machine, HOLD)
        if before == CARTESIAN_IMPEDANCE or drives_end_effector(&c.arm):
            begin_tracking(c)
        else:                               # drives follow late: no step in what they follow
            hold_from(c, c.desired, c.desired + c.n)
